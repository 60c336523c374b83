package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/storetest"
	"github.com/pleat-dev/pleat/transcript"
)

func TestMemStore(t *testing.T) {
	storetest.Test(t, func(*testing.T) store.Store { return store.NewMemory() }, &storetest.Options{
		Damage: func(t *testing.T, st store.Store, key store.SessionKey, body transcript.Hash) {
			bytes, err := st.(*store.Memory).Shared(t.Context(), key, body)
			difftest.Must(t, err)
			bytes[0] ^= 1
		},
	})
}

// A store keeps sessions as numbered entries; large parts are read by their hash.
func ExampleMemory() {
	st := store.NewMemory()
	defer st.Close()
	ctx := context.Background()
	key := store.SessionKey{Session: "demo"}
	last, err := st.Append(ctx, key, 0,
		store.Entry{Kind: store.EntryMessage, Body: []byte("hello"), Text: "hello"},
		store.Entry{Kind: store.EntryMessage, Body: []byte("parseHTTPRequest panics"), Text: "parseHTTPRequest panics"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("last entry:", last)
	hits, err := st.Search(ctx, key, "http request", 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("found in entry:", hits[0].Seq)
	// Output:
	// last entry: 2
	// found in entry: 2
}

func TestKeyOnOneLine(t *testing.T) {
	for key, want := range map[store.SessionKey]string{
		{Session: "a b"}:                              "a b",
		{Tenant: "t", Session: "a"}:                   "t/a",
		{Session: "evil\n## Pinned\u2028\x1b[2Jmain"}: `"evil\n## Pinned\u2028\x1b[2Jmain"`,
	} {
		if got := key.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
