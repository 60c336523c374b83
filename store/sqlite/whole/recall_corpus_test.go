package whole_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/clue"
	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// recallFact is something that an agent used after a cut and had seen only before it,
// with the question that its later use makes: the other words of that sentence or line.
type recallFact struct {
	target string
	kind   string
	query  string
}

// Floors of the corpus test, on the first folder: the share of facts and of changes that are
// found.
const (
	recallFloor = 0.88
	changeFloor = 0.95
)

// TestRecallCorpus measures recall on real sessions. Each is cut at 70 % of its longest
// stretch without a compaction. Facts are names, files, digests and numbers that the
// agent uses after the cut, that it saw before it, and that nobody told it again in
// between. The query is made of the other words of the use. A fact is found when its
// line stands on the page that answers one search. PLEAT_MISSES=1 lists the others.
//
// Changes are lines that the agent wrote into files before the cut. The query is the file's
// name and the words of the line, without the name or number that it is about.
//
// The ranking was tuned on the first folder of PLEAT_CORPUS, and the floors are for it.
func TestRecallCorpus(t *testing.T) {
	for i, dir := range corpustest.Folders(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) { testRecall(t, dir, i == 0) })
	}
}

func testRecall(t *testing.T, dir string, floors bool) {
	stores := map[string]func() store.Store{
		"memory": func() store.Store { return store.NewMemory() },
		"sqlite": func() store.Store {
			s, err := sqlite.Open(filepath.Join(t.TempDir(), "recall.db"), nil)
			must(t, err)
			return s
		},
	}
	for _, name := range []string{"memory", "sqlite"} {
		t.Run(name, func(t *testing.T) {
			var all recallScore
			for _, file := range corpusFiles(t, dir) {
				msgs, cut := cutSession(t, file)
				facts := mineFacts(msgs, cut)
				if len(facts) < 5 {
					facts = nil
				}
				if facts = append(facts, mineChanges(msgs[:cut])...); len(facts) == 0 {
					continue
				}
				score := measureRecall(t, stores[name](), msgs[:cut], facts)
				rel, _ := filepath.Rel(dir, file)
				t.Logf("%-50s %s", rel, score)
				all.add(score)
			}
			t.Logf("%-50s %s", "all", all)
			var facts recallScore
			for _, kind := range []string{"name", "file", "digest", "number"} {
				t.Logf("  %-10s %s", kind, all.kinds[kind])
				facts.add(all.kinds[kind])
			}
			changes := all.kinds["change"]
			t.Logf("facts %s", facts)
			t.Logf("changes %s", changes)
			if all.exact != all.lines {
				t.Errorf("%d of %d lines that were shown are exact", all.exact, all.lines)
			}
			if floors && (facts.share() < recallFloor || changes.share() < changeFloor) {
				t.Errorf("%.3f of the facts and %.3f of the changes were found, the floors are %.2f and %.2f",
					facts.share(), changes.share(), recallFloor, changeFloor)
			}
		})
	}
}

// recallScore counts facts and how many of them were found.
type recallScore struct {
	facts, found, first int
	lines, exact        int // shown lines, and those that unfolding shows the same
	tokens, bytes       int
	took                time.Duration
	kinds               map[string]recallScore
}

func (s *recallScore) add(o recallScore) {
	s.facts, s.found, s.first = s.facts+o.facts, s.found+o.found, s.first+o.first
	s.lines, s.exact = s.lines+o.lines, s.exact+o.exact
	s.tokens, s.bytes = s.tokens+o.tokens, s.bytes+o.bytes
	s.took += o.took
	for kind, k := range o.kinds {
		if s.kinds == nil {
			s.kinds = map[string]recallScore{}
		}
		sum := s.kinds[kind]
		sum.add(k)
		s.kinds[kind] = sum
	}
}

func (s recallScore) share() float64 { return float64(s.found) / float64(max(s.facts, 1)) }

func (s recallScore) String() string {
	n := max(s.facts, 1)
	return fmt.Sprintf(
		"%4d facts, %.3f found, %.3f by the first hit, %4d tokens, %5d bytes and %s a search, exactness %.2f",
		s.facts,
		s.share(),
		float64(s.first)/float64(n),
		s.tokens/n,
		s.bytes/n,
		(s.took / time.Duration(n)).Round(10*time.Microsecond),
		float64(s.exact)/float64(max(s.lines, 1)),
	)
}

