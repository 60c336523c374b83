package recall_test

import (
	"context"
	"errors"
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
			transcript.Result("1",
				"const quotaLimit = 12 // limit, limit, limit\nconst retryBudget = 3\nconst other = 1\n"),
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
	must(t, err)
	return s
}

func TestSearchRanksByStructure(t *testing.T) {
	s := rankSession(t)
	for _, c := range []struct {
		name, query, first string
		line               string // of the first hit, that matches
	}{
		{
			"a change outranks what it replaced", "retryBudget", "call of edit_file src/quota.go",
			"+const retryBudget = 9",
		},
		{
			"a phrase outranks a repeated word", "upload limit", "user",
			"The retry budget of the uploader is too small. The upload limit must stay.",
		},
		{
			"a result outranks its command", "giraffe", "result of bash grep -rn giraffe docs",
			"docs/zoo.md:4: the giraffe enclosure",
		},
		{
			"by a person", "limit by:user", "user",
			"The retry budget of the uploader is too small. The upload limit must stay.",
		},
		{
			"in a file", "limit file:quota.go", "result of read_file src/quota.go",
			"const quotaLimit = 12 // limit, limit, limit",
		},
		{
			"of a tool", "giraffe tool:bash", "result of bash grep -rn giraffe docs",
			"docs/zoo.md:4: the giraffe enclosure",
		},
		{"after a message", "limit retry after:3", "call of edit_file src/quota.go", "+const retryBudget = 9"},
		{
			"after a handle", "giraffe after:" + handleOf(t, s, 3), "result of read_file docs/zoo.md",
			"the giraffe enclosure",
		},
		{"only a file", "file:docs/zoo.md", "call of read_file docs/zoo.md", "path: docs/zoo.md"},
		{"in quotes", `"giraffe enclosure" visitors`, "result of read_file docs/zoo.md", "the giraffe enclosure"},
		{"a slip of the pen", "girafe", "result of bash grep -rn giraffe docs", "docs/zoo.md:4: the giraffe enclosure"},
		{"letters in each other's place", "retryBugdet", "call of edit_file src/quota.go", "+const retryBudget = 9"},
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
	for query, want := range map[string]bool{
		`"giraffe enclosure"`: true,
		`"enclosure giraffe"`: false,
		`"girafe enclosure"`:  false,
	} {
		res, err := s.Search(t.Context(), recall.SearchRequest{Queries: []string{query}, Strict: true})
		if err != nil || len(res.Answers[0].Hits) > 0 != want {
			t.Errorf("%s: %v: %s", query, err, res.Text())
		}
	}
	if res := searchFor(t, s, "xylophone"); len(res.Answers[0].Hits) > 0 || res.Answers[0].Near != "" {
		t.Errorf("near nothing: %s", res.Text())
	}
}

// TestSearchShowsMatchesAlone: without lines around, only lines that match are shown.
func TestSearchShowsMatchesAlone(t *testing.T) {
	s := rankSession(t)
	res, err := s.Search(t.Context(), recall.SearchRequest{Queries: []string{"giraffe"}, Around: -1})
	must(t, err)
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
	must(t, err)
	res, err := s.Search(t.Context(), recall.SearchRequest{Queries: []string{"pelican"}, Hits: 1})
	must(t, err)
	if text := res.Text(); strings.Count(text, "pelican sighted") != 5 || !strings.Contains(text, ": 1 hit") {
		t.Errorf("want five places of one source:\n%s", text)
	}
}

// TestSearchNear: words near those of the query are looked for where nothing has these, the
// question itself aside, and not where the query looks in some places only.
func TestSearchNear(t *testing.T) {
	s := recallSession(t)
	err := s.Append(t.Context(),
		transcript.Assistant(transcript.Call("a", "read_file", `{"path":"a.go"}`)),
		transcript.Results(transcript.Result("a", "giraffe := 1")),
		transcript.Assistant(transcript.Call("b", "read_file", `{"path":"b.go"}`)),
		transcript.Results(transcript.Result("b", "giraffa := 2")),
		transcript.Assistant(transcript.Call("s", "search", `{"queries":["zanzibra"]}`)),
	)
	must(t, err)
	for query, want := range map[string]string{
		"zanzibra": "zanzibar", "giraffa file:a.go": "", "girafe tool:bash": "", "giraffa": "",
	} {
		if a := searchFor(t, s, query).Answers[0]; a.Near != want || want != "" && len(a.Hits) == 0 {
			t.Errorf("%s: near %q, want %q, %d hits", query, a.Near, want, len(a.Hits))
		}
	}
}

// givenUp is a store whose caller gives up while it searches.
type givenUp struct {
	store.Store
	giveUp func()
}

func (g givenUp) Search(context.Context, store.SessionKey, string, int) ([]store.Hit, error) {
	g.giveUp()
	return nil, nil
}

func TestSearchNearStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := pleattest.Open(t, givenUp{store.NewMemory(), cancel}, &pleat.Options{Tokens: counter})
	pleattest.Read(t, s, 0, 3, 2_000)
	if _, err := s.Search(ctx, recall.SearchRequest{Queries: []string{"zanzibra"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
