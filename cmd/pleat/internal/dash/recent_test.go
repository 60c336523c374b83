package dash

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
)

// stuck is a library whose plain list does not come while the channel is open.
type stuck struct {
	Library
	asked, free chan struct{}
}

func (s stuck) List(ctx context.Context, f library.Filter) (library.Page, error) {
	if f.Plain {
		s.asked <- struct{}{}
		<-s.free
	}
	return s.Library.List(ctx, f)
}

// A page that waits for a slow disk to say what is new keeps no other from being shown.
func TestSlowListBlocksNobody(t *testing.T) {
	st := store.NewMemory()
	s := fill(t, st, "made up", 12, 8000, "ordinary words")
	h := newDash(t, st, "")
	slow := stuck{h.o.Library, make(chan struct{}), make(chan struct{})}
	h.o.Library = slow
	live := make(chan int)
	go func() { live <- get(h, "/dash/live").Code }()
	<-slow.asked
	pages := make(chan struct{})
	go func() {
		defer close(pages)
		for _, page := range everyPage(s) {
			if w := get(h, page); w.Code != http.StatusOK {
				t.Errorf("%s: status %d", page, w.Code)
			}
		}
	}()
	select {
	case <-pages:
	case <-time.After(time.Minute):
		t.Error("a page waits for the list that another has asked for")
	}
	close(slow.free)
	<-pages
	<-live
}

// A value is asked for once in a moment, by whoever comes first; an error is not kept.
func TestRecent(t *testing.T) {
	var r recent[int]
	at := time.Now()
	for i, step := range []struct {
		ahead       time.Duration
		answer      int
		err         error
		want, asked int
	}{
		{0, 1, nil, 1, 1},
		{fresh / 2, 2, nil, 1, 0},
		{fresh, 3, nil, 3, 1},
		{2 * fresh, 4, context.DeadlineExceeded, 4, 1},
		{0, 5, nil, 5, 1},
	} {
		at = at.Add(step.ahead)
		asked := 0
		n, err := r.get(func() time.Time { return at }, func() (int, error) { asked++; return step.answer, step.err })
		if n != step.want || asked != step.asked || !errors.Is(err, step.err) {
			t.Errorf("step %d: %d, asked %d times, %v", i, n, asked, err)
		}
	}
}

// paid is a library whose requests cost what the bill has.
type paid struct {
	Library
	usd *float64
}

func (p paid) Spent(context.Context, time.Time) ([]library.Spent, error) {
	return []library.Spent{{USD: *p.usd, ID: "made up", Stored: true, Request: library.Request{Time: time.Now()}}}, nil
}

// Tiles and tables of the overview tell of one moment, also right after something was used.
func TestOverviewOfOneMoment(t *testing.T) {
	st := store.NewMemory()
	s := fill(t, st, "made up", 1, 8000, "ordinary words")
	h := newDash(t, st, "")
	usd, ahead := 0.0, time.Duration(0)
	h.o.Library, h.o.Now = paid{h.o.Library, &usd}, func() time.Time { return time.Now().Add(ahead) }
	book := &bill.Book{Store: st, Now: time.Now, Log: h.o.Logger}
	for range 2 {
		usd += 1.25
		must(t, s.Append(t.Context(), pleat.User("Go on.")))
		row := bill.Row{Session: "made up"}
		row.Requests, row.USD = 1, 1.25
		book.Charge(row)
		must(t, book.Wait(t.Context()))
		get(h, "/")
		h.mu.Lock()
		adding := h.adding
		h.mu.Unlock()
		if adding != nil {
			<-adding
		}
		page, want := get(h, "/").Body.String(), dollars(usd)
		if n := strings.Count(page, want); !strings.Contains(page, "through the proxy</dt><dd>"+want) || n < 3 {
			t.Errorf("%s is on the page %d times: %s", want, n, page)
		}
		ahead += 2 * fresh
	}
}

// copies makes so many sessions that say the same.
func copies(t testing.TB, st *store.Memory, n int) {
	t.Helper()
	s := fill(t, st, "first", 10, 8000, "words")
	for i := range n {
		must(t, pleat.Fork(t.Context(), st, s.Key(), inside.Of(s).LastSeq(),
			pleat.Key{Session: fmt.Sprintf("copy%04d", i)}, library.Codecs()))
	}
}

// Browsing all sessions takes no more memory than browsing some of them.
func TestBrowsingIsBounded(t *testing.T) {
	const some = 50
	all := 1000
	if testing.Short() {
		all = 100
	}
	st := store.NewMemory()
	copies(t, st, all)
	h := newDash(t, st, "")
	used := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := uint64(0)
	for i := range all {
		pages := []string{"session", "plan", "ledger"}
		if i%10 > 0 {
			pages = pages[:1]
		}
		for _, page := range pages {
			if w := get(h, fmt.Sprintf("/dash/%s?s=copy%04d", page, i)); w.Code != http.StatusOK {
				t.Fatal(w.Body)
			}
		}
		if i == some {
			before = used()
		}
	}
	after := used()
	t.Logf("%d kB after %d sessions, %d kB after %d", before>>10, some, after>>10, all)
	if most := before + uint64(all)*4<<10 + 1<<20; after > most { // what a list knows of a session is remembered
		t.Errorf("%d kB after %d sessions, %d kB after %d", before>>10, some, after>>10, all)
	}
}

