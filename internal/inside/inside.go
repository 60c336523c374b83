// Package inside gives pleat's own packages what they need of a session beyond its front.
package inside

import (
	"context"
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/finder"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// Session is the inside of a pleat.Session.
type Session interface {
	// CanTakeBack reports whether that can be taken back: no fold stands for it. Without again, the message stays as it is.
	CanTakeBack(b conv.Back) (can, again bool)
	// TakeBack takes it back.
	TakeBack(ctx context.Context, b conv.Back) error
	// Mark adds messages, if any, and records the place after them under each of the labels, as entries of
	// kind store.EntryPrefix with the caller's data. It returns the number of the last entry. If
	// another process wrote meanwhile, the session takes in what it wrote and returns store.ErrConflict.
	Mark(ctx context.Context, labels []string, data []byte, msgs ...transcript.Message) (uint64, error)
	// LastSeq is the number of the newest entry that the session knows of.
	LastSeq() uint64
	// LastAnswerTime is when the model's newest answer was stored; zero if there is none.
	LastAnswerTime() time.Time
	// ProviderTokens estimates what the provider would report for a prompt that pleat counts as n tokens.
	ProviderTokens(n int) tokens.Reported
	// CurrentView returns the newest view without opening an epoch or storing anything. It is for requests
	// apart from the conversation, such as counting its tokens.
	CurrentView() transcript.View
	// UsedAside records what a provider reported for a request that had another prompt than the view.
	UsedAside(ctx context.Context, m model.Model, u model.Usage) error
	// Page writes the page that would replace all messages, for a reader who has nothing else.
	Page(ctx context.Context, room fold.PageRoom) (string, error)
	// Answer answers a call to a recall tool by the tool's own name, without a program's prefix. Handled is
	// false if there is no such tool.
	Answer(ctx context.Context, tool, input string) (text string, isError, handled bool)
	// Blocks gives visit every block that a search can find, in order, and returns how many messages there are.
	Blocks(ctx context.Context, visit func(*finder.Block)) (messages int, err error)
	// LedgerText lists the calls that the filter selects in at most budget tokens; 0 if there is no limit.
	LedgerText(f ledger.Filter, budget int) string
	// UserWords returns what people said in the session, and the task list.
	UserWords() ([]userwords.Said, userwords.TaskState)
	// Shrink drops messages from memory until the others take about that many bytes.
	Shrink(bytes int)
	// MemoryBytes estimates how much memory the session takes.
	MemoryBytes() int
}

var of func(session any) Session

// Provide is called once, by the package that declares the session.
func Provide(f func(session any) Session) { of = f }

// Of returns the inside of a *pleat.Session.
func Of(session any) Session { return of(session) }

// Snipper returns the lever of the tool snip, with which a model takes the middle of its conversation out of
// view. It keeps that many of the newest messages, 10 if keep is not positive. It is nil if the policy does not
// snip before requests, or not in a sub-agent's conversation.
func Snipper(p fold.Policy, child bool, keep int) fold.Lever {
	for _, l := range p.EveryTurn {
		if s, ok := l.(lever.Snip); ok && !(s.Main && child) {
			if s.Tail = keep; keep <= 0 {
				s.Tail = 10
			}
			s.Above = s.Head + s.Tail
			return s
		}
	}
	return nil
}
