package dash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

const secret = "sk-ant-api03-AAAAbbbbCCCCddddEEEEffffGGGGhhhhIIIIjjjjKKKKllllMMMMnnnnOOOOppppQQQQrrrrSSSStttt-uuuuvvAA"

const hostile = `<script>alert(1)</script><img src=x onerror=alert(2)>"'></title></pre></textarea>{{.}}` +
	"\u202e\x1b[31m\x00"

// fill makes a session that was folded: so many rounds in a window of so many tokens.
func fill(t testing.TB, st store.Store, name string, rounds, window int, say string) *pleat.Session {
	t.Helper()
	s, err := pleat.OpenSession(t.Context(), st, pleat.Key{Session: name}, &pleat.Options{
		Budget: pleat.Budget{Window: window}, Tools: pleat.RecallTools(), System: "You are an agent.",
	})
	must(t, err)
	must(t, s.Append(t.Context(), pleat.User("Mend the parser. "+say)))
	for i := range rounds {
		id, file := fmt.Sprint("c", i), fmt.Sprintf("src/%d%s.go", i%7, strings.ReplaceAll(say, "/", ""))
		must(t, s.Append(t.Context(),
			pleat.Assistant(pleat.Say("I look. "+say), pleat.Call(id, "read_file", fmt.Sprintf(`{"path":%q}`, file)))))
		must(t, s.Append(t.Context(),
			pleat.Results(pleat.Result(id, say+strings.Repeat(fmt.Sprintf("func f%d() { return %d }\n", i, i), 120)))))
		_, err := s.View(t.Context(), pleat.Turn{})
		must(t, err)
	}
	must(t, s.Append(t.Context(), pleat.Assistant(pleat.Say("Done. "+say))))
	return s
}

var must = difftest.Must

func newDash(t testing.TB, st *store.Memory, token string) *Handler {
	t.Helper()
	lib := library.New(library.Options{Store: st})
	t.Cleanup(func() { lib.Close() })
	h, err := New(Options{Library: lib, Store: st, Token: token})
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	return h
}

// get asks for a page as a browser on this machine would.
func get(h http.Handler, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "http://127.0.0.1:4242"+path, nil)
	r.RemoteAddr = "127.0.0.1:5555"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// everyPage lists the pages of a session.
func everyPage(s *pleat.Session) []string {
	q := "?s=" + url.QueryEscape(s.Key().Session)
	pages := []string{
		"session" + q,
		"plan" + q,
		"plan" + q + "&budget=3000",
		"ledger" + q,
		"ledger" + q + "&show=calls",
		"search" + q + "&q=parser+return",
		"search?q=parser",
	}
	for _, f := range s.Report().Folds {
		pages = append(pages, "fold"+q+"&handle="+f.Handle, "fold"+q+"&all=1&handle="+f.Handle)
	}
	for i := range pages {
		pages[i] = "/dash/" + pages[i]
	}
	return append(pages, "/")
}

func TestPages(t *testing.T) {
	st := store.NewMemory()
	s := fill(t, st, "made up", 12, 8000, "ordinary words")
	if len(s.Report().Folds) == 0 {
		t.Fatal("nothing is folded")
	}
	h := newDash(t, st, "")
	for _, page := range everyPage(s) {
		w := get(h, page)
		if w.Code != http.StatusOK {
			t.Errorf("%s: status %d: %s", page, w.Code, w.Body)
		}
		checkHTML(t, page, w.Body.String())
	}
	for _, f := range s.Report().Folds {
		page := "/dash/fold?s=made+up&handle=" + f.Handle
		want := fmt.Sprintf("<dt>Message</dt><dd>%d</dd>", f.Start+1)
		if f.Whole() && f.End > f.Start+1 {
			want = fmt.Sprintf("<dt>Messages</dt><dd>%d–%d</dd>", f.Start+1, f.End)
		}
		if !strings.Contains(get(h, page).Body.String(), want) {
			t.Errorf("%s does not have %s", page, want)
		}
	}
	for page, want := range map[string]string{
		"/":                           "Mend the parser.",
		"/dash/session?s=made+up":     "the window is nearly full",
		"/dash/plan?s=made+up":        "After folding",
		"/dash/ledger?s=made+up":      "src/3ordinary words.go",
		"/dash/search?s=made+up&q=f3": "func <mark>f3</mark>() { return 3 }",
		"/dash/search?q=f3":           "func <mark>f3</mark>() { return 3 }",
		"/dash/search?q=f3+zebra":     ", 1 of 2 words",
		"/dash/search?q=func":         "1 session searched: all of them. Of each the best places are shown, at most 5",
		"/dash/search?s=made+up&q=3":  "Places that say the same stand here once.",
		"/dash/ledger?s=made+up&path=src/3ordinary+words.go": "The file as it stands",
	} {
		if got := get(h, page).Body.String(); !strings.Contains(got, want) {
			t.Errorf("%s does not say %q:\n%s", page, want, got)
		}
	}
	for _, page := range []string{
		"/dash/session", "/dash/session?s=none", "/dash/fold?s=made+up&handle=zzzzzzzz", "/dash/nothing",
		"/dash/live?s=none",
	} {
		if w := get(h, page); w.Code != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404", page, w.Code)
		}
	}
}