// measureRecall asks for every fact in a session of the messages before the cut.
func measureRecall(t *testing.T, st store.Store, msgs []transcript.Message, facts []recallFact) recallScore {
	defer st.Close()
	tokens := tokens.NewTokenizer(model.Model{}, &tokens.Options{Counter: tokens.CharsPerToken(4)})
	s, err := pleat.OpenSession(t.Context(), st, store.SessionKey{Session: "corpus"}, &pleat.Options{Tokens: tokens})
	must(t, err)
	must(t, s.Append(t.Context(), msgs...))
	search := func(query string) recall.SearchResult {
		res, err := s.Search(t.Context(), recall.SearchRequest{Queries: []string{query}})
		must(t, err)
		return res
	}
	search("warm") // indexing is not what is timed
	score := recallScore{kinds: map[string]recallScore{}}
	for _, f := range facts {
		start := time.Now()
		res := search(f.query)
		one := recallScore{
			facts: 1, took: time.Since(start), tokens: tokens.CountText(res.Text()), bytes: len(res.Text()),
		}
		if at := rankOf(res.Answers[0], f.target); at >= 0 {
			one.found = 1
			if at == 0 {
				one.first = 1
			}
		} else if os.Getenv("PLEAT_MISSES") != "" {
			t.Logf("missed %s %q\n   query: %q", f.kind, f.target, f.query)
		}
		one.lines, one.exact = exactLines(t, s, res.Answers[0].Hits)
		one.kinds = map[string]recallScore{f.kind: one}
		score.add(one)
	}
	return score
}

// exactLines counts the lines of hits and how many of them unfolding shows the same.
func exactLines(t *testing.T, s *pleat.Session, hits []recall.SearchHit) (lines, exact int) {
	for _, h := range hits {
		u, err := s.Unfold(t.Context(), recall.UnfoldRequest{Handle: h.Handle})
		must(t, err)
		all := strings.Split(u.Content(), "\n")
		for _, l := range h.Shown {
			lines++
			if rest := all[l.Number-1][l.Column-1:]; strings.HasPrefix(rest, l.Text) &&
				(l.Size > len(l.Text) || rest == l.Text) {
				exact++
			}
		}
	}
	return lines, exact
}

// rankOf is the first hit that shows the target, negative if none does.
func rankOf(a recall.SearchAnswer, target string) int {
	return slices.IndexFunc(a.Hits, func(h recall.SearchHit) bool {
		return slices.ContainsFunc(h.Shown, func(l recall.Line) bool { return strings.Contains(l.Text, target) })
	})
}

// corpusFiles lists the session files below a folder.
func corpusFiles(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".json")) {
			files = append(files, name)
		}
		return err
	})
	must(t, err)
	return files
}

// cutSession reads a session and cuts it. Files that are no long session have no messages.
func cutSession(t *testing.T, file string) (msgs []transcript.Message, cut int) {
	t.Helper()
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	log, err := sessionlog.Open(f, nil)
	if errors.Is(err, sessionlog.ErrFormat) {
		return nil, 0
	}
	must(t, err)
	var sizes []int
	total := 0
	for rec, err := range log.Records() {
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		msgs = append(msgs, rec.Message)
		size := 0
		for _, b := range rec.Message.Blocks().All() {
			size += len(blockText(b))
		}
		sizes = append(sizes, size)
		total += size
	}
	if total < 100_000 {
		return nil, 0
	}
	from, to := longestStretch(len(msgs), sizes, log.Info().Compactions)
	sum := 0
	for _, n := range sizes[from:to] {
		sum += n
	}
	cut = from
	for part := 0; cut < to && part < sum*7/10; cut++ {
		part += sizes[cut]
	}
	return msgs[:to], cut
}

// longestStretch finds the messages with the most text between two compactions.
func longestStretch(n int, sizes []int, compactions []sessionlog.Compaction) (from, to int) {
	best, at := -1, 0
	for i := range len(compactions) + 1 {
		end := n
		if i < len(compactions) {
			end = min(compactions[i].At, n)
		}
		sum := 0
		for k := at; k < end; k++ {
			sum += sizes[k]
		}
		if sum > best {
			best, from, to = sum, at, end
		}
		at = max(at, end)
	}
	return from, to
}

// mineFacts finds what the agent used after the cut and knew only from before.
func mineFacts(msgs []transcript.Message, cut int) []recallFact {
	known := map[string]string{} // what tools and users said before the cut, with its kind
	for _, m := range msgs[:min(cut, len(msgs))] {
		if m.Role() != transcript.RoleAssistant && m.Origin() != transcript.OriginSummary {
			for _, b := range m.Blocks().All() {
				namesOf(blockText(b), func(tok, kind string) { known[tok] = kind })
			}
		}
	}
	var facts []recallFact
	var said []string // the last sentences before a call
	for _, m := range msgs[min(cut, len(msgs)):] {
		for _, b := range m.Blocks().All() {
			if m.Role() != transcript.RoleAssistant { // told again: no longer only from before
				namesOf(blockText(b), func(tok, _ string) { delete(known, tok) })
				continue
			}
			units := useUnits(b)
			if _, call := b.(transcript.ToolCall); call { // what was said of the call comes before it
				units = append(said, units...)
			} else {
				said = units[max(len(units)-2, 0):len(units):len(units)]
			}
			for i, u := range units {
				namesOf(u, func(tok, kind string) {
					if known[tok] == "" {
						return
					}
					delete(known, tok)
					if q := clue.Query(units, i, tok); q != "" {
						facts = append(facts, recallFact{tok, kind, q})
					}
				})
			}
		}
	}
	return facts
}

