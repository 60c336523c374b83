package library

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// MinHandoff is the least budget of a handoff, in tokens.
const MinHandoff = 2_000

const handoffHead = `This is session %s, which another agent left. Its older part is a page that a program wrote, its
newest part is word for word. The system prompt and the tools are yours, not part of it. Tool calls in
it have been carried out; do not repeat them to see their results. Files may have changed since: read a
file again before you edit it.

Eight characters in brackets, or in unfold("…"), are the handle of something that is not all here. pleat's
tool unfold shows it exactly, with this session's ID as the argument session, and its tool search finds
lines. Without these tools, the command pleat unfold HANDLE --session %s does it.
`

// GoOn follows a handoff that a new session begins with.
const GoOn = "\nGo on from where it ended. " +
	"If the last request was fulfilled, say so in a sentence and wait for the next one.\n"

// handoffMark is in the names of forks that handoffs are folded in.
const handoffMark = "handoff-"

// Handoff is a compact view of a session as text, to go on from in another one. It has at
// most budget tokens by the counter o200k_base. The session itself is not folded: a
// fork is, and stays, so that [Library.Unfold] gives back all that was folded.
func (l *Library) Handoff(ctx context.Context, id string, budget int) (string, error) {
	if budget < MinHandoff {
		return "", fmt.Errorf("a handoff needs a budget of at least %d tokens", MinHandoff)
	}
	info, err := l.Find(ctx, id)
	if err != nil {
		return "", err
	}
	s, err := l.open(ctx, info)
	if err != nil {
		return "", err
	}
	h := handoff{info: info, budget: budget, counter: tokens.NewTokenizer(pleat.Model{}, nil)}
	if err := h.fork(ctx, l.o.Store, s); err != nil {
		return "", fmt.Errorf("hand off session %s: %w", info.ID, err)
	}
	text, err := h.fit(ctx)
	if err != nil {
		return "", fmt.Errorf("hand off session %s in %d tokens: %w", info.ID, budget, err)
	}
	return text, nil
}

type handoff struct {
	info    Info
	budget  int
	counter *tokens.Tokenizer
	s       *pleat.Session // the fork
	apart   int            // tokens of messages that the text leaves out
}

// fork opens the fork of a session as it is now, for this budget. Its name follows from
// both, so that the same question gets the same answer.
func (h *handoff) fork(ctx context.Context, st store.Store, s *pleat.Session) error {
	key, last := s.Key(), inside.Of(s).LastSeq()
	to := key
	to.Session += fmt.Sprintf("~%s%d-%d", handoffMark, last, h.budget)
	err := pleat.Fork(ctx, st, key, last, to, Codecs())
	if err != nil && !errors.Is(err, store.ErrConflict) { // else it is there already
		return err
	}
	h.s, err = pleat.OpenSession(ctx, st, to, &pleat.Options{
		Budget: Fit(h.budget), Codecs: Codecs(), Tokens: h.counter, Memory: openMemory, Recall: pleat.UnfoldCall,
	})
	if err != nil {
		return err
	}
	h.s.SetHead("", nil)                // the text has neither system prompt nor tools
	for i := range min(h.s.Len(), 16) { // instructions are at the beginning
		m, err := h.s.Message(ctx, i)
		if err != nil {
			return err
		}
		if instructs(m) {
			h.apart += h.s.Tokens(i, i+1)
		}
	}
	return nil
}

// Fit is the budget of a session that may use all of so many tokens: it expects no answer,
// and is folded only once.
func Fit(tokens int) fold.Budget {
	tokens = max(tokens, 1)
	window, all := max(tokens+1, 100), fold.Share(1) // smaller windows are refused
	return fold.Budget{
		Window: window, Output: fold.Tokens(window - tokens), Buffer: fold.Tokens(1), Yellow: all, Red: all,
		Target: all,
	}
}

// Fitted is how many tokens a session may use whose budget [Fit] made with this window.
func Fitted(window int) int { return max(window-1, 0) }

// fit folds until the text fits. A message has other tokens as text than on a wire, so the
// first try may be too long.
func (h *handoff) fit(ctx context.Context) (string, error) {
	room := h.budget - h.counter.CountText(h.head()+Earlier("")) + h.apart
	var shortest transcript.View
	for range 4 {
		if err := h.s.SetBudget(Fit(room)); err != nil {
			return "", err
		}
		if h.s.Tokens(0, h.s.Len()) > room && len(h.s.Report().Epochs) == 0 {
			if _, err := h.s.Compact(ctx, ""); err != nil && !errors.Is(err, fold.ErrCannotFit) {
				return "", err
			}
		}
		v, err := h.s.View(ctx, pleat.Turn{})
		if errors.Is(err, fold.ErrCannotFit) {
			if shortest.Messages == nil {
				return "", err
			}
			break
		}
		if err != nil {
			return "", err
		}
		shortest = v
		said, err := h.text(ctx, v)
		if err != nil {
			return "", err
		}
		text := h.head() + Earlier(said)
		over := h.counter.CountText(text) - h.budget
		if over <= 0 {
			return text, nil
		}
		room -= over + over/8 + 16
		if err := h.s.UndoAll(ctx); err != nil {
			return "", err
		}
	}
	return h.less(ctx, shortest)
}

