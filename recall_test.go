package pleat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/diff"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// recallSession is a small session with something of each kind in it.
func recallSession(t testing.TB) *pleat.Session {
	t.Helper()
	s, err := pleat.OpenSession(t.Context(), store.NewMemory(), store.SessionKey{Session: "recall"}, &pleat.Options{Tokens: counter})
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for i := range 400 {
		fmt.Fprintf(&list, "entry %d of the list\n", i+1)
	}
	err = s.Append(t.Context(),
		transcript.User("Set the upload limit. Never touch legacy/."),
		transcript.Assistant(transcript.Say("I read the settings."), transcript.Call("1", "read_file", `{"path":"config/server.toml"}`)),
		transcript.Results(transcript.Result("1", "[server]\nport = 8081\nuploadSizeLimit = 1048576\nworkers = 4\n")),
		transcript.Assistant(transcript.Call("2", "bash", `{"command":"cat list.txt"}`)),
		transcript.Results(transcript.Result("2", list.String())),
		transcript.Assistant(transcript.Call("3", "fetch", `{"url":"https://example.org/data.json"}`)),
		transcript.Results(transcript.Result("3", `{"junk":"`+strings.Repeat("lorem ipsum ", 400)+`","needle":"zanzibar-77","more":"`+strings.Repeat("dolor sit ", 400)+`"}`)),
		transcript.Assistant(transcript.Call("4", "edit_file", `{"path":"config/server.toml","old_string":"1048576","new_string":"2097152"}`)),
		transcript.Results(transcript.Result("4", "The file config/server.toml has been updated.")),
	)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func handleOf(t testing.TB, s *pleat.Session, call int) string {
	t.Helper()
	for _, e := range s.Ledger(ledger.Filter{From: call, To: call}) {
		return e.Handle
	}
	t.Fatalf("no call %d", call)
	return ""
}

func unfold(t testing.TB, s *pleat.Session, r recall.UnfoldRequest) recall.Unfolded {
	t.Helper()
	u, err := s.Unfold(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestUnfoldParts(t *testing.T) {
	s := recallSession(t)
	settings, list := handleOf(t, s, 1), handleOf(t, s, 2)
	for _, c := range []struct {
		name string
		r    recall.UnfoldRequest
		want string
	}{
		{"whole", recall.UnfoldRequest{Handle: settings}, "[server]\nport = 8081\nuploadSizeLimit = 1048576\nworkers = 4\n"},
		{"handle as models write it", recall.UnfoldRequest{Handle: ` "` + strings.ToUpper(settings) + `" `}, "[server]\nport = 8081\nuploadSizeLimit = 1048576\nworkers = 4\n"},
		{"lines", recall.UnfoldRequest{Handle: settings, From: 2, To: 3}, "port = 8081\nuploadSizeLimit = 1048576\n"},
		{"to the end", recall.UnfoldRequest{Handle: list, From: 400}, "entry 400 of the list\n"},
		{"column", recall.UnfoldRequest{Handle: settings, From: 3, To: 3, Column: 19}, "1048576\n"},
		{"bytes", recall.UnfoldRequest{Handle: settings, Offset: 9, Length: 4}, "port"},
		{"bytes over a line feed", recall.UnfoldRequest{Handle: settings, Offset: 7, Length: 4}, "]\npo"},
		{"only a line feed", recall.UnfoldRequest{Handle: settings, Offset: 8, Length: 1}, "\n"},
		{"pattern", recall.UnfoldRequest{Handle: list, Pattern: `entry 7\d of`, Around: -1, To: 71}, "entry 70 of the list\nentry 71 of the list\n"},
		{"pattern with lines around", recall.UnfoldRequest{Handle: list, Pattern: `entry 5 `, Around: 1}, "entry 4 of the list\nentry 5 of the list\nentry 6 of the list\n"},
		{"a result by the number of its call", recall.UnfoldRequest{Handle: "#1", To: 1}, "[server]\n"},
		{"a change by the number of its call", recall.UnfoldRequest{Handle: " #4]", Pattern: "^[-+]", Around: -1}, "-1048576\n+2097152"},
		{"nothing matches", recall.UnfoldRequest{Handle: list, Pattern: `absent`}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := diff.Values(c.want, unfold(t, s, c.r).Content()); d != "" {
				t.Errorf("content (-want +got):\n%s", d)
			}
		})
	}
}

func TestUnfoldSaysWhatItIs(t *testing.T) {
	s := recallSession(t)
	u := unfold(t, s, recall.UnfoldRequest{Handle: handleOf(t, s, 1)})
	if got, want := u.What, "result of read_file config/server.toml"; got != want {
		t.Errorf("what: %q, want %q", got, want)
	}
	if u.Message != 3 || u.Turn != 1 || u.Call != 1 || u.Lines != 4 {
		t.Errorf("message %d, turn %d, call %d, %d lines", u.Message, u.Turn, u.Call, u.Lines)
	}
	if by := unfold(t, s, recall.UnfoldRequest{Handle: strings.Fields(u.Stale)[2]}); by.What != "call of edit_file config/server.toml" {
		t.Errorf("stale: %q is by %s", u.Stale, by.Source)
	}
	if text := u.Text(); !strings.Contains(text, "3\tuploadSizeLimit = 1048576\n") || strings.Contains(text, "more:") {
		t.Errorf("text:\n%s", text)
	}
}

// nextCall reads the call that a page ends with, as a model would.
var nextCall = regexp.MustCompile(`more: unfold\("(\w+)", (lines|bytes)="([^"]*)"(?:, column=(\d+))?\)\]`)

// TestUnfoldPages follows the pages of texts to their end: every byte is shown exactly
// once, and no page is over its budget.
func TestUnfoldPages(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	r := rand.New(rand.NewPCG(1, 2))
	texts := []string{"", "\n", "\n\n\n", "no line feed", strings.Repeat("x", 50_000), strings.Repeat("äöü€", 9_000) + "\nshort\n"}
	for range 20 {
		var b strings.Builder
		for range r.IntN(300) {
			b.WriteString(strings.Repeat("word € ", r.IntN(1+r.IntN(400))))
			b.WriteByte('\n')
		}
		texts = append(texts, b.String())
	}
	for i, text := range texts {
		s, err := pleat.OpenSession(t.Context(), store.NewMemory(), store.SessionKey{Session: "pages"}, &pleat.Options{Tokens: counter})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Append(t.Context(), transcript.Assistant(transcript.Call("1", "bash", `{"command":"x"}`)), transcript.Results(transcript.Result("1", text))); err != nil {
			t.Fatal(err)
		}
		for _, input := range []string{`{"handle":"%s"}`, `{"handle":"%s","bytes":"1-"}`} {
			handle := handleOf(t, s, 1)
			if handle == "" {
				continue
			}
			got, pages := "", 0
			req := recall.UnfoldRequest{Handle: handle, Budget: 500}
			want := text
			if strings.Contains(input, "bytes") {
				if len(text) < 2 {
					continue
				}
				req.Offset, want = 1, text[1:]
			}
			for {
				u := unfold(t, s, req)
				got += u.Content()
				if n := counter.CountText(u.Text()); n > 560 {
					t.Fatalf("text %d: a page has %d tokens", i, n)
				}
				if pages++; u.More == "" {
					break
				}
				m := nextCall.FindStringSubmatch(u.Text())
				if m == nil {
					t.Fatalf("text %d: %q is no call", i, u.More)
				}
				req = recall.UnfoldRequest{Handle: m[1], Budget: 500}
				if m[2] == "bytes" {
					fmt.Sscanf(m[3], "%d-", &req.Offset)
				} else {
					fmt.Sscanf(m[3], "%d-", &req.From)
					fmt.Sscanf(m[4], "%d", &req.Column)
				}
				if pages > 2_000 {
					t.Fatal("the pages have no end")
				}
			}
			if got != want {
				t.Errorf("text %d: the %d pages have %d bytes, want %d", i, pages, len(got), len(want))
			}
		}
	}
}

func TestUnfoldUnknownHandle(t *testing.T) {
	s := recallSession(t)
	h := handleOf(t, s, 1)
	wrong := "9" + h[1:]
	if h[0] == '9' {
		wrong = "8" + h[1:]
	}
	_, err := s.Unfold(t.Context(), recall.UnfoldRequest{Handle: wrong})
	if !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), h) {
		t.Errorf("got %v, want ErrNotFound that names %s", err, h)
	}
	_, err = s.Unfold(t.Context(), recall.UnfoldRequest{Handle: "#90"})
	if !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), "there is no call #90") {
		t.Errorf("got %v", err)
	}
	_, err = s.Unfold(t.Context(), recall.UnfoldRequest{Handle: "nonsense"})
	if !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), "only in the session that made them") {
		t.Errorf("got %v", err)
	}
}

