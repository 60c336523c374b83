package pleattest_test

import (
	"testing"

	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
)

// plainStore hides all that a store can do besides [pleat.Store].
type plainStore struct{ store.Store }

// TestPlainStore: a store that implements only [pleat.Store] passes the suite, which skips
// the clauses about the rest.
func TestPlainStore(t *testing.T) {
	pleattest.TestStore(t, func(t *testing.T) store.Store { return plainStore{store.NewMemory()} }, nil)
}