// TestFileNeverShown: a file that no call showed has no link to what is in it, and is not found there.
func TestFileNeverShown(t *testing.T) {
	st := store.NewMemory()
	s := fill(t, st, "made up", 1, 8000, "")
	must(t, s.Append(t.Context(), pleat.Assistant(pleat.Call("x", "bash", `{"command":"rm old.go"}`)),
		pleat.Results(pleat.Result("x", ""))))
	must(t, s.Append(t.Context(), pleat.Assistant(pleat.Call("y", "read_file", `{"path":"none.go"}`)),
		pleat.Results(transcript.ErrorResult("y", "no such file"))))
	h := newDash(t, st, "")
	for _, tt := range []struct {
		file  string
		shown bool
	}{{"src/0.go", true}, {"none.go", false}} {
		page := get(h, "/dash/ledger?s=made+up&path="+tt.file)
		if linked := strings.Contains(page.Body.String(), "as it stands"); page.Code != http.StatusOK || linked != tt.shown {
			t.Errorf("%s: status %d, linked %v", tt.file, page.Code, linked)
		}
		w := get(h, "/dash/fold?s=made+up&handle=path:"+tt.file)
		if want := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[tt.shown]; w.Code != want {
			t.Errorf("%s: status %d, want %d", tt.file, w.Code, want)
		}
	}
}

var tags = regexp.MustCompile(`(?s)<(script|style)\b[^>]*>(.*?)</`)

var values = regexp.MustCompile(`"[^"]*"`)

// checkHTML finds what the content security policy would refuse.
func checkHTML(t testing.TB, page, html string) {
	t.Helper()
	for _, m := range tags.FindAllStringSubmatch(html, -1) {
		if m[2] != "" {
			t.Errorf("%s has %s in the page: %.60q", page, m[1], m[2])
		}
	}
	if m := regexp.MustCompile(`(?i)<[a-z][^>]*\s(style|on\w+)=`).FindString(values.ReplaceAllString(html, "")); m != "" {
		t.Errorf("%s has an attribute that is not allowed: %.120q", page, m)
	}
	if strings.Contains(html, "ZgotmplZ") || strings.Contains(html, "%!") {
		t.Errorf("%s: the template refused something", page)
	}
}

// What a session says is text on every page, and never a secret of a known shape.
func TestHostileText(t *testing.T) {
	st := store.NewMemory()
	s := fill(t, st, hostile, 12, 8000, hostile+" "+secret)
	h := newDash(t, st, "")
	bad := regexp.MustCompile(`(?i)<script>|<img src=x|</title></pre>|\x{202e}|\x1b|\x00|sk-ant-api03-AAAA`)
	pages := everyPage(s)
	for _, q := range []string{
		"/dash/search?q=", "/dash/session?s=", "/dash/fold?s=" + url.QueryEscape(hostile) + "&handle=", "/?agent=",
		"/?project=", "/dash/ledger?s=" + url.QueryEscape(hostile) + "&path=",
		"/dash/plan?s=" + url.QueryEscape(hostile) + "&budget=",
	} {
		pages = append(pages, q+url.QueryEscape(hostile))
	}
	for _, page := range pages {
		w := get(h, page)
		// A form sends the name of the session back as it is.
		if m := bad.FindString(values.ReplaceAllString(w.Body.String(), "")); m != "" ||
			strings.Contains(w.Body.String(), "<script>") {
			t.Errorf("%s shows %q", page, m)
		}
		checkHTML(t, page, w.Body.String())
		if w.Code == http.StatusInternalServerError {
			t.Errorf("%s: %s", page, w.Body)
		}
	}
}