// Earlier puts what was said in an earlier session between tags.
func Earlier(said string) string {
	return fence.Block("earlier_session", strings.TrimSuffix(said, "\n")) + "\n"
}

func (h *handoff) head() string { return HandoffHead(h.info.ID, h.s.Key().Session, h.info.Project) }

// HandoffHead says what [Earlier] has: a session that was folded in another, and its working folder.
func HandoffHead(id, folded, project string) string {
	s := fmt.Sprintf(handoffHead, fence.Shown(fence.Line(id)), fence.Shown(fence.Line(folded)))
	if project != "" {
		s += "\nWorking folder: " + fence.Shown(fence.Line(project)) + "\n"
	}
	return s + "\n"
}

func (h *handoff) text(ctx context.Context, v transcript.View) (string, error) {
	msgs, err := Spoken(ctx, h.s, v)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, m := range msgs {
		if !instructs(m) {
			WriteMessage(&b, m, v.Messages[i].Source, false)
		}
	}
	return b.String(), nil
}

// instructs reports whether a message is the other agent's instructions. A client may pass on in a
// system message what somebody typed.
func instructs(m transcript.Message) bool {
	if _, typed := userwords.TypedText(m); typed {
		return false
	}
	return m.Role() == transcript.RoleSystem || m.Role() == transcript.RoleDeveloper
}

// Spoken resolves a view for [WriteMessage].
func Spoken(ctx context.Context, s *pleat.Session, v transcript.View) ([]transcript.Message, error) {
	msgs, err := s.Resolve(ctx, v)
	if err != nil {
		return nil, err
	}
	return annotate.AttributedView(v, msgs, func(i int) (transcript.Message, error) { return s.Message(ctx, i) })
}

// WriteMessage writes a message of a view as plain text, as [annotate.AttributedView] has it. Source is its number in
// the session, counted from 0; negative: pleat wrote it. What the message holds cannot pass for
// the beginning of another; control characters in it are written as escapes.
func WriteMessage(w io.Writer, m transcript.Message, source int, thinking bool) {
	number := "by pleat"
	if source >= 0 {
		number = fmt.Sprintf("message %d", source+1)
	}
	fmt.Fprintf(w, "--- %s, %s\n", fence.Shown(fence.Line(string(m.Role()))), number)
	for _, blk := range m.Blocks().All() {
		switch b := blk.(type) {
		case transcript.Text:
			fmt.Fprintln(w, fence.Block("text", fence.Shown(b.Text.String())))
		case transcript.Thinking:
			if thinking && !b.Text.IsEmpty() {
				fmt.Fprintln(w, "(thinking)"+fence.After("thinking", fence.Shown(b.Text.String())))
			}
		case transcript.ToolCall:
			fmt.Fprintf(w, "(call) %s%s\n", fence.Shown(fence.Line(b.Name)), fence.After("input", fence.Shown(b.Input.String())))
		case transcript.ToolResult:
			how := "result"
			if b.Error {
				how = "error"
			}
			fmt.Fprintf(w, "(%s)%s\n", how, fence.After("result", fence.Shown(b.Text())))
		case transcript.Image:
			fmt.Fprintf(w, "(%s %s)\n", b.Kind(), fence.Shown(fence.Line(b.MediaType)))
		case transcript.Opaque:
			if b.Type == annotate.ByProgram {
				fmt.Fprintln(w, "(program)"+fence.After("program", fence.Shown(b.Raw)))
				continue
			}
			fmt.Fprintf(w, "(%s %s)\n", b.Kind(), fence.Shown(fence.Line(b.Type)))
		}
	}
}

// Unfold gives back something from a session, or from what was folded of it.
func (l *Library) Unfold(ctx context.Context, id string, r recall.UnfoldRequest) (recall.Unfolded, error) {
	u, err := l.unfold(ctx, id, r)
	u.Visible = false // whoever asks here does not see the session's view
	return u, err
}

func (l *Library) unfold(ctx context.Context, id string, r recall.UnfoldRequest) (recall.Unfolded, error) {
	s, err := l.Open(ctx, id)
	if err != nil {
		return recall.Unfolded{}, err
	}
	u, err := s.Unfold(ctx, r)
	if !errors.Is(err, store.ErrNotFound) || strings.HasPrefix(r.Handle, recall.PathPrefix) {
		return u, err
	}
	parts, listed := Parts(ctx, l.o.Store, s.Key())
	if listed != nil {
		return u, listed
	}
	for _, info := range parts {
		fork, failed := pleat.OpenSession(ctx, l.o.Store, info.Key, Roughly())
		if failed != nil {
			return u, failed
		}
		if u, failed := fork.Unfold(ctx, r); !errors.Is(failed, store.ErrNotFound) {
			return u, failed
		}
	}
	return u, err
}
