//go:build !linux && !darwin

package sqlite_test

import "errors"

func writeUntilFull(string, string) error { return errors.ErrUnsupported }