// A secret that stands where a line of a hit is cut is left out whole.
func TestSecretAtACut(t *testing.T) {
	st := store.NewMemory()
	fill(t, st, "made up", 8, 8000, "zebra "+strings.Repeat("x", 380)+" "+secret)
	h := newDash(t, st, "")
	for _, page := range []string{"/dash/search?q=zebra", "/dash/search?s=made+up&q=zebra"} {
		if body := get(h, page).Body.String(); !strings.Contains(body, "zebra xxx") ||
			strings.Contains(body, "sk-ant-api03") {
			t.Errorf("%s shows a part of a secret, or nothing", page)
		}
	}
}

// Sums that cannot be made are not shown.
func TestSumsThatFail(t *testing.T) {
	h := newDash(t, store.NewMemory(), "")
	h.o.Library = brokenList{h.o.Library}
	for range 2 {
		if s := h.sum(t.Context(), nil); s != nil {
			t.Errorf("there are sums: %+v", s)
		}
	}
}

// brokenList cannot list everything.
type brokenList struct{ Library }

func (brokenList) List(context.Context, library.Filter) (library.Page, error) {
	return library.Page{}, errors.New("broken")
}

// settle waits for the sums.
func settle(t *testing.T, h *Handler) {
	t.Helper()
	for {
		if s := h.sum(t.Context(), nil); s != nil && !s.Counting {
			return
		}
		h.mu.Lock()
		adding := h.adding
		h.mu.Unlock()
		if adding != nil {
			<-adding
		}
	}
}

// The overview tells what each day cost, as files and the store say it, and what nothing says.
func TestMoneyPerDay(t *testing.T) {
	st := store.NewMemory()
	fill(t, st, "made up", 1, 8000, "")
	h := newDash(t, st, "")
	settle(t, h)
	if got := get(h, "/").Body.String(); !strings.Contains(got, "Nothing says what the last 30 days cost") {
		t.Error("the page does not say that nothing is known")
	}
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.Local)
	h = newDash(t, st, "")
	h.o.Now = func() time.Time { return now }
	h.o.Library = spender{h.o.Library, []library.Spent{
		{Request: library.Request{Time: now}, USD: 1.5, ID: "made up", Stored: true},
		{Request: library.Request{Time: now.AddDate(0, 0, -1)}, USD: 2.25, ID: "made up"},
		{Request: library.Request{Time: now.AddDate(0, 0, -40)}, USD: 64, ID: "made up"},
	}}
	settle(t, h)
	got := get(h, "/").Body.String()
	for _, want := range []string{
		`<th scope="row">2026-03-04</th><td class="num">1</td>`, // a session counts on the day of its last request
		`<td class="num">–</td><td class="num">$1.50</td>`,
		`<th scope="row">2026-03-03</th><td class="num">0</td><td class="num">0</td><td class="num">$2.25</td><td class="num">–</td>`,
		`$3.75`, // in these days
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
}

// The sums by agent and by project are those of the rows, and charts go as far back as asked.
func TestSumsOfAllDays(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.Local)
	st := store.NewMemory()
	fill(t, st, "rehearsal-shop-1", 1, 8000, "")
	fill(t, st, "rehearsal-shop-2", 1, 8000, "")
	h := newDash(t, st, "")
	h.o.Now = func() time.Time { return now }
	h.o.Library = spender{h.o.Library, []library.Spent{
		{Request: library.Request{Time: now.AddDate(0, 0, -40)}, USD: 64, ID: "rehearsal-shop-2", Stored: true},
		{Request: library.Request{Time: now.AddDate(0, 0, -50)}, ID: "rehearsal-shop-1", Stored: true},
	}}
	settle(t, h)
	got := get(h, "/").Body.String()
	for page, want := range map[string]int{got: 1, get(h, "/dash/session?s=rehearsal-shop-2").Body.String(): 1} {
		if n := strings.Count(page, when(now.AddDate(0, 0, -40))+"</time>"); n != want {
			t.Errorf("%d times the page says that the session was used last when it last asked:\n%s", n, page)
		}
	}
	if n := strings.Count(got, `data-l="spent">$64.00</td>`); n != 3 {
		t.Errorf("%d of agent, project and session say what was spent:\n%s", n, got)
	}
	if strings.Contains(got, "without a known price") {
		t.Error("what a program that plays a model would cost is missed")
	}
	for want, n := range map[string]int{"<b>30 days</b>": 1, ">pleat demo</td>": 2} {
		if strings.Count(got, want) != n {
			t.Errorf("the overview does not have %q %d times:\n%s", want, n, got)
		}
	}
	if got := get(h, "/?days=90").Body.String(); !strings.Contains(got, "<b>90 days</b>") {
		t.Error("the chart does not go over the days that were asked for")
	}
}

