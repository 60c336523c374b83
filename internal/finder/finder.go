// Package finder finds what handles stand for, and what was said: it unfolds, searches and lists calls in a
// conversation, for package recall's requests.
package finder

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/recall"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Conversation is what a Finder looks in.
type Conversation interface {
	Facts() transcript.Facts // of each message
	Ledger() *ledger.Ledger
	Tokens() tokens.MessageCounter
	Place(handle string) (transcript.Place, bool)  // that a handle stands for
	MessageAt(entry uint64) (message int, ok bool) // that was stored as an entry

	Message(ctx context.Context, i int) (transcript.Message, error)
	// Content returns what a handle stands for, checked against its hash.
	Content(ctx context.Context, p transcript.Place, handle string) (string, error)
}

// Finder finds what handles stand for, and what was said.
type Finder struct {
	Conversation
	Shown  func(transcript.BlockRef) bool // whether the view shows a block as it is; nil: all are shown
	Call   Call                           // how the model is told to unfold
	Folded func(handle string) bool       // whether something was folded under the handle

	read *reader
}

func (f *Finder) reading(ctx context.Context) *Finder {
	c := *f
	c.read = &reader{Reading: conv.Reading{Ctx: ctx, From: f.Conversation}}
	return &c
}

// reader reads for one call.
type reader struct {
	conv.Reading
	turns []int // of each message, once one was asked for
}

// turnOf returns the number of the model's answer that a message belongs to or follows;
// 0: before the first.
func (f *Finder) turnOf(message int) int {
	for i := len(f.read.turns); i < len(f.Facts()); i++ {
		n := 0
		if i > 0 {
			n = f.read.turns[i-1]
		}
		if f.Facts()[i].Role == transcript.RoleAssistant && (i == 0 || f.Facts()[i-1].Role != transcript.RoleAssistant) {
			n++
		}
		f.read.turns = append(f.read.turns, n)
	}
	return f.read.turns[message]
}

// LedgerText lists the calls that the filter chooses, the newest last, in at most budget tokens
// (0: no bound). It names the call that lists those for which there is no room. Asked for
// files, it names all of those.
func (f *Finder) LedgerText(filter ledger.Filter, budget int) string {
	if filter.Files {
		return fmt.Sprintf("%sledger] %s", fence.Answer, f.Ledger().Files(filter.Path))
	}
	list := f.Ledger().SelectNamed(filter, f.Facts())
	if len(list) == 0 {
		return fmt.Sprintf("%sledger: no such call among %d]\n", fence.Answer, f.Ledger().Len())
	}
	heading, line := f.Ledger().Listing(list, filter)
	lines := make([]string, len(list))
	first, used := len(list), frame
	for i := len(list) - 1; i >= 0; i-- {
		lines[i] = line(i)
		if budget > 0 {
			if used += f.Tokens().CountText(lines[i]); used > budget && i < len(list)-1 {
				break
			}
		}
		first = i
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%sledger] %s", fence.Answer, heading)
	if first > 0 {
		rest := filter
		rest.To = list[first].Seq - 1
		fmt.Fprintf(&b, "[%s before these: %s]\n", text.Plural(first, "call"), f.Call.prefix()+ledgerCall(rest))
	}
	b.WriteString(strings.Join(lines[first:], ""))
	return b.String()
}

// ledgerCall writes the call that asks for a filter.
func ledgerCall(f ledger.Filter) string {
	var args []string
	add := func(name, value string) {
		if value != "" {
			args = append(args, name+"="+strconv.Quote(value))
		}
	}
	add("path", f.Path)
	add("tool", f.Tool)
	var kinds, outcomes []string
	for _, k := range f.Kinds {
		kinds = append(kinds, k.String())
	}
	for _, o := range f.Outcomes {
		outcomes = append(outcomes, o.String())
	}
	add("kind", strings.Join(kinds, ","))
	add("outcome", strings.Join(outcomes, ","))
	add("text", f.Text)
	if f.Effects {
		args = append(args, "effects=true")
	}
	if f.From > 0 {
		args = append(args, "from="+strconv.Itoa(f.From))
	}
	if f.To > 0 {
		args = append(args, "to="+strconv.Itoa(f.To))
	}
	return recall.ToolLedger + "(" + strings.Join(args, ", ") + ")"
}