func TestUnfoldRaw(t *testing.T) {
	s := recallSession(t)
	if u := unfold(t, s, recall.UnfoldRequest{Handle: handleOf(t, s, 1), Raw: true}); !strings.HasPrefix(u.Whole(), `{"kind":"tool_result","id":"1"`) {
		t.Errorf("a block without a wire form is not in the neutral one: %s", u.Whole())
	}
	raw := `{"type":"tool_result","tool_use_id":"9","content":"exact \u00e9"}`
	res := transcript.Result("9", "exact é")
	res.Raw = raw
	err := s.Append(t.Context(), transcript.Assistant(transcript.Call("9", "bash", `{"command":"y"}`)), transcript.Results(res))
	if err != nil {
		t.Fatal(err)
	}
	u := unfold(t, s, recall.UnfoldRequest{Handle: handleOf(t, s, 5), Raw: true})
	if u.Whole() != raw || u.Hash != transcript.HashOf(raw) {
		t.Errorf("raw: %s", u.Whole())
	}
}

func searchFor(t testing.TB, s *pleat.Session, queries ...string) recall.SearchResult {
	t.Helper()
	res, err := s.Search(t.Context(), recall.SearchRequest{Queries: queries})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

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
	if len(long.Shown) != 1 || !strings.Contains(long.Shown[0].Text, "zanzibar-77") || len(long.Shown[0].Text) > 1_000 || long.Shown[0].Column < 2 {
		t.Errorf("the long line: %+v", long.Shown)
	}
	if _, err := json.Marshal(res); err != nil {
		t.Error(err)
	}
}