// A search that takes long shows what it has after a moment, and says where it goes on.
func TestSearchGoesOn(t *testing.T) {
	h := newDash(t, store.NewMemory(), "")
	h.o.Library = slowSearch{h.o.Library}
	for at, want := range map[string]string{
		"/dash/search?q=x":              `/dash/search?q=x&amp;try=1" data-more>Search 3 older sessions`,
		"/dash/search?q=x&try=2":        "0 sessions searched, 3 to go.",
		"/dash/search?q=x&from=7&try=1": `/dash/search?from=7&amp;q=x&amp;try=2" data-more`,
	} {
		if got := get(h, at).Body.String(); !strings.Contains(got, want) {
			t.Errorf("%s does not have %s:\n%s", at, want, got)
		}
	}
}

// slowSearch finds nothing in any time.
type slowSearch struct{ Library }

func (slowSearch) Search(ctx context.Context, _ library.Filter, _ recall.SearchRequest) (library.Results, error) {
	<-ctx.Done()
	return library.Results{Unsearched: 3}, ctx.Err()
}

// spender says what was spent.
type spender struct {
	Library
	spent []library.Spent
}

// used says that sessions were used when they asked last.
func (s spender) used(list []library.Info) {
	for i := range list {
		for _, r := range s.spent {
			if r.ID == list[i].ID && (list[i].Used.Equal(list[i].Modified) || r.Time.After(list[i].Used)) {
				list[i].Used = r.Time
			}
		}
	}
}

func (s spender) List(ctx context.Context, f library.Filter) (library.Page, error) {
	p, err := s.Library.List(ctx, f)
	s.used(p.Sessions)
	return p, err
}

func (s spender) Find(ctx context.Context, id string) (library.Info, error) {
	i, err := s.Library.Find(ctx, id)
	list := []library.Info{i}
	s.used(list)
	return list[0], err
}

func (s spender) Spent(context.Context, time.Time) ([]library.Spent, error) { return s.spent, nil }

// What makes sums in the background has ended when Close returns.
func TestClose(t *testing.T) {
	h := newDash(t, store.NewMemory(), "")
	lib := &waiting{Library: h.o.Library}
	h.o.Library = lib
	ctx, stop := context.WithCancel(t.Context())
	stop()
	h.sum(ctx, nil)
	must(t, h.Close())
	if !lib.ended.Load() {
		t.Error("the sums are still being made")
	}
}

// waiting lists until nobody wants it any more.
type waiting struct {
	Library
	ended atomic.Bool
}

func (w *waiting) List(ctx context.Context, _ library.Filter) (library.Page, error) {
	<-ctx.Done()
	w.ended.Store(true)
	return library.Page{}, ctx.Err()
}

// Words are marked as they were typed; where a line has only parts of them, those are.
func TestMark(t *testing.T) {
	for _, c := range []struct {
		query, line string
		match       bool
		want        string
	}{
		{"parseExpr", "parse/parser.go: parseExpr(1)", true, "parse/parser.go: [parseExpr](1)"},
		{"parseExpr", "the Expr here", true, "the [Expr] here"},
		{"parseExpr", "the Expr here", false, "the Expr here"},
		{`"unary minus"`, "Unary or minus", true, "[Unary] or [minus]"},
		{"a+b(", "x a+b( y", true, "x [a+b(] y"},
		{"\xff", "x", true, "x"},
		{`"`, "x", true, "x"},
	} {
		var b strings.Builder
		for _, s := range markerOf(c.query).mark(c.line, c.match) {
			if s.Found {
				s.Text = "[" + s.Text + "]"
			}
			b.WriteString(s.Text)
		}
		if b.String() != c.want {
			t.Errorf("%q in %q: %q, want %q", c.query, c.line, b.String(), c.want)
		}
	}
}

