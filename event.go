package pleat

import (
	"time"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/tokens"
)

// EventKind says what happened.
type EventKind string

// The kinds of event.
const (
	EventSnapshot EventKind = "snapshot" // the meter: before each view, and after each change
	EventFold     EventKind = "fold"     // an epoch put a fold in force
	EventSpill    EventKind = "spill"    // a large result was folded as it arrived
	EventEpoch    EventKind = "epoch"    // an epoch opened
	EventDigest   EventKind = "digest"   // a digest came into force, or one was prepared
	EventWriting  EventKind = "writing"  // a model is asked for a digest, which may take minutes
	EventRecall   EventKind = "recall"   // something folded was asked for
	EventFork     EventKind = "fork"     // Sync moved to this session, since a history diverged; once for forks in a row
	// The session goes on, but something is wrong: still red, no digest, an illegal plan.
	EventWarning EventKind = "warning"
	EventError   EventKind = "error" // the store could not be written, though the caller still waits
)

// Event is what observers get. Besides Kind and Time, only the fields whose comments name its kind
// are set.
type Event struct {
	Kind     EventKind
	Time     time.Time
	Snapshot *fold.Snapshot  // EventSnapshot, EventEpoch (after it)
	Fold     *fold.Fold      // EventFold, EventSpill, EventDigest (nil: it is only prepared)
	Digest   *digest.Origin  // EventDigest: who wrote it, and how it came to be; EventWriting; EventWarning about one
	Before   tokens.Reported // EventEpoch: the view before it
	// EventEpoch: what the provider's cache has to be given anew, all after the earliest change.
	Rewritten tokens.Reported
	Plan      *fold.Plan // EventEpoch, in pleat's tokens; EventWarning that nothing could be folded: Refused may say why
	Recall    string     // EventRecall: the handle or query
	From      Key        // EventFork: the session that it was made of
	Shared    int        // EventFork: how many messages of that one it has
	Reason    string     // EventFork: where the history goes another way
	Warning   string     // EventWarning
	Err       error      // EventError
}
