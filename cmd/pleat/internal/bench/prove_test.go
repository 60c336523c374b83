package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// proof is what became of a promise.
type proof struct {
	folds   int
	inexact []string // folds that did not come back as the bytes they were made from
	leaks   []string // handles that worked in another session or for another tenant
}

// prove holds every fold of the session, those of the newest view among them, against the
// hash it was made under, and tries its handle in other sessions of the same store.
func (r *recalling) prove(ctx context.Context) (proof, error) {
	others, err := r.strangers(ctx)
	if err != nil {
		return proof{}, err
	}
	var p proof
	for _, f := range r.s.Folds() {
		if f.Start == f.End {
			continue // it took nothing away
		}
		p.folds++
		if bad := inexact(ctx, r.s, f); bad != "" {
			p.inexact = append(p.inexact, fmt.Sprintf("fold %d (%s): %s", f.ID, f.Lever, bad))
		}
		for _, o := range others {
			if _, err := o.Unfold(ctx, recall.UnfoldRequest{Handle: f.Handle}); !errors.Is(err, store.ErrNotFound) {
				p.leaks = append(p.leaks,
					fmt.Sprintf("handle %s of %s asked in %s: %v", f.Handle, r.s.Key(), o.Key(), err))
			}
		}
	}
	return p, nil
}

// strangers are sessions of the same store that share no conversation with this one:
// another of the same tenant, and the session of the same name of another tenant.
func (r *recalling) strangers(ctx context.Context) ([]*pleat.Session, error) {
	mine := r.s.Key()
	var out []*pleat.Session
	for _, key := range []store.SessionKey{
		{Tenant: mine.Tenant, Session: mine.Session + "-other"}, {Tenant: mine.Tenant + "other", Session: mine.Session},
	} {
		s, err := pleat.OpenSession(ctx, r.store, key, &pleat.Options{Tokens: r.tokens})
		if err == nil && s.Len() == 0 {
			err = s.Append(ctx, transcript.User("Another conversation."))
		}
		if err != nil {
			return nil, fmt.Errorf("open another session: %w", err)
		}
		out = append(out, s)
	}
	return out, nil
}

// inexact says what is wrong with what a fold gives back.
func inexact(ctx context.Context, s *pleat.Session, f *fold.Fold) string {
	u, err := s.Unfold(ctx, recall.UnfoldRequest{Handle: f.Handle})
	if err != nil {
		return err.Error()
	}
	text := u.Whole
	if transcript.HashOf(text) != f.Hash || len(text) != f.Bytes {
		return fmt.Sprintf("%d bytes with hash %s, want %d with %s", len(text), transcript.HashOf(text),
			f.Bytes, f.Hash)
	}
	if f.Block < 0 {
		return ""
	}
	// A result of words alone is also held against the message itself, so that a hash
	// taken of something else would show.
	m, err := s.Message(ctx, f.Start)
	if err != nil {
		return err.Error()
	}
	res, ok := m.Blocks().At(f.Block).(transcript.ToolResult)
	if !ok {
		return ""
	}
	for _, part := range res.Parts.All() {
		if _, ok := part.(transcript.Text); !ok {
			return ""
		}
	}
	if res.Text() != text {
		return "it is not what the message says"
	}
	return ""
}

// TestProve finds nothing wrong with a session that is sound, a fold whose hash is not
// that of its bytes, and a handle that another session has too.
func TestProve(t *testing.T) {
	ctx := t.Context()
	arms, err := ArmsByName("default")
	must(t, err)
	m, err := arms[0].Open(ctx, Setup{Budget: 9_000, Tokens: tokens.NewTokenizer(model.Model{}, nil)})
	must(t, err)
	msgs := small(t)[0].Messages
	must(t, m.Append(ctx, msgs...))
	if _, err := m.View(ctx, 0); err != nil {
		t.Fatal(err)
	}
	r := m.(*recalling)
	p, err := r.prove(ctx)
	if err != nil || p.folds == 0 || len(p.inexact)+len(p.leaks) > 0 {
		t.Fatalf("got %+v, %v", p, err)
	}
	f := *r.s.Folds()[0]
	f.Hash[0]++
	if inexact(ctx, r.s, &f) == "" {
		t.Error("a fold with another hash passed")
	}
	f.Handle = "00000000"
	if inexact(ctx, r.s, &f) == "" {
		t.Error("a fold that cannot be unfolded passed")
	}

	// The handles of a shared conversation are the same, so a session that had got hold
	// of this one's messages would answer for them.
	leaky := &recalling{r.engine}
	leaky.store = store.NewMemory()
	s, err := pleat.OpenSession(
		ctx, leaky.store, store.SessionKey{Tenant: "other", Session: "bench"}, &pleat.Options{Tokens: r.tokens},
	)
	if err == nil {
		err = s.Append(ctx, msgs...)
	}
	must(t, err)
	if p, err = leaky.prove(ctx); err != nil || len(p.leaks) == 0 {
		t.Errorf("a tenant with this session's messages: got %d leaks, %v", len(p.leaks), err)
	}
}