// Lists are paged, and every session is on one of the pages.
func TestListIsPaged(t *testing.T) {
	st := store.NewMemory()
	copies(t, st, 120)
	h := newDash(t, st, "")
	seen := make(map[string]bool)
	for from := 0; from < 150; from += listRows {
		body := get(h, fmt.Sprintf("/?from=%d", from)).Body.String()
		for i := range 120 {
			if name := fmt.Sprintf("copy%04d", i); strings.Contains(body, "s="+name+`"`) {
				if seen[name] {
					t.Errorf("%s is on two pages", name)
				}
				seen[name] = true
			}
		}
	}
	if len(seen) != 120 {
		t.Errorf("%d sessions are listed, want 120", len(seen))
	}
	for _, from := range []string{"-1", "100000", "x", "9223372036854775808"} {
		if w := get(h, "/?from="+from); w.Code != http.StatusOK {
			t.Errorf("from=%s: status %d", from, w.Code)
		}
		if w := get(h, "/dash/session?s=first&from="+from); w.Code != http.StatusOK {
			t.Errorf("folds from=%s: status %d", from, w.Code)
		}
	}
}

// What a page asks every second changes when its session goes on, and only then.
func TestLive(t *testing.T) {
	st := store.NewMemory()
	s := fill(t, st, "made up", 2, 8000, "words")
	h, ahead := newDash(t, st, ""), time.Duration(0)
	h.o.Now = func() time.Time { return time.Now().Add(ahead) }
	ask := func() string {
		ahead += 2 * fresh // the list of sessions is asked for anew
		w := get(h, "/dash/live?s=made+up")
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		return w.Body.String()
	}
	before := ask()
	if again := ask(); again != before {
		t.Errorf("nothing happened, and %q became %q", before, again)
	}
	must(t, s.Append(t.Context(), pleat.User("Go on.")))
	if ask() == before {
		t.Error("the session went on, and nothing says so")
	}
}

// twoThirds makes a session whose provider counts two tokens where pleat counts three.
func twoThirds(t *testing.T, st store.Store, window int) *pleat.Session {
	t.Helper()
	m, _ := model.DefaultModels().Lookup("gpt-5")
	s, err := pleat.OpenSession(t.Context(), st, pleat.Key{Session: "scaled"}, &pleat.Options{
		Model: m, Budget: pleat.Budget{Window: window}, Tools: pleat.RecallTools(), System: "You are an agent.",
	})
	must(t, err)
	must(t, s.Append(t.Context(), pleat.User("Mend the parser.")))
	for i := range 40 {
		id := fmt.Sprint("c", i)
		must(t, s.Append(t.Context(), pleat.Assistant(pleat.Call(id, "read_file", fmt.Sprintf(`{"path":"%d.go"}`, i)))))
		long := strings.Repeat(fmt.Sprintf("func f%d() { return %d }\n", i, i), 120)
		must(t, s.Append(t.Context(), pleat.Results(pleat.Result(id, long))))
		_, err := s.View(t.Context(), pleat.Turn{})
		must(t, err)
		must(t, s.Used(t.Context(), model.Usage{Input: s.Snapshot().Parts.Total() * 2 / 3, Output: 10}))
	}
	return s
}

// Tiles, what fills the window, epochs and the chart with its levels are in the provider's tokens,
// also where they are not pleat's, and the page says so. The list agrees with the page.
func TestOneScale(t *testing.T) {
	st, window := store.NewMemory(), 20_000
	s := twoThirds(t, st, window)
	snap := s.Snapshot()
	if own := snap.Parts.Total(); snap.Epoch < 2 || int(snap.Tokens) > own*3/4 {
		t.Fatalf("epoch %d, %d tokens where pleat counts %d", snap.Epoch, snap.Tokens, own)
	}
	h := newDash(t, st, "")
	page := get(h, "/dash/session?s=scaled").Body.String()
	for _, want := range []string{
		"In the window now</dt><dd>" + text.Short(snap.Tokens) + " <small>of " + text.Short(window) + " tokens",
		"Whole session</dt><dd>" + text.Short(snap.Whole) + " <small>81 messages with system prompt and tools</small>",
		"Folded away</dt><dd>" + text.Short(snap.Whole-snap.Tokens) + " <small>" +
			percent(int(snap.Whole-snap.Tokens), int(snap.Whole)),
		"messages: " + text.Short(snap.Tokens) + " at the end", // of the chart
		"the whole session takes " + text.Short(snap.Whole) + ".",
		"it counts about 0.6", // says which tokens
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	settle(t, h)
	list := get(h, "/").Body.String()
	if want := `data-l="tokens">` + text.Short(snap.Whole) + "</td>"; !strings.Contains(list, want) {
		t.Errorf("the list has no %q", want)
	}
	if want := `data-l="tokens">~` + text.Short(snap.Whole) + "</td>"; strings.Count(list, want) != 2 {
		t.Errorf("agents and projects do not both have %q", want)
	}
	if sum := total(page, "h-parts", `<td class="num">([0-9,]+)</td></tr>`); sum != int(snap.Tokens) {
		t.Errorf("what fills the window adds up to %d, %d are in it", sum, snap.Tokens)
	}
	over := regexp.MustCompile(`scope="row" class="num">[0-9,]+</th><td class="num">([0-9,]+)</td>`)
	epochs := regexp.MustCompile(`data-l="(?:tokens before|after)">([0-9,]+)<`)
	_, after, _ := strings.Cut(page, `id="h-epochs"`)
	after, _, _ = strings.Cut(after, "</section>")
	for _, m := range append(over.FindAllStringSubmatch(page, -1), epochs.FindAllStringSubmatch(after, -1)...) {
		if n := figure(m[1]); n > window {
			t.Errorf("%d tokens in a window of %d", n, window)
		}
	}
}

// total adds up the figures of a section.
func total(page, id, pattern string) (sum int) {
	_, section, _ := strings.Cut(page, id)
	section, _, _ = strings.Cut(section, "</table>")
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(section, -1) {
		sum += figure(m[1])
	}
	return sum
}

func figure(s string) int {
	n, _ := strconv.Atoi(strings.ReplaceAll(s, ",", ""))
	return n
}
