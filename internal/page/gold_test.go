package page_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// The rules in PLEAT_GOLD, which a reader labelled in real sessions, stand word for word in
// the default view of the whole session, for each folder of PLEAT_CORPUS. The two sessions of
// opencode/gatomia-vscode share one long prompt with a third of all labels and are left out.
func TestGoldRules(t *testing.T) {
	path := os.Getenv("PLEAT_GOLD")
	if path == "" {
		t.Skip("set PLEAT_GOLD to a file of labelled rules to run this test")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var gold map[string]struct {
		Rules []struct{ Text string }
	}
	if err := json.Unmarshal(data, &gold); err != nil {
		t.Fatal(err)
	}
	for _, budget := range []int{8_000, 20_000, 49_000} {
		for _, folder := range corpustest.Folders(t) {
			rules, stand := 0, 0
			for name, labels := range gold {
				file := filepath.Join(folder, filepath.FromSlash(name))
				if _, err := os.Stat(file); err != nil || strings.HasPrefix(name, "opencode/gatomia-vscode/") ||
					len(labels.Rules) == 0 {
					continue
				}
				text := oneSpace(tightView(t, file, budget))
				for _, r := range labels.Rules {
					if rules++; strings.Contains(text, oneSpace(r.Text)) {
						stand++
					} else {
						t.Errorf("%s at %d lacks %q", name, budget, r.Text)
					}
				}
			}
			if rules > 0 {
				t.Logf(
					"%s at %d tokens: %d of %d rules stand in the view (%.2f)",
					filepath.Base(folder),
					budget,
					stand,
					rules,
					float64(stand)/float64(rules),
				)
			}
		}
	}
}

// tightView is the text of a session's view in so many tokens, all of them for the view and
// none for a system prompt.
func tightView(t *testing.T, file string, budget int) string {
	t.Helper()
	all := fold.Tokens(budget)
	s := pleattest.Open(t, store.NewMemory(), &pleat.Options{Tokens: counter, Budget: fold.Budget{
		Window: budget + 1, Output: fold.Tokens(1), Buffer: fold.Tokens(1), Yellow: all, Red: all, Target: all,
	}})
	msgs := corpustest.Read(t, file)
	for len(msgs) > 0 && (msgs[0].Role() == transcript.RoleSystem || msgs[0].Role() == transcript.RoleDeveloper) {
		msgs = msgs[1:] // it is in every view
	}
	pleattest.Append(t, s, msgs...)
	v, err := s.View(t.Context(), pleat.Turn{})
	if err != nil {
		t.Logf("%s at %d: %v", file, budget, err)
		return ""
	}
	if msgs, err = s.Resolve(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	return pleattest.Text(msgs)
}

func oneSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

// One tokenizer for all tests: its cache makes them fast.
var counter = tokens.NewTokenizer(model.Model{}, nil)
