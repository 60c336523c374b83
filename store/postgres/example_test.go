package postgres_test

import (
	"context"
	"fmt"
	"log"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/postgres"
)

func ExampleOpen() {
	ctx := context.Background()
	st, err := postgres.Open(ctx, "postgres://pleat@db.example.net/pleat?sslmode=verify-full", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()

	// Whoever appends says which entry it believes to be the last. If another process
	// was faster, this is store.ErrConflict: scan what is new, and try again.
	key := store.SessionKey{Tenant: "team-a", Session: "fix-the-build"}
	last, err := st.Append(ctx, key, 0, store.Entry{Kind: store.EntryMessage, Body: []byte("hello")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("stored up to entry", last)
}