// TestSearchWithoutAnIndex: a store that cannot search gives the same answers.
func TestSearchWithoutAnIndex(t *testing.T) {
	mem := store.NewMemory()
	s := open(t, mem, &pleat.Options{Tokens: counter})
	work(t, s, 0, 30, 2_000)
	bare := open(t, struct{ store.Store }{mem}, &pleat.Options{Tokens: counter})
	for _, query := range []string{"file 7", "line of the file", "absent"} {
		if want, got := searchFor(t, s, query).Text(), searchFor(t, bare, query).Text(); got != want {
			t.Errorf("%s: got:\n%s\nwant:\n%s", query, got, want)
		}
	}
}

func TestSearchLeavesEchoesOut(t *testing.T) {
	s := recallSession(t)
	text, isError, _ := s.Recall(t.Context(), "search", `{"queries":["upload size limit"]}`)
	if isError {
		t.Fatal(text)
	}
	err := s.Append(t.Context(),
		transcript.Assistant(transcript.Call("s1", "search", `{"queries":["upload size limit"]}`)), transcript.Results(transcript.Result("s1", text)),
		transcript.Assistant(transcript.Call("s2", "mcp__pleat__search", `{"queries":["upload size limit"]}`)),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range searchFor(t, s, "upload size limit").Answers[0].Hits {
		if h.Message > 9 {
			t.Errorf("an echo: %s", h.Source)
		}
	}
	// A tool of somebody else's with that name is no echo.
	err = s.Append(t.Context(), transcript.Results(transcript.Result("s2", "nothing")),
		transcript.Assistant(transcript.Call("g", "search", `{"pattern":"limit"}`)), transcript.Results(transcript.Result("g", "src/quota.go:12: quotaLimit")))
	if err != nil {
		t.Fatal(err)
	}
	if hits := searchFor(t, s, "quota limit").Answers[0].Hits; len(hits) == 0 || hits[0].Message != 15 {
		t.Errorf("hits: %v", hits)
	}
}

func TestSearchShowsSameLinesOnce(t *testing.T) {
	s := recallSession(t)
	for i := range 3 {
		id := fmt.Sprintf("again%d", i)
		err := s.Append(t.Context(), transcript.Assistant(transcript.Call(id, "bash", fmt.Sprintf(`{"command":"cat log%d"}`, i))),
			transcript.Results(transcript.Result(id, "1\tkangaroo census\n2\tall counted\n")))
		if err != nil {
			t.Fatal(err)
		}
	}
	hits := searchFor(t, s, "kangaroo").Answers[0].Hits
	if len(hits) != 1 || hits[0].Same != 2 || hits[0].Message != 15 {
		t.Errorf("hits: %+v", hits)
	}
}

func TestSearchFindsOtherForms(t *testing.T) {
	s := recallSession(t)
	err := s.Append(t.Context(), transcript.Assistant(transcript.Call("f", "read_file", `{"path":"main.go"}`)),
		transcript.Results(transcript.Result("f", "if os.Getenv(\"TELEMETRY_OPTOUT\") != \"\" {\n// remove the policy\nfunc parse(box) {\n")))
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"opt-out": "OPTOUT", "removed": "remove the", "removing": "remove the", "policies": "policy", "parsed": "parse(", "boxes": "box)",
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
	err := s.Append(t.Context(), transcript.Assistant(transcript.Call("g", "bash", `{"command":"cat zoo"}`), transcript.Call("z", "bash", `{"command":"cat herd"}`)),
		transcript.Results(transcript.Result("g", strings.Join(lines, "\n")), transcript.Result("z", long)))
	if err != nil {
		t.Fatal(err)
	}
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
		if err := s.Append(t.Context(), transcript.Assistant(transcript.Call(id, "bash", fmt.Sprintf(`{"command":"cat v%d"}`, i))), transcript.Results(transcript.Result(id, text))); err != nil {
			t.Fatal(err)
		}
	}
	if text := searchFor(t, s, "var okapi3").Text(); strings.Count(text, "var okapi3 ") != 1 {
		t.Errorf("the same lines twice:\n%s", text)
	}
}