// The first sums do not wait for what was spent.
func TestSumsBeforeMoney(t *testing.T) {
	st := store.NewMemory()
	fill(t, st, "made up", 1, 8000, "")
	h := newDash(t, st, "")
	lib := slowMoney{h.o.Library, make(chan struct{})}
	h.o.Library = lib
	for {
		if s := h.sum(t.Context(), nil); s != nil && s.Counted == 1 {
			break
		}
	}
	counting, _ := h.version(t.Context(), "")
	if got := get(h, "/").Body.String(); !strings.Contains(got, "1 of 1 session. Until then") ||
		!strings.Contains(got, "By agent") || strings.Contains(got, "30 days") {
		t.Errorf("the page does not say how far the sums are, or draws what will change:\n%s", got)
	}
	close(lib.known)
	settle(t, h)
	if done, _ := h.version(t.Context(), ""); done == counting {
		t.Error("a page is not told that the sums are there")
	}
	if got := get(h, "/").Body.String(); strings.Contains(got, "Until then") || !strings.Contains(got, "30 days") {
		t.Errorf("the page does not draw the days:\n%s", got)
	}
}

// slowMoney knows what was spent when it is let go.
type slowMoney struct {
	Library
	known chan struct{}
}

func (s slowMoney) Spent(ctx context.Context, _ time.Time) ([]library.Spent, error) {
	select {
	case <-s.known:
	case <-ctx.Done():
	}
	return nil, ctx.Err()
}

// A plan fits its budget by the numbers that its page shows, whatever the provider reported.
func TestPlanFits(t *testing.T) {
	st := store.NewMemory()
	s := fill(t, st, "made up", 30, 40_000, "words")
	for range 10 {
		_, err := s.View(t.Context(), pleat.Turn{})
		must(t, err)
		must(t, s.Used(t.Context(), pleat.Usage{Input: s.Snapshot().Parts.Total() * 2 / 3}))
	}
	h := newDash(t, st, "")
	info, r, err := h.open(t.Context(), "made up")
	must(t, err)
	for budget := 4000; budget < r.Report().Whole; budget += 3000 {
		o, err := h.outcome(t.Context(), &info, r, budget)
		must(t, err)
		if o.After > budget || o.Problem != "" {
			t.Errorf("%d tokens for a budget of %d: %s", o.After, budget, o.Problem)
		}
	}
}

// A list says of a session whose page was shown what that page says.
func TestListedAsCounted(t *testing.T) {
	st := store.NewMemory()
	fill(t, st, "made up", 12, 8000, "words")
	h := newDash(t, st, "")
	of := func(page, pattern string) string {
		t.Helper()
		m := regexp.MustCompile(pattern).FindStringSubmatch(get(h, page).Body.String())
		if m == nil {
			t.Fatalf("%s does not have %s", page, pattern)
		}
		return m[1]
	}
	const listed = `data-l="tokens">([^<]*)</td>\s*<td class="num" data-l="spent">`
	if got := of("/", listed); !strings.HasPrefix(got, "~") {
		t.Errorf("the list says %s of a session that nobody counted", got)
	}
	want := of("/dash/session?s=made+up", `Whole session</dt><dd>([^<]*) <small>`)
	if got := of("/", listed); got != want {
		t.Errorf("the list says %s, the page %s", got, want)
	}
}

// Sums are of the numbers that the rows show, of sessions that were counted or went on too.
func TestSumsAreOfRows(t *testing.T) {
	st := store.NewMemory()
	long := fill(t, st, "long", 12, 8000, "words")
	fill(t, st, "short", 3, 8000, "words")
	h := newDash(t, st, "")
	settle(t, h)
	last := 0
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"estimated", func() {}},
		{"counted", func() { get(h, "/dash/session?s=long") }},
		{"gone on", func() { must(t, long.Append(t.Context(), pleat.User(strings.Repeat("Go on. ", 100)))) }},
		{"begun", func() { fill(t, st, "new", 3, 8000, "words") }},
	} {
		step.do()
		f := &frame{}
		must(t, h.overview(httptest.NewRequest("GET", "/", nil), f))
		o, want := f.Body.(*overview), 0
		for _, s := range o.Sessions {
			want += s.Tokens
		}
		inDays := 0
		for _, d := range o.Days {
			inDays += d.Tokens
		}
		all := o.Sums.All
		got := []int{all.Tokens, o.Sums.Agents[0].Tokens, o.Sums.Projects[0].Tokens, inDays}
		if !slices.Equal(got, []int{want, want, want, want}) || all.Sessions != len(o.Sessions) || want == last {
			t.Errorf("%s: all, agent, project and days are %d of %d sessions; the rows come to %d of %d, and came to %d before",
				step.name, got, all.Sessions, want, len(o.Sessions), last)
		}
		last = want
	}
}