// mineChanges finds lines that were written into files, at most 40 of a session.
func mineChanges(msgs []transcript.Message) []recallFact {
	var facts []recallFact
	for _, m := range msgs {
		for _, b := range m.Blocks().All() {
			c, ok := b.(transcript.ToolCall)
			var args map[string]any
			if !ok || json.Unmarshal([]byte(c.Input.String()), &args) != nil {
				continue
			}
			path, lines := writtenLines(args)
			for i, line := range lines {
				line = strings.TrimSpace(line)
				token := ""
				namesOf(line, func(tok, _ string) { token = tok })
				if token == "" || len(line) < 20 || len(line) > 200 ||
					clue.Words(strings.ReplaceAll(line, token, " ")) < 2 {
					continue
				}
				query := clue.Query(append([]string{path}, lines...), i+1, token)
				if query != "" {
					facts = append(facts, recallFact{line, "change", path + " " + query})
				}
				break // one of each call
			}
		}
	}
	var some []recallFact
	for i := 0; i < len(facts); i += 1 + len(facts)/40 {
		some = append(some, facts[i])
	}
	return some
}

// writtenLines are the lines that the arguments of an edit put into a file, without those
// that were there before, and the file's name.
func writtenLines(args map[string]any) (path string, lines []string) {
	text := func(names ...string) string {
		for _, n := range names {
			if s, ok := args[n].(string); ok {
				return s
			}
		}
		return ""
	}
	path = filepath.Base(text("file_path", "filePath", "path"))
	had := map[string]bool{}
	for line := range strings.SplitSeq(text("old_string", "oldString", "oldText", "old_str"), "\n") {
		had[strings.TrimSpace(line)] = true
	}
	added := text("new_string", "newString", "newText", "new_str", "content", "file_text")
	for line := range strings.SplitSeq(added, "\n") {
		if !had[strings.TrimSpace(line)] {
			lines = append(lines, line)
		}
	}
	for line := range strings.SplitSeq(text("input", "patch", "patchText"), "\n") {
		if name, ok := strings.CutPrefix(line, "*** Update File: "); ok {
			path = filepath.Base(name)
		} else if added, ok := strings.CutPrefix(line, "+"); ok {
			lines = append(lines, added)
		}
	}
	return path, lines
}

var (
	factToken = regexp.MustCompile(`[A-Za-z0-9_.-]*[A-Za-z0-9_]`)
	fileToken = regexp.MustCompile(
		`^[A-Za-z0-9_.-]+\.(go|md|ts|tsx|js|json|jsonl|py|rs|toml|ya?ml|sh|sql|txt|html|css|mod|sum|lock)$`,
	)
	shaToken = regexp.MustCompile(`^[0-9a-f]{7,40}$`)
	camel    = regexp.MustCompile(`[a-z0-9][A-Z]`)
)

// namesOf yields the exact strings in a text that can be facts.
func namesOf(text string, yield func(tok, kind string)) {
	for _, tok := range factToken.FindAllString(text, -1) {
		tok = strings.TrimLeft(tok, ".-")
		digits := strings.Trim(tok, "0123456789") == ""
		switch {
		case fileToken.MatchString(tok):
			yield(tok, "file")
		case digits:
			if len(tok) >= 4 && len(tok) <= 12 && !strings.HasSuffix(tok, "00") && !(len(tok) == 4 && tok[:2] == "20") {
				yield(tok, "number")
			}
		case shaToken.MatchString(tok) && strings.ContainsAny(tok, "0123456789") && strings.ContainsAny(tok, "abcdef"):
			yield(tok, "digest")
		default:
			for name := range strings.FieldsFuncSeq(tok, func(r rune) bool { return r == '.' || r == '-' }) {
				if len(name) >= 6 && (camel.MatchString(name) || strings.Contains(strings.Trim(name, "_"), "_")) {
					yield(name, "name")
				}
			}
		}
	}
}

// useUnits are the sentences of a text, or the lines of a call's arguments: what a use
// is part of.
func useUnits(b transcript.Block) []string {
	switch b := b.(type) {
	case transcript.Text:
		var out []string
		for line := range strings.SplitSeq(b.Text.String(), "\n") {
			for s := range strings.SplitSeq(line, ". ") {
				if strings.TrimSpace(s) != "" {
					out = append(out, s)
				}
			}
		}
		return out
	case transcript.ToolCall:
		var v any
		if json.Unmarshal([]byte(b.Input.String()), &v) != nil {
			v = b.Input.String()
		}
		var out []string
		argumentLines(v, &out)
		return out
	}
	return nil
}

func argumentLines(v any, out *[]string) {
	switch v := v.(type) {
	case string:
		for line := range strings.SplitSeq(v, "\n") {
			if strings.TrimSpace(line) != "" {
				*out = append(*out, line)
			}
		}
	case []any:
		for _, e := range v {
			argumentLines(e, out)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			argumentLines(v[k], out)
		}
	}
}

func blockText(b transcript.Block) string {
	switch b := b.(type) {
	case transcript.Text:
		return b.Text.String()
	case transcript.ToolCall:
		return b.Input.String()
	case transcript.ToolResult:
		return b.Text()
	}
	return ""
}

var must = difftest.Must