func TestSearchStaysInItsBudget(t *testing.T) {
	s := recallSession(t)
	for _, budget := range []int{150, 400, 1_000, 2_500} {
		res, err := s.Search(t.Context(), recall.SearchRequest{Queries: []string{"entry list", "server file json"}, Budget: budget})
		if err != nil {
			t.Fatal(err)
		}
		if n := counter.CountText(res.Text()); n > max(budget, 250) {
			t.Errorf("budget %d: %d tokens\n%s", budget, n, res.Text())
		}
	}
	if text := searchFor(t, s, "qqqqq").Text(); !strings.Contains(text, "nothing has any of these words") {
		t.Error(text)
	}
}

func TestRecallTakesSloppyArguments(t *testing.T) {
	s := recallSession(t)
	h := handleOf(t, s, 2)
	for _, c := range []struct{ tool, input, want string }{
		{"unfold", `{"handle":"` + h + `","lines":"7"}`, "7\tentry 7 of the list\n"},
		{"unfold", `{"handle":"` + h + `","lines":7}`, "7\tentry 7 of the list\n"},
		{"unfold", `{"handle":"` + h + `","lines":[7,8]}`, "8\tentry 8 of the list\n"},
		{"unfold", `{"handle":"` + h + `","lines":"L7:L8"}`, "8\tentry 8 of the list\n"},
		{"unfold", `{"handle":"` + h + `","pattern":"entry 39\\d","raw":null}`, "10 lines match"},
		{"unfold", `"` + h + `"`, "1\tentry 1 of the list\n"},
		{"unfold", h, "1\tentry 1 of the list\n"},
		{"search", `{"queries":"upload limit"}`, "uploadSizeLimit"},
		{"search", `{"query":"upload limit","hits":"1"}`, ": 1 hit, best first"},
		{"search", `{"queries":"[\"zanzibar\",\"workers\"]"}`, "zanzibar-77"},
		{"search", `["upload limit"]`, "uploadSizeLimit"},
		{"ledger", ``, "4 tool calls"},
		{"ledger", `{"kind":"edit","effects":"true"}`, "#4 edit config/server.toml"},
		{"ledger", `{"path":"config/server.toml","outcome":["ok"]}`, "#1 read"},
		{"ledger", `{"text":"absent"}`, "no such call among 4"},
		{"note", `{"key":"plan","text":"measure first"}`, "plan: measure first"},
		{"pin", `{"text":"Never touch legacy/."}`, "kept"},
		{"compact", `{"focus":"upload"}`, "compact"},
	} {
		text, isError, handled := s.Recall(t.Context(), c.tool, c.input)
		if isError || !handled || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: error %v, handled %v:\n%s", c.tool, c.input, isError, handled, text)
		}
	}
	for _, c := range []struct{ tool, input, want string }{
		{"unfold", `{}`, "a handle is needed"},
		{"unfold", `{"handle":"` + h + `","lines":"x"}`, "is no range"},
		{"unfold", `{"handle":"` + h + `","lines":"900-"}`, "it has 400 lines"},
		{"unfold", `{"handle":"` + h + `","pattern":"("}`, "pattern"},
		{"search", `{}`, "queries are needed"},
		{"ledger", `{"kind":"magic"}`, "want one of"},
		{"pin", `{"text":"unknown","remove":true}`, "not found"},
	} {
		text, isError, handled := s.Recall(t.Context(), c.tool, c.input)
		if !isError || !handled || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: error %v, handled %v:\n%s", c.tool, c.input, isError, handled, text)
		}
	}
	if _, _, handled := s.Recall(t.Context(), "bash", `{}`); handled {
		t.Error("bash is no recall tool")
	}
}

