package pleat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// A fork that Sync makes has the pins of the session, and knows how much the provider takes, also
// what was said of it behind the place where they part.
func TestForkInherits(t *testing.T) {
	ctx := t.Context()
	s := open(t, store.NewMemory(), &pleat.Options{Budget: fold.Budget{Window: 64_000}})
	h := []transcript.Message{transcript.User("Find the bug.")}
	for i := range 12 {
		said := strings.Repeat(fmt.Sprintf("module_%d.go has value-%d. ", i, i*7919), 200)
		h = append(h, transcript.Assistant(transcript.Say(said)), transcript.User(fmt.Sprint("go on ", i)))
	}
	must(t, s.Pin(ctx, "let it go"))
	sync := func() {
		t.Helper()
		var err error
		if _, err = s.Sync(ctx, h); err == nil {
			_, err = s.Messages(ctx)
		}
		must(t, err)
	}
	sync()
	first := s.Key()
	refusal := model.ClassifyError(400, "",
		[]byte(`{"error":{"message":"prompt is too long: 31000 tokens > 9000 maximum"}}`))
	if _, err := s.Refused(ctx, refusal); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{s.Pin(ctx, "never push to main"), s.Unpin(ctx, "let it go")} {
		must(t, err)
	}
	h = append(h[:len(h)-2], transcript.User("no, do it differently"))
	sync()
	if s.Key() == first {
		t.Fatal("no fork was made")
	}
	if got := s.Pins(); !slices.Equal(got, []string{"never push to main"}) {
		t.Errorf("pins are %q", got)
	}
	if got := s.Snapshot(); got.Limits.Max > 9_000 || got.Tokens > 9_000 {
		t.Errorf("%d tokens, limits %+v", got.Tokens, got.Limits)
	}
}
