// Package store is where sessions are kept: the contract [Store], what stores may be able to
// do besides ([Searcher], [Keeper], [Claimer], [Forker], [Sharer]), the errors they share, and
// [Memory]. Packages store/sqlite and store/postgres have the durable stores, package
// store/storetest the suite that every store passes.
package store

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/pleat-dev/pleat/transcript"
)

// Store keeps sessions: append-only sequences of typed entries, each with an optional
// body of any size. It is the only place that pleat's promise "nothing is lost" rests
// on, so the contract is strict:
//
//   - Append returns only when the entries and their bodies are durable: all of them
//     or none. After an error none of them is stored: a store that cannot tell looks before
//     it answers, since the caller will append them again.
//   - A body is content-addressed and checked against its SHA-256 on every read. An
//     entry's own fields are checked on every scan, and a missing entry is noticed.
//     What fails its check is returned as [ErrCorrupt], never as data. A body that is
//     appended to its session again takes the place of a damaged one.
//   - Nothing crosses from one session to another: a body can be read only through a
//     session that has an entry with it.
//   - Any number of goroutines and processes may read. Any number may try to append to
//     one session; of those that expect the same last entry one wins and the others
//     get [ErrConflict].
//   - A call whose context has ended returns its error, and stores nothing.
//
// What else a store can do is found by type assertion: [Searcher], [Keeper], [Claimer],
// [Forker], [Sharer].
type Store interface {
	// Append adds entries after entry number last (0: the session is new) and returns
	// the number of the newest entry. The numbers of a session are 1, 2, 3 … Without
	// entries it only checks last. The caller may change the entries' bytes as soon as
	// Append has returned.
	Append(ctx context.Context, key SessionKey, last uint64, entries ...Entry) (uint64, error)

	// Scan yields the entries from that number on, in order, without their bodies.
	// With kinds, only those kinds. A session without entries yields nothing. The loop may
	// call the store, and the caller may keep the entries, as those of Find.
	Scan(ctx context.Context, key SessionKey, from uint64, kinds ...EntryKind) iter.Seq2[Entry, error]

	// Body returns the body with that hash, if an entry of the session has it. The caller may
	// keep the bytes for good, and change them: the store uses them for nothing else. ErrNotFound and
	// ErrCorrupt say that the bytes are gone: what is folded then stands for a message without
	// them. A failure that may pass is another error.
	Body(ctx context.Context, key SessionKey, hash transcript.Hash) ([]byte, error)

	// Find returns, for the tenant, the newest entry of the kind for each label it
	// knows, once each, in no particular order. Newest means appended last, whatever its
	// Time; if that one cannot be read, the error is ErrCorrupt, and labels asked for without it
	// are found as ever. The empty label is none: entries without a label are not found. It is
	// how a client's conversation is found again by the hashes of its prefixes.
	Find(ctx context.Context, tenant string, kind EntryKind, labels ...string) ([]Found, error)

	// Close waits for calls under way and releases the store. It may be called twice; every
	// other call returns [ErrClosed] then.
	Close() error
}

// SessionKey names a session. Equal names of different tenants are different sessions. A name can
// be any string but the empty one.
type SessionKey struct {
	Tenant  string // whose session it is; empty is a tenant like any other
	Session string // its name
}

// String gives the key for messages to people, quoted if it has what cannot be printed.
func (k SessionKey) String() string {
	name := k.Session
	if k.Tenant != "" {
		name = k.Tenant + "/" + name
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// EntryKind is the type of an entry. A store treats them all alike.
type EntryKind string

// The kinds of entry that pleat writes. docs/format.md specifies what each holds.
const (
	EntrySession EntryKind = "session" // what the session is: policy, model, parent
	EntryMessage EntryKind = "message" // one message; the body is its bytes on the wire, or its neutral form
	EntryFold    EntryKind = "fold"    // what was replaced, and by which stub
	EntryEpoch   EntryKind = "epoch"   // which folds are in force from here on
	EntryDigest  EntryKind = "digest"  // a digest by a model
	EntryNote    EntryKind = "note"    // what the agent wrote down; label: its key
	EntryPin     EntryKind = "pin"     // a text that was pinned or let go
	EntryUsage   EntryKind = "usage"   // what the provider reported for a request
	EntryPrefix  EntryKind = "prefix"  // label: hash of a client's conversation prefix
	EntrySystem  EntryKind = "system"  // the system messages of the newest history
	EntryBack    EntryKind = "back"    // what the next history lacked, of what was said last
	EntryBill    EntryKind = "bill"    // what a proxy's requests used and cost
)

// Entry is one record of a session.
type Entry struct {
	Seq   uint64    // set by the store
	Kind  EntryKind // any bytes, as in Label, but never empty: Append refuses an empty one
	Label string    // optional name to find the entry by; see Store.Find
	Time  time.Time // when it happened, by the caller's clock; kept to the millisecond, in UTC
	Data  []byte    // small structured part, usually JSON; comes back with Scan, nil when empty

	// Body is the large part. Scan returns only BodyHash and BodySize; Store.Body
	// returns the bytes. Nil and empty bodies are the same: none.
	Body     []byte
	BodyHash transcript.Hash // set by the store; zero when there is no body
	BodySize int             // set by the store

	// Text is what full-text search finds the entry by, usually the decoded text of
	// the body. Scan does not return it. Append does not wait until it is indexed.
	Text string
}

// Found is an entry that [Store.Find] found.
type Found struct {
	Key   SessionKey
	Entry Entry
}

// Searcher is implemented by stores that can search.
type Searcher interface {
	// Search returns the places in the session's texts that match the query best, best
	// first, at most limit of them. Everything that was appended before the call is
	// searched. Words are found by their parts, see search.Words. A place matches if it
	// has at least one word of the query. Places are windows of a dozen lines, see
	// search.Windows; neighbours overlap, and both may be among the hits. Very long
	// queries are cut to their first words.
	Search(ctx context.Context, key SessionKey, query string, limit int) ([]Hit, error)
}

// Hit is a place that a search found: some lines of an entry's text.
type Hit struct {
	Seq        uint64  // number of the entry
	From, To   int     // lines From ≤ i < To of the entry's text, counted from 0
	Start, End int     // the same place in bytes; part of a line when the line is very long
	Score      float64 // larger is better; comparable within one search
}

// SortHits puts hits in the order in which Search returns them: best first; among
// equals the newest first, and within one entry from the top.
func SortHits(hits []Hit) {
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Seq, a.Seq), cmp.Compare(a.Start, b.Start))
	})
}

