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
// An Append that has returned is on the disk: the write-ahead log is synced with every
// commit, and a process that is killed at any instruction loses nothing it was told is
// stored. Every record carries a SHA-256 over all that it says, every session row the
// number of its newest record and of the newest of each kind, and every lookup that
// finds nothing is confirmed by a second index. So a damaged file gives
// [store.ErrCorrupt] with the file's name, never wrong data and never silently less.
//
// Several processes can use one file. Readers do not wait for the writer; writers wait
// for one another, at most [Options].BusyTimeout. The file must be on a local disk:
// SQLite's log needs shared memory, which network file systems do not have.
//
// # Search
//
// Append stores the text of an entry and a note that it is to be indexed. One goroutine
// per open store does the indexing in small batches, so that an Append never waits for
// it; Search first indexes what its own session still has waiting. The index is derived
// data: [Store.Reindex] makes it anew.
//
// The format of the file is specified in docs/format.md.
package sqlite
