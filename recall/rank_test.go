package recall_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// rankSession has words in prose, reads, changes, commands and receipts.
func rankSession(t *testing.T) *pleat.Session {
	t.Helper()
	s := pleattest.Open(t, store.NewMemory(), &pleat.Options{Tokens: counter})
	err := s.Append(
		t.Context(),
		transcript.User("The retry budget of the uploader is too small. The upload limit must stay."),
		transcript.Assistant(
			transcript.Say("The limit of the quota comes before the limit of the upload."),
			transcript.Call("1", "read_file", `{"path":"src/quota.go"}`),
		),
		transcript.Results(
			transcript.Result("1", "const quotaLimit = 12 // limit, limit, limit\nconst retryBudget = 3\nconst other = 1\n"),
		),
		transcript.Assistant(
			transcript.Call(
				"2",
				"edit_file",
				`{"path":"src/quota.go","old_string":"const retryBudget = 3","new_string":"const retryBudget = 9"}`,
			),
		),
		transcript.Results(transcript.Result("2", "Successfully replaced text in src/quota.go, retryBudget changed")),
		transcript.Assistant(transcript.Call("3", "bash", `{"command":"grep -rn giraffe docs"}`)),
		transcript.Results(transcript.Result("3", "docs/zoo.md:4: the giraffe enclosure\n")),
		transcript.Assistant(transcript.Call("4", "read_file", `{"path":"docs/zoo.md"}`)),
		transcript.Results(transcript.Result("4", "# Zoo\n\n\nthe giraffe enclosure\n\nvisitors are counted\n")),
	)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSearchRanksByStructure(t *testing.T) {
	s := rankSession(t)
	for _, c := range []struct {
		name, query, first string
		line               string // of the first hit, that matches
	}{
		{"a change outranks what it replaced", "retryBudget", "call of edit_file src/quota.go", "+const retryBudget = 9"},
		{"a phrase outranks a repeated word", "upload limit", "user", "The retry budget of the uploader is too small. The upload limit must stay."},
		{"a result outranks its command", "giraffe", "result of bash grep -rn giraffe docs", "docs/zoo.md:4: the giraffe enclosure"},
		{"by a person", "limit by:user", "user", "The retry budget of the uploader is too small. The upload limit must stay."},
		{"in a file", "limit file:quota.go", "result of read_file src/quota.go", "const quotaLimit = 12 // limit, limit, limit"},
		{"of a tool", "giraffe tool:bash", "result of bash grep -rn giraffe docs", "docs/zoo.md:4: the giraffe enclosure"},
		{"after a message", "limit retry after:3", "call of edit_file src/quota.go", "+const retryBudget = 9"},
		{"after a handle", "giraffe after:" + handleOf(t, s, 3), "result of read_file docs/zoo.md", "the giraffe enclosure"},
		{"only a file", "file:docs/zoo.md", "call of read_file docs/zoo.md", "path: docs/zoo.md"},
		{"in quotes", `"giraffe enclosure" visitors`, "result of read_file docs/zoo.md", "the giraffe enclosure"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := searchFor(t, s, c.query)
			hits := res.Answers[0].Hits
			if len(hits) == 0 || hits[0].What != c.first {
				t.Fatalf("want %s first:\n%s", c.first, res.Text())
			}
			found := false
			for _, l := range hits[0].Shown {
				found = found || l.Match && l.Text == c.line
			}
			if !found {
				t.Errorf("no line %q:\n%s", c.line, res.Text())
			}
			if strings.Contains(res.Text(), "Successfully") {
				t.Errorf("a receipt takes room:\n%s", res.Text())
			}
		})
	}
	if res := searchFor(t, s, "xylophone"); len(res.Answers[0].Hits) > 0 {
		t.Errorf("nothing has the word: %s", res.Text())
	}
}

// TestSearchShowsMatchesAlone: without lines around, only lines that match are shown.
func TestSearchShowsMatchesAlone(t *testing.T) {
	s := rankSession(t)
	res, err := s.Search(t.Context(), recall.SearchRequest{Queries: []string{"giraffe"}, Around: -1})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range res.Answers[0].Hits {
		for _, l := range h.Shown {
			if !l.Match {
				t.Errorf("%s: line %d does not match: %q", h.Handle, l.Number, l.Text)
			}
		}
	}
}

// TestSearchCountsSources: places in one source count as one hit, and one strong place gets
// more room than many weak ones.
func TestSearchCountsSources(t *testing.T) {
	s := rankSession(t)
	var long strings.Builder
	for i := range 200 {
		if i%40 == 20 {
			fmt.Fprintf(&long, "%d pelican sighted\n", i)
		}
		fmt.Fprintf(&long, "%d nothing of note\n", i)
	}
	err := s.Append(
		t.Context(),
		transcript.Assistant(transcript.Call("p", "bash", `{"command":"cat birds"}`)),
		transcript.Results(transcript.Result("p", long.String())),
	)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.Search(t.Context(), recall.SearchRequest{Queries: []string{"pelican"}, Hits: 1})
	if err != nil {
		t.Fatal(err)
	}
	if text := res.Text(); strings.Count(text, "pelican sighted") != 5 || !strings.Contains(text, ": 1 hit") {
		t.Errorf("want five places of one source:\n%s", text)
	}
}

func BenchmarkSearchMillion(b *testing.B) {
	s := pleattest.Open(b, store.NewMemory(), &pleat.Options{Tokens: counter})
	pleattest.Read(b, s, 0, 1_000, 4_000)
	query := recall.SearchRequest{Queries: []string{"words in file 731", "line of src file99"}}
	if _, err := s.Search(b.Context(), query); err != nil { // indexes
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Search(b.Context(), query); err != nil {
			b.Fatal(err)
		}
	}
}