// Keeper is implemented by stores whose sessions can be listed, deleted and checked.
type Keeper interface {
	// Sessions yields the tenant's sessions, the one that was appended to last first, whatever
	// the entries' times.
	Sessions(ctx context.Context, tenant string) iter.Seq2[SessionInfo, error]
	// Forget deletes a session for good: entries, bodies that no other session has,
	// and what search knows of it. Without such a session the error is [ErrNotFound]. The
	// name is free then: whoever has the old session open is told when it writes, unless a
	// new one has just as many entries, so a name in use is better not given again.
	Forget(ctx context.Context, key SessionKey) error
	// Verify reads everything and yields what is damaged. An error with a zero Damage
	// means that the check itself could not go on.
	Verify(ctx context.Context) iter.Seq2[Damage, error]
}

// SessionInfo is what a store knows of a session.
type SessionInfo struct {
	Key         SessionKey
	Entries     uint64
	BodyBytes   int64     // sum of the sizes of the bodies, uncompressed
	First, Last time.Time // of its entries
}

// Damage is one thing that failed a check.
type Damage struct {
	Key  SessionKey // without a session if it is a body, which several may share
	Seq  uint64     // 0: not one entry in particular
	What string     // what is wrong, for people
}

// Claimer is implemented by stores that can keep several processes from doing the same
// expensive work for a session at the same time, such as asking a model for a digest.
//
// A claim saves work and protects nothing: if its holder takes longer than it said,
// somebody else gets the claim, and then both may finish. [Store].Append decides between
// what they write, as always.
type Claimer interface {
	// Claim takes a piece of work of a session, named by what, for the caller alone. Ok
	// is false while somebody else has it; release is nil then. The claim ends when release
	// is called, or when ttl has passed by the store's own clock, so that somebody takes over
	// the work of a process that died. A store that outlives its process keeps claims too. A ttl
	// that is not positive is an error. The session need not exist.
	//
	// Release may be called more than once. It does nothing once somebody else has the
	// claim.
	Claim(
		ctx context.Context, key SessionKey, what string, ttl time.Duration,
	) (release func(context.Context) error, ok bool, err error)
}

// Sharer is implemented by stores that hold bodies in memory anyway. One that wraps such a store and has
// a Body of its own needs a Shared too.
type Sharer interface {
	// Shared is [Store].Body without a copy: the caller must not change the bytes.
	Shared(ctx context.Context, key SessionKey, hash transcript.Hash) ([]byte, error)
}

// Forker is implemented by stores that can copy a session without reading its bodies.
type Forker interface {
	// Fork makes a new session of the entries 1 to upTo of another one of the same tenant.
	// All of them are durable when it returns; after an error none is there. Data returns
	// the Data of an entry's copy. It must not use the store. All else is as in the
	// original, and search finds the same; the copies count as appended now. If the new
	// session has entries already, the error is [ErrConflict]; if the other has fewer than
	// upTo, [ErrNotFound].
	Fork(ctx context.Context, from SessionKey, upTo uint64, to SessionKey, data func(Entry) ([]byte, error)) error
}

// The errors of all stores. What wraps one of these says which object it is about.
var (
	// ErrNotFound: the session, entry or body is not in the store, or not in this session.
	ErrNotFound = errors.New("not found")
	// ErrConflict: somebody else appended to the session first. Scan what is new, then
	// try again.
	ErrConflict = errors.New("session has moved on")
	// ErrCorrupt: stored bytes do not have the hash they were stored under, or entries
	// are missing. The error names the file or object.
	ErrCorrupt = errors.New("stored data is damaged")
	// ErrFull: the disk is full, or the store has reached its limit. Nothing was written.
	ErrFull = errors.New("store is full")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrReadOnly: the store was opened for reading only, or cannot be written to.
	ErrReadOnly = errors.New("store can only be read")
	// ErrSchema: the store was written by another version of pleat. The error says how to
	// bring its sessions over.
	ErrSchema = errors.New("store has another schema")
)
