package pleat_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/pleattest"
)

func TestMemStore(t *testing.T) {
	pleattest.TestStore(t, func(*testing.T) pleat.Store { return pleat.NewMemStore() }, nil)
}

// A store keeps sessions as numbered entries; large parts are read by their hash.
func ExampleMemStore() {
	store := pleat.NewMemStore()
	defer store.Close()
	ctx := context.Background()
	key := pleat.SessionKey{Session: "demo"}
	last, err := store.Append(ctx, key, 0,
		pleat.Entry{Kind: pleat.EntryMessage, Body: []byte("hello"), Text: "hello"},
		pleat.Entry{Kind: pleat.EntryMessage, Body: []byte("parseHTTPRequest panics"), Text: "parseHTTPRequest panics"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("last entry:", last)
	hits, err := store.Search(ctx, key, "http request", 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("found in entry:", hits[0].Seq)
	// Output:
	// last entry: 2
	// found in entry: 2
}
