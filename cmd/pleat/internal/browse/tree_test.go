package browse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
)

// Where the provider counts otherwise than pleat, the turns and what the session has in all are in
// the provider's tokens, as what the model sees is.
func TestOneScale(t *testing.T) {
	s, err := pleat.OpenSession(t.Context(), store.NewMemory(), pleat.Key{Session: "scaled"}, nil)
	for i := 0; i < 30 && err == nil; i++ {
		said := pleat.User(strings.Repeat(fmt.Sprintf("Mend parser %d. ", i), 400))
		if err = s.Append(t.Context(), said, pleat.Assistant(pleat.Say("Done."))); err == nil {
			err = s.Used(t.Context(), model.Usage{Input: s.Snapshot().Parts.Total() * 2 / 3})
		}
	}
	difftest.Must(t, err)
	rep, sum := library.Report(s), 0
	m, err := library.Scaled(t.Context(), s, model.Model{})
	difftest.Must(t, err)
	b := &browser{tree: new(branch), count: tokens.NewTokenizer(m, nil)}
	difftest.Must(t, b.grow(t.Context(), s, rep.Folds))
	for _, turn := range b.tree.kids {
		sum += turn.tokens
	}
	if seen := int(rep.Snapshot.Tokens); rep.Whole != seen || sum < seen*95/100 || sum > seen*105/100 {
		t.Errorf("the model sees %d of %d tokens, and turns add up to %d", seen, rep.Whole, sum)
	}
}
