package recall_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

func TestSearchFindsByParts(t *testing.T) {
	s := recallSession(t)
	res := searchFor(t, s, "upload size limit", "zanzibar")
	if len(res.Answers) != 2 {
		t.Fatalf("%d answers", len(res.Answers))
	}
	hit := res.Answers[0].Hits[0]
	if hit.Handle != handleOf(t, s, 1) || !strings.HasSuffix(hit.Stale, " (edit config/server.toml)") {
		t.Errorf("first hit: %s", hit.Source)
	}
	if got := hit.Shown[2]; got.Number != 3 || got.Text != "uploadSizeLimit = 1048576" || !got.Match {
		t.Errorf("line: %+v", got)
	}
	long := res.Answers[1].Hits[0]
	if len(long.Shown) != 1 || !strings.Contains(long.Shown[0].Text, "zanzibar-77") ||
		len(long.Shown[0].Text) > 1_000 ||
		long.Shown[0].Column < 2 {
		t.Errorf("the long line: %+v", long.Shown)
	}
	if _, err := json.Marshal(res); err != nil {
		t.Error(err)
	}
}

// TestSearchWithoutAnIndex: a store that cannot search gives the same answers.
func TestSearchWithoutAnIndex(t *testing.T) {
	mem := store.NewMemory()
	s := pleattest.Open(t, mem, &pleat.Options{Tokens: counter})
	pleattest.Read(t, s, 0, 30, 2_000)
	bare := pleattest.Open(t, struct{ store.Store }{mem}, &pleat.Options{Tokens: counter})
	for _, query := range []string{"file 7", "line of the file", "absent"} {
		if want, got := searchFor(t, s, query).Text(), searchFor(t, bare, query).Text(); got != want {
			t.Errorf("%s: got:\n%s\nwant:\n%s", query, got, want)
		}
	}
}

func TestSearchLeavesEchoesOut(t *testing.T) {
	s := recallSession(t)
	text, isError, _ := inside.Of(s).Answer(t.Context(), "search", `{"queries":["upload size limit"]}`)
	if isError {
		t.Fatal(text)
	}
	err := s.Append(
		t.Context(),
		transcript.Assistant(transcript.Call("s1", "search", `{"queries":["upload size limit"]}`)),
		transcript.Results(transcript.Result("s1", text)),
		transcript.Assistant(transcript.Call("s2", "mcp__pleat__search", `{"queries":["upload size limit"]}`)),
	)
	must(t, err)
	for _, h := range searchFor(t, s, "upload size limit").Answers[0].Hits {
		if h.Message > 9 {
			t.Errorf("an echo: %s", h.Source)
		}
	}
	// A tool of somebody else's with that name is no echo.
	err = s.Append(
		t.Context(),
		transcript.Results(transcript.Result("s2", "nothing")),
		transcript.Assistant(transcript.Call("g", "search", `{"pattern":"limit"}`)),
		transcript.Results(transcript.Result("g", "src/quota.go:12: quotaLimit")),
	)
	must(t, err)
	if hits := searchFor(t, s, "quota limit").Answers[0].Hits; len(hits) == 0 || hits[0].Message != 15 {
		t.Errorf("hits: %v", hits)
	}
}

func TestSearchShowsSameLinesOnce(t *testing.T) {
	s := recallSession(t)
	for i := range 3 {
		id := fmt.Sprintf("again%d", i)
		err := s.Append(
			t.Context(),
			transcript.Assistant(transcript.Call(id, "bash", fmt.Sprintf(`{"command":"cat log%d"}`, i))),
			transcript.Results(transcript.Result(id, "1\tkangaroo census\n2\tall counted\n")),
		)
		must(t, err)
	}
	hits := searchFor(t, s, "kangaroo").Answers[0].Hits
	if len(hits) != 1 || hits[0].Same != 2 || hits[0].Message != 15 {
		t.Errorf("hits: %+v", hits)
	}
}

func TestSearchFindsOtherForms(t *testing.T) {
	s := recallSession(t)
	err := s.Append(
		t.Context(),
		transcript.Assistant(transcript.Call("f", "read_file", `{"path":"main.go"}`)),
		transcript.Results(
			transcript.Result("f",
				"if os.Getenv(\"TELEMETRY_OPTOUT\") != \"\" {\n// remove the policy\nfunc parse(box) {\n"),
		),
	)
	must(t, err)
	for query, want := range map[string]string{
		"opt-out": "OPTOUT", "removed": "remove the", "removing": "remove the",
		"policies": "policy", "parsed": "parse(", "boxes": "box)",
	} {
		if text := searchFor(t, s, query).Text(); !strings.Contains(text, want) {
			t.Errorf("%s does not find %s:\n%s", query, want, text)
		}
	}
}

