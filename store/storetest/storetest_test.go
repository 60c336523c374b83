package storetest_test

import (
	"testing"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/storetest"
)

// plainStore hides all that a store can do besides [store.Store].
type plainStore struct{ store.Store }

// TestPlainStore: a store that implements only [store.Store] passes the suite, which skips
// the clauses about the rest.
func TestPlainStore(t *testing.T) {
	storetest.Test(t, func(t *testing.T) store.Store { return plainStore{store.NewMemory()} }, nil)
}