// The numbers of the default policy that the bound is computed with.
const (
	boundKeep  = 3
	boundLeast = 120
	boundStub  = 55
)

// lookAhead is what a session would cost with the best schedule of masking that can be
// found when the whole session is known: dynamic programming over the same folds. At
// every request it may mask all results from any place on, but the newest three and those
// that no model has seen yet. What it passes over it never comes back to: fewer requests
// would be left to pay for more rewriting. It holds for prices without tiers, a cache that
// never dies, and sessions that stay below red.
//
// Sizes are those with which messages were first shown, so that what is spilled at birth
// is spilled here too; stub is what a masked result takes.
func lookAhead(s *Session, first map[int]shown, p model.Price, keep, least, stub int) float64 {
	type result struct{ message, saves int }
	var all []result
	known := make([]int, len(s.Messages)+1) // results before each message
	sum := make([]int, len(s.Messages)+1)   // tokens before each message
	for i, m := range s.Messages {
		known[i], sum[i+1] = len(all), sum[i]+first[i].tokens
		for _, b := range m.Blocks().All() {
			if r, ok := b.(transcript.ToolResult); ok {
				saves := 0
				if k := len(all) - known[i]; len(r.Text()) >= least && k < len(first[i].results) {
					saves = max(first[i].results[k]-stub, 0)
				}
				all = append(all, result{i, saves})
			}
		}
	}
	known[len(s.Messages)] = len(all)
	saved := make([]int, len(all)+1)
	for j, r := range all {
		saved[j+1] = saved[j] + r.saves
	}
	requests := s.requests()
	if len(requests) == 0 {
		return 0
	}
	cost := unfoldedCost(requests, sum, p)
	best := map[int]float64{0: 0} // what was saved, by the first result that is not behind us
	for t := 1; t < len(requests); t++ {
		end := min(known[requests[t]]-keep, known[requests[t-1]])
		if end <= 0 {
			continue
		}
		left := float64(len(requests) - t)
		gain := make([]float64, end+1) // of the best place from each result on
		for i := end - 1; i >= 0; i-- {
			gain[i] = gain[i+1]
			if all[i].saves == 0 {
				continue
			}
			removed := saved[end] - saved[i]
			rewritten := max(sum[requests[t-1]]-sum[all[i].message]-removed, 0)
			g := p.CacheRead*float64(removed)*left - (p.CacheWrite-p.CacheRead)*float64(rewritten)
			gain[i] = max(gain[i], g)
		}
		top := -1.0
		for from, had := range best {
			if from <= end && gain[from] > 0 {
				top = max(top, had+gain[from])
			}
		}
		if top > best[end] {
			best[end] = top
		}
	}
	return (cost - slices.Max(slices.Collect(maps.Values(best)))) / 1e6
}

// requests returns the number of messages in each request of the session.
func (s *Session) requests() (list []int) {
	for i := 1; i < len(s.Messages); i++ {
		if s.Messages[i].Role() == transcript.RoleAssistant && s.Messages[i-1].Role() != transcript.RoleAssistant {
			list = append(list, i)
		}
	}
	return list
}

// unfoldedCost is what the requests cost without any fold, in millionths of a dollar. sum has
// the tokens before each message.
func unfoldedCost(requests, sum []int, p model.Price) float64 {
	cost, before := 0.0, 0
	for t, n := range requests {
		if t > 0 {
			cost += float64(fixedTokens+sum[before]) * p.CacheRead
		} else {
			cost += fixedTokens * p.CacheWrite
		}
		cost += float64(sum[n]-sum[before]) * p.CacheWrite
		before = n
	}
	return cost
}

// shown is a message as it was first shown, large results already spilled.
type shown struct {
	tokens  int
	results []int // tokens of each result in it
}

// noting notes how a method shows messages at first.
type noting struct {
	Method
	w     *worker
	first map[int]shown
}

// noted is an arm whose method notes that.
func noted(w *worker, arm Arm, first map[int]shown) Arm {
	open := arm.Open
	arm.Open = func(ctx context.Context, o Setup) (Method, error) {
		m, err := open(ctx, o)
		return &noting{m, w, first}, err
	}
	return arm
}

func (n *noting) View(ctx context.Context, idle time.Duration) (transcript.View, error) {
	v, err := n.Method.View(ctx, idle)
	if err != nil {
		return v, err
	}
	msgs, err := v.Resolve(transcript.NewTranscript(n.w.s.Messages...))
	for i, m := range msgs {
		at := v.Messages[i].Source
		if _, ok := n.first[at]; ok || at < 0 {
			continue
		}
		f := shown{tokens: n.w.tokens.CountMessage(m)}
		for _, b := range m.Blocks().All() {
			if b.Kind() == transcript.KindToolResult {
				f.results = append(f.results, n.w.tokens.CountBlock(b))
			}
		}
		n.first[at] = f
	}
	return v, err
}
