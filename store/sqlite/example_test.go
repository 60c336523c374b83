package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "pleat")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	st, err := sqlite.Open(filepath.Join(dir, "pleat.db"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer st.Close()

	ctx, key := context.Background(), store.SessionKey{Tenant: "me", Session: "first"}
	last, err := st.Append(ctx, key, 0, store.Entry{
		Kind: store.EntryMessage, Text: "fix parseHTTPRequest",
		Body: []byte(`{"role":"user","content":"fix parseHTTPRequest"}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("stored as entry", last)
	for e, err := range st.Scan(ctx, key, 1) {
		if err != nil {
			fmt.Println(err)
			return
		}
		body, err := st.Body(ctx, key, e.BodyHash)
		fmt.Println(e.Seq, e.Kind, string(body), err)
	}
	hits, err := st.Search(ctx, key, "http request", 5)
	fmt.Println(len(hits), "hit in entry", hits[0].Seq, err)
	// Output:
	// stored as entry 1
	// 1 message {"role":"user","content":"fix parseHTTPRequest"} <nil>
	// 1 hit in entry 1 <nil>
}
