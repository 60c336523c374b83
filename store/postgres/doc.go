// Package postgres is the shared store: sessions in a PostgreSQL database that any
// number of processes use at once.
//
//	store, err := postgres.Open(ctx, "postgres://pleat@db.example.net/pleat", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// # What it promises
//
// An Append that has returned is committed with synchronous_commit, and each entry is
// stored once however often connections break: if a connection is lost in the middle of a
// commit, the store asks the server what became of that transaction before it tries again.
// While a server restarts or fails over, calls wait, up to [Options].RetryTimeout. Entries
// have the same checksums as in package sqlite, and bodies are checked against their
// SHA-256 on every read.
//
// A session is found by the names of the tenant and the session, its entries by its id,
// and bodies by their tenant. The checksum of an entry covers both names: an entry that
// turned up in another session would be [store.ErrCorrupt] there.
//
// The database must use UTF8 and be PostgreSQL 13 or newer. The tables are in a schema
// of their own named pleat, which Open creates. Damage to an index is for the
// server to notice: create the cluster with --data-checksums.
//
// # Search
//
// Append stores the text of an entry and a note that it is to be indexed. Search first indexes
// what is pending in its own session. The search index is by far the largest part of a store,
// and most sessions are never searched.
//
// docs/scale.md has the tables, the arithmetic of size, and advice for growth.
package postgres
