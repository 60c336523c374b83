package postgres_test

import (
	"context"
	"fmt"
	"log"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/postgres"
)

func ExampleOpen() {
	ctx := context.Background()
	store, err := postgres.Open(ctx, "postgres://pleat@db.example.net/pleat?sslmode=verify-full", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	// Whoever appends says which entry it believes to be the last. If another process
	// was faster, this is pleat.ErrConflict: scan what is new, and try again.
	key := pleat.SessionKey{Tenant: "team-a", Session: "fix-the-build"}
	last, err := store.Append(ctx, key, 0, pleat.Entry{Kind: pleat.EntryMessage, Body: []byte("hello")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("stored up to entry", last)
}