// A file that was changed makes what was read of it out of date; a newer read replaces it.
func TestLedgerSaysWhatBecameOfIt(t *testing.T) {
	st := store.NewMemory()
	s, err := pleat.OpenSession(t.Context(), st, pleat.Key{Session: "made up"}, nil)
	must(t, err)
	must(t, s.Append(t.Context(), pleat.User("Mend it.")))
	for i, c := range []string{
		`{"file_path":"a.go"}`, `{"file_path":"a.go","old_string":"one","new_string":"two"}`,
		`{"file_path":"b.go"}`, `{"file_path":"b.go"}`,
	} {
		id, tool := fmt.Sprint("c", i), "Read"
		if i == 1 {
			tool = "Edit"
		}
		must(t, s.Append(t.Context(), pleat.Assistant(pleat.Call(id, tool, c)),
			pleat.Results(pleat.Result(id, strings.Repeat("one\n", 50)))))
	}
	h := newDash(t, st, "")
	body := get(h, "/dash/ledger?s=made+up&show=calls").Body.String()
	for _, want := range []string{"out of date since call 2", "replaced by call 4"} {
		if strings.Count(body, want) != 1 {
			t.Errorf("the ledger does not say %q once:\n%s", want, body)
		}
	}
	if body := get(h, "/").Body.String(); strings.Count(body, "not known</") != 2 { // the project, in both tables
		t.Errorf("the overview does not say of both the project and the session that it is not known:\n%s", body)
	}
}

// The page of a session says what it would have cost without pleat, also where that is less.
func TestDearerWithPleat(t *testing.T) {
	st := store.NewMemory()
	fill(t, st, "made up", 1, 8000, "")
	book := &bill.Book{Store: st, Log: slog.New(slog.DiscardHandler), Now: time.Now}
	book.Charge(bill.Row{
		Session: "made up", Tally: bill.Tally{Requests: 3, USD: 0.28, Without: 0.19, BytesIn: 1, BytesOut: 2},
	})
	must(t, book.Wait(t.Context()))
	got := get(newDash(t, st, ""), "/dash/session?s=made+up").Body.String()
	if want := "$0.28 <small>without pleat about $0.19</small>"; !strings.Contains(got, want) {
		t.Errorf("no %q:\n%s", want, got)
	}
}

// What was spent on requests that are in no session stands beside the agents, so that the sums agree,
// and those whose price is not known are told.
func TestSpentInNoSession(t *testing.T) {
	st := store.NewMemory()
	fill(t, st, "made up", 1, 8000, "")
	book := &bill.Book{Store: st, Log: slog.New(slog.DiscardHandler), Now: time.Now}
	book.Charge(bill.Row{Tenant: "key-a", Tally: bill.Tally{Requests: 3, USD: 0.28, Without: 0.28, Unpriced: 1}})
	must(t, book.Wait(t.Context()))
	h := newDash(t, st, "")
	settle(t, h)
	row := regexp.MustCompile(`requests in no session.*\$0\.28</td></tr>`)
	got := get(h, "/").Body.String()
	if !row.MatchString(got) {
		t.Errorf("no such row:\n%s", got)
	}
	if want := "$0.28 <small>for 2 of them; 1 has no known price"; !strings.Contains(got, want) {
		t.Errorf("no %q:\n%s", want, got)
	}
}

// A dashboard that is closed while it adds sessions up has nothing to warn of.
func TestCloseIsQuiet(t *testing.T) {
	var told bytes.Buffer
	st := store.NewMemory()
	lib := library.New(library.Options{Store: st})
	defer lib.Close()
	h, err := New(Options{Library: lib, Store: st, Logger: slog.New(slog.NewTextHandler(&told, nil))})
	must(t, err)
	must(t, h.Close())
	h.adding = make(chan struct{})
	h.makeSums()
	if told.Len() > 0 || h.adding != nil {
		t.Errorf("it says %s", told.String())
	}
}