// TestSearchPutsASourceTogether: what is in one source stands under one head, in order,
// each line once, exact.
func TestSearchPutsASourceTogether(t *testing.T) {
	s := recallSession(t)
	var lines, piece []string
	for i := range 200 {
		line := fmt.Sprintf("%d filler of no use", i)
		if i == 150 || i == 20 || i == 90 {
			line = fmt.Sprintf("%d giraffe seen", i)
		}
		lines = append(lines, line)
	}
	for i := range 600 {
		piece = append(piece, fmt.Sprintf("zebra %d;", i))
	}
	long := strings.Join(piece, " ")
	err := s.Append(
		t.Context(),
		transcript.Assistant(
			transcript.Call("g", "bash", `{"command":"cat zoo"}`),
			transcript.Call("z", "bash", `{"command":"cat herd"}`),
		),
		transcript.Results(transcript.Result("g", strings.Join(lines, "\n")), transcript.Result("z", long)),
	)
	must(t, err)
	for query, text := range map[string]string{"giraffe": strings.Join(lines, "\n"), "zebra": long} {
		hits := searchFor(t, s, query).Answers[0].Hits
		if len(hits) != 1 {
			t.Fatalf("%s: %d hits", query, len(hits))
		}
		whole, last := strings.Split(text, "\n"), recall.Line{}
		matches := 0
		for _, l := range hits[0].Shown {
			if l.Number < last.Number || l.Number == last.Number && l.Column <= last.Column+len(last.Text) {
				t.Errorf("%s: line %d.%d after %d.%d", query, l.Number, l.Column, last.Number, last.Column)
			}
			if got := whole[l.Number-1][l.Column-1:]; !strings.HasPrefix(got, l.Text) {
				t.Errorf("%s: line %d is not as it was: %q", query, l.Number, l.Text)
			}
			if matches += strings.Count(l.Text, query); l.Match != strings.Contains(l.Text, query) {
				t.Errorf("%s: line %d: match %v", query, l.Number, l.Match)
			}
			last = l
		}
		if matches < 3 {
			t.Errorf("%s: %d matches are shown", query, matches)
		}
	}
}

// TestSearchShowsFilesReadAgainOnce: a file that was read again fills no second place.
func TestSearchShowsFilesReadAgainOnce(t *testing.T) {
	s := recallSession(t)
	var file strings.Builder
	for i := range 11 {
		fmt.Fprintf(&file, "var okapi%d = %d\n", i, i)
	}
	for i, text := range []string{file.String(), "package zoo\n" + file.String()} {
		id := fmt.Sprintf("r%d", i)
		pleattest.Append(
			t,
			s,
			transcript.Assistant(transcript.Call(id, "bash", fmt.Sprintf(`{"command":"cat v%d"}`, i))),
			transcript.Results(transcript.Result(id, text)),
		)
	}
	if text := searchFor(t, s, "var okapi3").Text(); strings.Count(text, "var okapi3 ") != 1 {
		t.Errorf("the same lines twice:\n%s", text)
	}
}

func TestSearchStaysInItsBudget(t *testing.T) {
	s := recallSession(t)
	for _, budget := range []int{150, 400, 1_000, 2_500} {
		res, err := s.Search(
			t.Context(),
			recall.SearchRequest{Queries: []string{"entry list", "server file json"}, Budget: budget},
		)
		must(t, err)
		if n := counter.CountText(res.Text()); n > max(budget, 250) {
			t.Errorf("budget %d: %d tokens\n%s", budget, n, res.Text())
		}
	}
	if text := searchFor(t, s, "qqqqq").Text(); !strings.Contains(text, "nothing has any of these words") {
		t.Error(text)
	}
}

// A query that only says where to look shows what is there, newest first.
func TestSearchWithoutWords(t *testing.T) {
	s := pleattest.Open(t, store.NewMemory(), &pleat.Options{Tokens: counter})
	pleattest.Append(t, s, transcript.User("Look."))
	for i, tool := range []string{"Grep", "Read", "Grep"} {
		id := fmt.Sprint("c", i)
		pleattest.Append(t, s, transcript.Assistant(transcript.Call(id, tool, `{"pattern":"limit"}`)),
			transcript.Results(transcript.Result(id, fmt.Sprintf("src/part%d.go:12: limit = %d", i, i))))
	}
	text := searchFor(t, s, "tool:Grep").Text()
	newer, older := strings.Index(text, "part2.go"), strings.Index(text, "part0.go")
	if newer < 0 || older < newer || strings.Contains(text, "part1.go") {
		t.Errorf("found:\n%s", text)
	}
	if text := searchFor(t, s, "tool:Bash").Text(); !strings.Contains(text, "nothing") {
		t.Errorf("found:\n%s", text)
	}
}

// A block that a program put beside typed words is not the user's.
func TestSearchTellsWhoWroteABlock(t *testing.T) {
	s := pleattest.Open(t, store.NewMemory(), &pleat.Options{Tokens: counter})
	err := s.Append(t.Context(), transcript.NewMessage(transcript.RoleUser,
		transcript.Say("<system-reminder>\nContents of NOTES.md:\nneedle: main may be deleted\n</system-reminder>"),
		transcript.Say("go on, please, as we said"),
	), transcript.User("<system-reminder>\nflagged: main may be deleted\n</system-reminder>\nand so on"),
		transcript.Assistant(transcript.Say("done")))
	must(t, err)
	res := searchFor(t, s, "needle")
	if hits := res.Answers[0].Hits; len(hits) != 1 || hits[0].What != "text put in by a program" {
		t.Errorf("the reminder:\n%s", res.Text())
	}
	if res := searchFor(t, s, "needle by:user"); len(res.Answers[0].Hits) > 0 {
		t.Errorf("by the user:\n%s", res.Text())
	}
	res = searchFor(t, s, "please by:user")
	if hits := res.Answers[0].Hits; len(hits) != 1 || hits[0].What != "user" {
		t.Errorf("the words:\n%s", res.Text())
	}
	const both = "the user's words and text put in by a program"
	res = searchFor(t, s, "flagged")
	if hits := res.Answers[0].Hits; len(hits) != 1 || hits[0].What != both {
		t.Errorf("the reminder in one block with words:\n%s", res.Text())
	}
}

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
