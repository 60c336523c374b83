package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/sqlite"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "pleat")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	store, err := sqlite.Open(filepath.Join(dir, "pleat.db"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	ctx, key := context.Background(), pleat.SessionKey{Tenant: "me", Session: "first"}
	last, err := store.Append(ctx, key, 0, pleat.Entry{
		Kind: pleat.EntryMessage, Body: []byte(`{"role":"user","content":"fix parseHTTPRequest"}`), Text: "fix parseHTTPRequest",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("stored as entry", last)
	for e, err := range store.Scan(ctx, key, 1) {
		if err != nil {
			fmt.Println(err)
			return
		}
		body, err := store.Body(ctx, key, e.BodyHash)
		fmt.Println(e.Seq, e.Kind, string(body), err)
	}
	hits, err := store.Search(ctx, key, "http request", 5)
	fmt.Println(len(hits), "hit in entry", hits[0].Seq, err)
	// Output:
	// stored as entry 1
	// 1 message {"role":"user","content":"fix parseHTTPRequest"} <nil>
	// 1 hit in entry 1 <nil>
}
