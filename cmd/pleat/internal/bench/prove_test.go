package bench

import (
	"context"
	"errors"
	"fmt"
	"testing"

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
