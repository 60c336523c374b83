package exchange

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// ownCalls returns the calls of an answer to our tools, and how many there are to others.
func ownCalls(reply model.Reply, own func(name string) bool) (ours []transcript.ToolCall, others int) {
	for _, c := range transcript.Unanswered(reply.Messages...) {
		if own(c.Name) {
			ours = append(ours, c)
		} else {
			others++
		}
	}
	return ours, others
}

// isCut reports whether an answer was cut off: its calls may be incomplete, and nobody answers them.
func isCut(r model.Reply) bool {
	return r.Stop == model.StopMaxTokens || r.Stop == model.StopWindow || r.Stop == model.StopRefusal
}

// severed reports whether an answer was cut off with calls of ours in it.
func severed(r model.Reply, own func(name string) bool) bool {
	ours, _ := ownCalls(r, own)
	return isCut(r) && len(ours) > 0
}

// asClientSees returns the messages of an answer as the client sees them if it was cut off.
func (x *exchange) asClientSees(r model.Reply) ([]transcript.Message, error) {
	if !severed(r, x.own()) {
		return r.Messages, nil
	}
	var raw [][]byte
	for _, m := range r.Messages {
		raw = append(raw, transcript.StringBytes(m.Raw()))
	}
	less, err := x.req.Protocol.Reply(x.req.Protocol.Join([][]byte{x.req.Protocol.Whole(raw)}, x.own()))
	return less.Messages, err
}

// answerOwnCalls answers the calls of an answer to our tools and adds both to the session. If the
// answer called no other tools it is not over: the turn is rewritten, and again reports
// that it should be sent.
func (x *exchange) answerOwnCalls(ctx context.Context, got model.Reply) (again bool, err error) {
	rw, t := x.rw, x.turn
	ours, others := ownCalls(got, x.own())
	if len(ours) == 0 || isCut(got) || got.Err != nil {
		return false, nil
	}
	if t.conv == nil { // the store failed before
		return false, fmt.Errorf("keep hidden round: %w", x.report.Err)
	}
	if x.hidden > rw.o.Rounds { // it was told once
		return false, fmt.Errorf("%w (after %d rounds)", errRounds, x.hidden)
	}
	x.hidden++
	if again = others == 0; again { // else it is the answer's, and recorded at its end
		err := rw.onTurn(ctx, t, func(c *conversation) error { return c.recordUsage(ctx, got) })
		if err != nil {
			return false, fmt.Errorf("keep hidden round: %w", err)
		}
	}
	t.hidden = append(t.hidden, got.Messages...)
	folds := func(c transcript.ToolCall) bool {
		return c.Name == t.mode.Prefix+recall.ToolCompact || c.Name == t.mode.Prefix+recall.ToolSnip
	}
	if slices.ContainsFunc(ours, folds) { // the answer is there first: what its thinking is bound to is about to change
		if err := rw.onTurn(ctx, t, func(*conversation) error { return nil }); err != nil {
			return false, fmt.Errorf("keep hidden round: %w", err)
		}
	}
	results := make([]transcript.ToolResult, len(ours))
	for i, c := range ours {
		if x.hidden > rw.o.Rounds {
			results[i] = transcript.ErrorResult(c.ID, "No more of this in this turn: go on with what you have.")
			continue
		}
		name := strings.TrimPrefix(c.Name, t.mode.Prefix)
		text, failed := rw.recall(ctx, t, name, c.Input.String())
		results[i] = transcript.Result(c.ID, text)
		results[i].Error = failed
	}
	answers, err := x.req.Protocol.Answer(ours, results)
	if err != nil {
		return false, fmt.Errorf("answer recall: %w", err)
	}
	t.hidden = append(t.hidden, answers...)
	err = rw.onTurn(ctx, t, func(c *conversation) error {
		if !again {
			return nil
		}
		open := lineage.Mark{Mode: t.mode, Reply: &lineage.Reply{From: t.mark.At, To: t.at, Open: true}}
		if err := c.record(ctx, []string{""}, &open, time.Time{}); err != nil {
			return err
		}
		v, err := t.view(func(s *pleat.Session) (transcript.View, error) {
			return s.View(ctx, pleat.Turn{Since: t.since()})
		})
		if err != nil {
			return err
		}
		return rw.write(ctx, t, v)
	})
	if err != nil {
		return false, fmt.Errorf("keep hidden round: %w", err)
	}
	if again {
		x.replies = append(x.replies, got)
	}
	return again, nil
}

// errRounds says that a turn is given up.
var errRounds = errors.New("the model asks for folded content again and again, and was stopped")

// onTurn adds the turn's hidden rounds to its session, as far as they are not in it, and
// does something with the session. If others wrote to the session meanwhile, it does both
// again: there, or in a fork, if the conversation went on without them.
func (rw *Rewriter) onTurn(ctx context.Context, t *turn, do func(*conversation) error) error {
	for try := 1; ; try++ {
		c := t.conv
		err := func() error {
			c.mu.Lock()
			defer c.unlock() // also where hooks and observers of another program panic
			if err := t.addHidden(ctx, c); err != nil {
				return err
			}
			return do(c)
		}()
		switch {
		case try == mostTries:
			return err
		case errors.Is(err, store.ErrNotFound), errors.Is(err, lineage.ErrDiverged):
		case !errors.Is(err, store.ErrConflict):
			return err
		case c.behind.Wait(ctx) == nil:
			continue // the session has read what they wrote
		}
		next, again := rw.begin(ctx, t.req, false)
		if again != nil {
			return again
		}
		if next == nil { // the proxy is draining, and the store does not know the conversation
			return err
		}
		next.hidden, next.key, next.mode = t.hidden, t.key, t.mode
		*t = *next
	}
}

// addHidden adds the messages of hidden rounds that the session lacks.
func (t *turn) addHidden(ctx context.Context, c *conversation) error {
	if c.sess.Len() != t.at || c.track.Backs != t.backs {
		return lineage.ErrDiverged
	}
	news := t.hidden[t.at-t.mark.At:]
	if len(news) == 0 {
		return nil
	}
	last := inside.Of(c.sess).LastSeq()
	if err := c.sess.Append(ctx, news...); err != nil {
		return err
	}
	c.wrote(last)
	t.at = c.sess.Len()
	return nil
}

// since is the first message of the transcript that the client's newest request brought.
func (t *turn) since() int {
	list := t.req.Messages
	for i, m := range slices.Backward(list) {
		if lineage.IsAnswer(m) {
			return t.mark.At - (len(list) - 1 - i)
		}
	}
	return 0
}

// resume takes up the hidden rounds after the turn's mark whose answer did not end: the
// client sends its request again, and they need not be done again.
func (t *turn) resume(ctx context.Context, to int) error {
	for ; t.at < to; t.at++ {
		m, err := t.conv.sess.Message(ctx, t.at)
		if err != nil {
			return err
		}
		if n := len(t.hidden); lineage.IsAnswer(m) && (n == 0 || !lineage.IsAnswer(t.hidden[n-1])) {
			t.resumed++
		}
		t.hidden = append(t.hidden, m)
	}
	return nil
}
