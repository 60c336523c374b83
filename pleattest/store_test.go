package pleattest_test

import (
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/pleattest"
)

// plainStore hides all that a store can do besides [pleat.Store].
type plainStore struct{ pleat.Store }

// TestPlainStore: a store that implements only [pleat.Store] passes the suite, which skips
// the clauses about the rest.
func TestPlainStore(t *testing.T) {
	pleattest.TestStore(t, func(t *testing.T) pleat.Store { return plainStore{pleat.NewMemStore()} }, nil)
}