func TestLedgerTextPages(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Tokens: counter})
	work(t, s, 0, 120, 400)
	seen, to := 0, 0
	for range 50 {
		text := s.LedgerText(ledger.Filter{To: to}, 600)
		if n := counter.CountText(text); n > 650 {
			t.Fatalf("%d tokens", n)
		}
		seen += strings.Count(text, "\n#")
		m := regexp.MustCompile(`before these: ledger\(to=(\d+)\)`).FindStringSubmatch(text)
		if m == nil {
			break
		}
		fmt.Sscanf(m[1], "%d", &to)
	}
	if seen != 120 {
		t.Errorf("the pages list %d calls, want 120", seen)
	}
}

// TestRecallToolsAreCheap: the tools are part of every request.
func TestRecallToolsAreCheap(t *testing.T) {
	if n := tokens.NewTokenizer(model.Model{}, &tokens.Options{Counter: tokens.O200k()}).CountTools(recall.Tools()); n > 458 {
		t.Errorf("the recall tools take %d tokens", n)
	}
}

func TestRecallToolsAreValid(t *testing.T) {
	for _, tool := range recall.Tools() {
		var schema map[string]any
		if err := json.Unmarshal([]byte(tool.Schema), &schema); err != nil || schema["type"] != "object" || tool.Description == "" {
			t.Errorf("%s: %v", tool.Name, err)
		}
	}
}

// damagedStore gives back bodies in which a word was changed.
type damagedStore struct{ *store.Memory }

func (d damagedStore) Body(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	body, err := d.Memory.Body(ctx, key, hash)
	return bytes.Replace(body, []byte("original"), []byte("tampered"), 1), err
}

