package bench

import (
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
)

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
