//go:build !unix

package pgtest

import "testing"

// Cluster is a throw-away PostgreSQL server; there are none on this system.
type Cluster struct{}

// Shared skips the test.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	t.Skip("throw-away PostgreSQL servers are for Unix systems")
	return nil
}

// Database is never reached.
func (*Cluster) Database(testing.TB) string { return "" }

// RemoveShared has nothing to do.
func RemoveShared() {}