func TestUnfoldNoticesDamage(t *testing.T) {
	st := store.NewMemory()
	s := open(t, st, &pleat.Options{Tokens: counter})
	err := s.Append(t.Context(), transcript.Assistant(transcript.Call("1", "read_file", `{"path":"a"}`)),
		transcript.Results(transcript.Result("1", "original\n"+strings.Repeat("some words\n", 6_000))))
	if err != nil {
		t.Fatal(err)
	}
	h := handleOf(t, s, 1)
	s = open(t, damagedStore{st}, &pleat.Options{Tokens: counter})
	if _, err := s.Unfold(t.Context(), recall.UnfoldRequest{Handle: h}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("got %v, want ErrCorrupt", err)
	}
}

func TestUnfoldStretch(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Tokens: counter, Budget: fold.Budget{Window: 8_000}})
	if err := s.Append(t.Context(), transcript.User("Read all files.")); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		work(t, s, i, 1, 4_000)
		view(t, s)
	}
	for _, f := range s.Report().Folds {
		if f.Block >= 0 {
			continue
		}
		u := unfold(t, s, recall.UnfoldRequest{Handle: f.Handle, Pattern: "^--- message", Around: -1})
		if u.Matches != f.End-f.Start || strings.Count(u.Whole(), "\n") != f.Lines || len(u.Whole()) != f.Bytes || u.Hash != f.Hash {
			t.Errorf("%s: %d messages, want %d", u.Source, u.Matches, f.End-f.Start)
		}
		return
	}
	t.Error("no stretch was folded")
}

// FuzzRecall: whatever a model writes, it gets an answer, and no page is over its budget.
func FuzzRecall(f *testing.F) {
	s := recallSession(f)
	h := handleOf(f, s, 3)
	f.Add("unfold", `{"handle":"`+h+`","lines":"1","column":4000}`)
	f.Add("unfold", `{"handle":"`+h+`","pattern":"needle|dolor"}`)
	f.Add("unfold", `{"handle":"`+h+`","bytes":"10-5000"}`)
	f.Add("search", `{"queries":["lorem zanzibar",""]}`)
	f.Add("ledger", `{"from":"2","kind":["read",7]}`)
	f.Fuzz(func(t *testing.T, tool, input string) {
		if tool != "unfold" && tool != "search" && tool != "ledger" {
			t.Skip()
		}
		text, _, handled := s.Recall(context.Background(), tool, input)
		if !handled || text == "" {
			t.Fatalf("%s %q: no answer", tool, input)
		}
		if n := counter.CountText(text); n > 5_000+counter.CountText(input)*4 {
			t.Fatalf("%s %q: %d tokens", tool, input, n)
		}
	})
}

func ExampleSession_Search() {
	ctx := context.Background()
	s, err := pleat.OpenSession(ctx, store.NewMemory(), store.SessionKey{Session: "example"}, nil)
	if err != nil {
		panic(err)
	}
	err = s.Append(ctx,
		transcript.User("What is the upload limit?"),
		transcript.Assistant(transcript.Call("1", "read_file", `{"path":"server.toml"}`)),
		transcript.Results(transcript.Result("1", "port = 8081\nuploadSizeLimit = 1048576\n")))
	if err != nil {
		panic(err)
	}
	found, err := s.Search(ctx, recall.SearchRequest{Queries: []string{"size limit"}, Hits: 1})
	if err != nil {
		panic(err)
	}
	fmt.Print(found.Text())
	// Output:
	// [pleat search "size limit": 1 hit, best first]
	// [ka1stfrt: result of read_file server.toml, call 1; you can see it]
	// 1	port = 8081
	// 2	uploadSizeLimit = 1048576
}

// The budget may change while the model asks.
func TestRecallWhileBudgetChanges(t *testing.T) {
	s := busy(t, 4, nil)
	var both sync.WaitGroup
	both.Go(func() {
		for i := range 100 {
			s.SetBudget(fold.Budget{Window: 10_000 + i})
		}
	})
	both.Go(func() {
		for range 100 {
			s.Recall(t.Context(), recall.ToolLedger, "{}")
		}
	})
	both.Wait()
}
