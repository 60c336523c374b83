package policy_test

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
)

// With a model at hand the policies that reproduce published designs show its summary as
// it came, in their own form, and ask for it as they say.
func TestPoliciesWithModel(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		max        int
		zero       bool
	}{
		{"book", "[session summary — ", 0, false},
		{"threshold", "<conversation_summary>\nThe model's own words on file0.go.\n</conversation_summary>", 1_500, true},
		{"three-layer", "[Compressed]\n\nThe model's own words on file0.go.", 2_000, false},
		{"four-lever", "[Compressed]\n\nThe model's own words on file0.go.", 2_000, false},
		{"four-layer", "[Compacted]\n\nThe model's own words on file0.go.", 20_000, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := policy.ByName(tt.name)
			if err != nil {
				t.Fatal(err)
			}
			m := pleattest.Always("The model's own words on file0.go.")
			s := pleattest.Open(t, store.NewMemory(), &pleat.Options{
				Policy: p, Model: model.Model{ID: "m", Window: 200_000},
				Digest: digest.Options{Generator: m},
			})
			pleattest.Digestible(t, s, 24)
			compact(t, s)
			if got := pleattest.Text(pleattest.View(t, s)); !strings.Contains(got, tt.want) ||
				!strings.Contains(got, "The model's own words on file0.go.") ||
				strings.Contains(got, "[pleat:") {
				t.Errorf("the view is\n%.400s", got)
			}
			req := m.Requests()
			if len(req) != 1 || tt.max > 0 && req[0].MaxTokens != tt.max || (req[0].Temperature != nil) != tt.zero {
				t.Errorf("%d requests; at most %d tokens", len(req), req[0].MaxTokens)
			}
			if n := len([]rune(req[0].Messages[0].Text())); tt.max == 2_000 && n > 80_100 {
				t.Errorf("the summarizer reads %d characters", n)
			}
		})
	}
}
