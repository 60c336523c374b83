package pleat

import (
	"errors"
	"fmt"
)

// What a store can answer. Errors that wrap one of these say which object they are about.
var (
	// ErrNotFound: the session, entry or blob is not in the store, or not in this session.
	ErrNotFound = errors.New("not found")
	// ErrConflict: somebody else appended to the session first. Scan what is new, then
	// try again.
	ErrConflict = errors.New("session has moved on")
	// ErrCorrupt: stored bytes do not have the hash they were stored under, or entries
	// are missing. The error names the file or object.
	ErrCorrupt = errors.New("stored data is damaged")
	// ErrFull: the disk or the store's limit is full. Nothing was written.
	ErrFull = errors.New("store is full")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrReadOnly: the store was opened for reading only.
	ErrReadOnly = errors.New("store was opened for reading only")
	// ErrSchema: the store was written by a newer version of pleat.
	ErrSchema = errors.New("store has a newer schema")
)

// What can be wrong with a view. Errors that wrap one of these say which message they are
// about.
var (
	// ErrNoSuchBlock: an edit names a block that its message does not have.
	ErrNoSuchBlock = errors.New("no such block")
	// ErrNotEditable: an edit would change a block that may only be kept or removed.
	ErrNotEditable = errors.New("block cannot be edited")
	// ErrIllegal: a view breaks a rule of the wire that the transcript does not break. It
	// is not sent.
	ErrIllegal = errors.New("view is not legal")
	// ErrBadView: a view does not fit the request it is applied to.
	ErrBadView = errors.New("view does not fit the request")
)

// ErrCannotFit: no legal view fits the budget. The error is a *CannotFitError.
var ErrCannotFit = errors.New("nothing that may be sent fits")

// AppendError is why [Session.Append] stopped. The first Added messages are in the session
// for good; the rest are not, and can be appended again. With [ErrConflict], what another
// process wrote comes after the first Added.
type AppendError struct {
	Key   SessionKey
	Added int // messages that were added
	Of    int // messages that should have been
	Err   error
}

func (e *AppendError) Error() string {
	return fmt.Sprintf("append message %d of %d to session %s: %v", e.Added+1, e.Of, e.Key, e.Err)
}

func (e *AppendError) Unwrap() error { return e.Err }
