// Package inside gives pleat's own packages what they need of a session beyond its front.
package inside

import (
	"context"
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Session is the inside of a pleat.Session.
type Session interface {
	// Mark adds messages, if any, and records the place after them under each of the labels, as entries of
	// kind store.EntryPrefix with data of the caller's own. It returns the number of the last entry. If
	// another process wrote meanwhile, the session takes that in and returns store.ErrConflict.
	Mark(ctx context.Context, labels []string, data []byte, msgs ...transcript.Message) (uint64, error)
	// Last is the number of the newest entry that the session knows of.
	Last() uint64
	// LastAnswer is when the newest answer of the model was stored; zero if there is none.
	LastAnswer() time.Time
	// Reported is what the provider would report for a prompt of n tokens by pleat's own count.
	Reported(n int) tokens.Reported
	// InForce returns the view as it is: no epoch opens, nothing is stored. It is for requests beside the
	// conversation, such as counting its tokens.
	InForce() transcript.View
	// SentWhole says that the whole transcript was sent in place of the last view.
	SentWhole()
	// Page writes the page that would stand for all messages, for a reader who has nothing else.
	Page(ctx context.Context, room fold.PageRoom) (string, error)
	// Recall answers a call to a recall tool by the tool's own name; handled is false if it is none of them.
	Recall(ctx context.Context, tool, input string) (text string, isError, handled bool)
	// LedgerText lists the calls that the filter chooses in at most budget tokens, 0 for no bound.
	LedgerText(f ledger.Filter, budget int) string
	// Shrink drops messages from memory until the others take about that many bytes.
	Shrink(bytes int)
	// Weight is about how many bytes of memory the session takes.
	Weight() int
}

var of func(session any) Session

// Provide is called once, by the package that declares the session.
func Provide(f func(session any) Session) { of = f }

// Of returns the inside of a *pleat.Session.
func Of(session any) Session { return of(session) }
