package transcript

import (
	"errors"
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
