package page_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/viewtest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// TestCorpusPages folds the first 70 % of real sessions into small views, without a
// model. What a page quotes must be in the session, word for word. It logs how many of
// the names that the agent used afterwards, without seeing them again first, are in the
// view: a guide, not a score, because a bare list of names would win it.
func TestCorpusPages(t *testing.T) {
	for _, target := range []int{8_000, 20_000} {
		sum, n := 0.0, 0
		for _, path := range corpustest.Files(t) {
			msgs := corpustest.Read(t, path)
			cut := len(msgs) * 7 / 10
			if counter.CountText(pleattest.Text(msgs[:cut])) < 30_000 {
				continue
			}
			for cut < len(msgs) && msgs[cut].Role() != transcript.RoleAssistant {
				cut++
			}
			s := pleattest.Open(t, store.NewMemory(), &pleat.Options{
				Budget: fold.Budget{Window: 200_000, Target: fold.Tokens(target)}, Tokens: counter,
			})
			pleattest.Append(t, s, msgs[:cut]...)
			if _, err := s.Compact(t.Context(), ""); err != nil {
				t.Errorf("%s: %v", filepath.Base(path), err)
				continue
			}
			seen := pleattest.View(t, s)
			source := decodedText(msgs[:cut])
			for _, line := range quoted(seen) {
				if !strings.Contains(source, strings.Join(strings.Fields(line), " ")) {
					t.Errorf("%s: %q is not in the session", filepath.Base(path), line)
				}
			}
			if share, ok := usedLater(msgs, cut, pleattest.Text(seen)); ok {
				sum, n = sum+share, n+1
			}
		}
		if n > 0 {
			t.Logf("view of %d tokens: %.2f of the names used later, %d sessions", target, sum/float64(n), n)
		}
	}
}

// messageHead says where a quotation is from, perhaps with the call that it answers.
var messageHead = regexp.MustCompile(`^message [^(:]*(?:\(.*?\))?:(?: |$)`)

// callHead begins the quotations from one or more calls.
var callHead = regexp.MustCompile(`^#[0-9]+ .*:$`)

// quoted returns the lines that pages quote from files, outputs and the assistant.
func quoted(msgs []transcript.Message) []string {
	var out []string
	for _, m := range msgs {
		text, inside, changes := m.Text(), false, false
		if m.Role() != transcript.RoleUser || !strings.HasPrefix(text, "[pleat:") {
			continue
		}
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(line, "## ") {
				changes = strings.HasPrefix(line, "## What changed")
				inside = changes || strings.HasPrefix(line, "## Findings") || strings.HasPrefix(line, "## Key lines")
				continue
			}
			if inside = inside && !strings.HasPrefix(line, "Side effects above"); !inside ||
				callHead.MatchString(line) {
				continue
			}
			line = line[len(messageHead.FindString(line)):]
			if changes {
				line = strings.TrimLeft(line, "+- ")
			}
			for part := range strings.SplitSeq(line, "…") {
				if part = strings.TrimSpace(part); part != "" {
					out = append(out, part)
				}
			}
		}
	}
	return out
}

// decodedText is all that was said, thought, called and answered, with the strings of
// calls decoded and all space made the same.
func decodedText(msgs []transcript.Message) string {
	var all []string
	for _, m := range msgs {
		for _, b := range m.Blocks().All() {
			switch b := b.(type) {
			case transcript.Thinking:
				all = append(all, strings.Fields(b.Text.String())...)
			case transcript.ToolCall:
				var input any
				if json.Unmarshal([]byte(b.Input.String()), &input) != nil {
					input = b.Input.String()
				}
				for _, text := range stringsIn(input) {
					for line := range strings.Lines(text) { // a patch marks its lines
						all = append(all, strings.Fields(strings.TrimLeft(line, "+-"))...)
					}
				}
			default:
				all = append(all, strings.Fields(transcript.BlockText(b))...)
			}
		}
	}
	return strings.Join(all, " ")
}

func stringsIn(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			out = append(out, stringsIn(e)...)
		}
	case map[string]any:
		for _, e := range v {
			out = append(out, stringsIn(e)...)
		}
	}
	return out
}

var namePattern = regexp.MustCompile(
	`[A-Za-z_]*(?:[a-z][A-Z]|_[A-Za-z0-9])[A-Za-z0-9_]*|\b[0-9a-f]{7,40}\b|[\w-]+\.[a-z]{1,5}\b`,
)

