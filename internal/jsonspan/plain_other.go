//go:build !amd64 || purego

package jsonspan

// plain has no vector code here; see the one for amd64.
func plain([]byte) int { return 0 }
