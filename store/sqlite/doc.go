// Package sqlite is the embedded store: sessions in one SQLite file, without cgo.
//
//	store, err := sqlite.Open("/home/me/.local/share/pleat/pleat.db", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// # What it promises
//
// When Append has returned, the entries are on the disk: the write-ahead log is synced with
// every commit, and a process that is killed at any instruction loses nothing that Append
// reported as stored. Every record has a SHA-256 over all its fields, every session row the
// number of its newest record and of the newest of each kind, and every lookup that finds
// nothing is confirmed by a second index. So a damaged file gives [store.ErrCorrupt] with
// the file's name, never wrong data and never silently less.
//
// Several processes can use one file. Readers do not wait for the writer; writers wait
// for one another, at most [Options].BusyTimeout. The file must be on a local disk:
// SQLite's log needs shared memory, which network file systems do not have.
//
// # Search
//
// Append stores the text of an entry and a note that it is to be indexed. Search first indexes
// what is pending in its own session, in small batches, so that an Append never waits long for
// it: most sessions are never searched. The index is derived data: [Store.Reindex] rebuilds it.
//
// The format of the file is specified in docs/format.md.
package sqlite
