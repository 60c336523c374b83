package pleat_test

import (
	"context"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
)

// ownPages writes pages that a program made up.
type ownPages struct{}

func (ownPages) Page(context.Context, fold.PageRequest) (fold.WrittenPage, error) {
	return fold.WrittenPage{Text: "What a program's own writer says.", Parts: fold.Parts{Digest: 8}, By: "code"}, nil
}

func (ownPages) Restored(context.Context, fold.PageRequest) (string, error) { return "", nil }

func TestOwnPages(t *testing.T) {
	s := busy(t, 20, &pleat.Options{Pages: ownPages{}, Budget: fold.Budget{Window: 20_000}})
	compact(t, s)
	if got := pleattest.Text(pleattest.View(t, s)); !strings.Contains(got, "What a program's own writer says.") {
		t.Errorf("the view lacks the page:\n%.2000s", got)
	}
}

// A session that is opened without system prompt and tools counts those that it began with, until it is told others.
func TestHeadOfFirstEntry(t *testing.T) {
	st := store.NewMemory()
	head := func(o *pleat.Options) fold.Parts {
		p := open(t, st, o).Snapshot().Parts
		return fold.Parts{System: p.System, Tools: p.Tools}
	}
	first := head(&pleat.Options{System: "You are careful.", Tools: []model.Tool{{Name: "bash", Schema: `{}`}}})
	if first.System == 0 || first.Tools == 0 {
		t.Fatalf("the head has %+v", first)
	}
	if got := head(nil); got != first {
		t.Errorf("opened without: %+v, want %+v", got, first)
	}
	if got := head(&pleat.Options{System: "Hi."}); got.System >= first.System || got.Tools != 0 {
		t.Errorf("opened with another: %+v", got)
	}
	s := open(t, st, nil)
	if s.SetHead("", nil); s.Snapshot().Parts.Total() != 0 {
		t.Errorf("without a head: %+v", s.Snapshot().Parts)
	}
}