// usedLater is the share of the names which the agent uses after the cut, saw before it,
// and is not shown in between, that occur in a view.
func usedLater(msgs []transcript.Message, cut int, view string) (float64, bool) {
	before, fresh := nameSet(pleattest.Text(msgs[:cut])), map[string]bool{}
	shown := nameSet(view)
	need, have := 0, 0
	for _, m := range msgs[cut:] {
		for name := range nameSet(pleattest.Text([]transcript.Message{m})) {
			if !fresh[name] && before[name] && m.Role() == transcript.RoleAssistant {
				need++
				if shown[name] {
					have++
				}
			}
			fresh[name] = true
		}
	}
	return float64(have) / float64(max(need, 1)), need >= 5
}

func nameSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, name := range namePattern.FindAllString(text, -1) {
		if len(name) >= 4 {
			set[name] = true
		}
	}
	return set
}

// TestStatedCorpus reports how much of what the assistant said stands word for word in the
// default view of a whole session: the mean share, over the sessions that are larger than the
// view, of its sentences, and of its texts with at least one of them.
func TestStatedCorpus(t *testing.T) {
	files := corpustest.Files(t)
	for _, folder := range corpustest.Folders(t) {
		for _, budget := range []int{8_000, 20_000, 49_000} {
			sessions, sentences, texts := 0, 0.0, 0.0
			for _, file := range files {
				if !strings.HasPrefix(file, folder+string(filepath.Separator)) {
					continue
				}
				var said [][]string
				size := 0
				for _, m := range corpustest.Read(t, file) {
					for _, b := range m.Blocks().All() {
						txt := transcript.BlockText(b)
						size += counter.CountText(txt)
						if list := statements(txt); m.Role() == transcript.RoleAssistant &&
							b.Kind() == transcript.KindText &&
							len(list) > 0 {
							said = append(said, list)
						}
					}
				}
				if size < budget*6/5 || len(said) == 0 {
					continue
				}
				view := oneSpace(tightView(t, file, budget))
				count, stand, some := 0, 0, 0
				for _, list := range said {
					before := stand
					for _, s := range list {
						if count++; strings.Contains(view, s) {
							stand++
						}
					}
					if stand > before {
						some++
					}
				}
				sessions++
				sentences += float64(stand) / float64(count)
				texts += float64(some) / float64(len(said))
				if testing.Verbose() {
					t.Logf("  %s: %d of %d sentences, %d of %d texts", filepath.Base(file), stand, count,
						some, len(said))
				}
			}
			if sessions > 0 {
				t.Logf("%s at %d tokens, %d sessions: %.3f of the assistant's sentences, %.3f of its texts stand in the view",
					filepath.Base(folder), budget, sessions, sentences/float64(sessions), texts/float64(sessions))
			}
		}
	}
}

// statements splits a text into sentences of at least five words.
func statements(txt string) []string {
	var list []string
	for line := range strings.Lines(txt) {
		for _, s := range strings.SplitAfter(strings.TrimLeft(line, " \t-*#>0123456789."), ". ") {
			if s = oneSpace(s); len(strings.Fields(s)) >= 5 {
				list = append(list, s)
			}
		}
	}
	return list
}

// The rules in PLEAT_GOLD, which a reader labelled in real sessions, stand word for word in
// the default view of the whole session, for each folder of PLEAT_CORPUS. The two sessions of
// opencode/gatomia-vscode share one long prompt with a third of all labels and are left out.
func TestGoldRules(t *testing.T) {
	path := os.Getenv("PLEAT_GOLD")
	if path == "" {
		t.Skip("set PLEAT_GOLD to a file of labelled rules to run this test")
	}
	data, err := os.ReadFile(path)
	difftest.Must(t, err)
	var gold map[string]struct {
		Rules []struct{ Text string }
	}
	difftest.Must(t, json.Unmarshal(data, &gold))
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
				t.Logf("%s at %d tokens: %d of %d rules stand in the view (%.2f)",
					filepath.Base(folder), budget, stand, rules, float64(stand)/float64(rules))
			}
		}
	}
}

// tightView is the text of a session's view in so many tokens, all of them for the view and
// none for a system prompt.
func tightView(t *testing.T, file string, budget int) string {
	t.Helper()
	s := pleattest.Open(t, store.NewMemory(), &pleat.Options{Tokens: counter, Budget: viewtest.Tight(budget)})
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
