package recall_test

import (
	"encoding/json"
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
		transcript.Assistant(
			transcript.Call("s1", "search", `{"queries":["upload size limit"]}`),
		),
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
		transcript.Assistant(
			transcript.Call("g", "search", `{"pattern":"limit"}`),
		),
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
