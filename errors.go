package pleat

import (
	"fmt"

	"github.com/pleat-dev/pleat/store"
)

// AppendError is why [Session.Append] stopped. The first Added messages are in the session
// for good; the rest are not, and can be appended again. With [ErrConflict], what another
// process wrote comes after the first Added.
type AppendError struct {
	Key   store.SessionKey
	Added int // messages that were added
	Of    int // messages that should have been
	Err   error
}

func (e *AppendError) Error() string {
	return fmt.Sprintf("append message %d of %d to session %s: %v", e.Added+1, e.Of, e.Key, e.Err)
}

func (e *AppendError) Unwrap() error { return e.Err }
