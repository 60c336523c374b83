package library_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/tokens"
)

// asked is a Claude Code line with a request that cost three dollars of input for each million.
func asked(n int, at time.Time) string {
	return fmt.Sprintf(
		`{"type":"assistant","uuid":"a%d","parentUuid":null,"timestamp":%q,"cwd":"/src","message":{"id":"m%d","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"%d"}],"usage":{"input_tokens":%d,"output_tokens":0}}}`+"\n",
		n, at.Format(time.RFC3339), n, n, 1000*n,
	)
}

// Requests count once, by their own time, wherever they are recorded; sessions that were not
// used since are left out, and a file that grew is read again.
func TestSpent(t *testing.T) {
	h := newHome(t)
	since := day.Add(-24 * time.Hour)
	h.put(".claude/projects/-src/old.jsonl", asked(100, since), since.Add(-time.Hour))
	one := asked(1, since.Add(-time.Hour)) + asked(2, day)
	h.put(".claude/projects/-src/one.jsonl", one, day)
	h.put(".claude/projects/-src/resumed.jsonl", one+asked(3, day), day)
	total := func() (usd float64, stored int) {
		t.Helper()
		list, err := h.Spent(t.Context(), since)
		h.must(err)
		for _, s := range list {
			if usd += s.USD; s.Stored {
				stored++
			}
			if s.ID == "" {
				t.Errorf("of no session: %+v", s)
			}
		}
		return usd, stored
	}
	is := func(want float64, wantStored int) {
		t.Helper()
		if got, stored := total(); math.Abs(got-want) > 1e-9 || stored != wantStored {
			t.Errorf("%v spent, %d of it stored; want %v, %d", got, stored, want, wantStored)
		}
	}
	is(0.018, 0)
	is(0.018, 0) // without reading again
	h.put(".claude/projects/-src/one.jsonl", one+asked(4, day), day.Add(time.Minute))
	is(0.030, 0)
	page, err := h.List(t.Context(), library.Filter{})
	h.must(err)
	_, err = h.Open(t.Context(), page.Sessions[0].ID) // here, and in a process that was there before
	h.must(err)
	for range 2 {
		_, err = h.List(t.Context(), library.Filter{Count: true})
		h.must(err)
		is(0.030, 0)
		h.reopen()
	}
	m, _ := model.DefaultModels().Lookup("claude-sonnet-4-5")
	s, err := pleat.OpenSession(
		t.Context(), h.st, pleat.Key{Session: "through the proxy"}, &pleat.Options{Model: m, Codecs: library.Codecs()},
	)
	h.must(err)
	h.must(s.Append(t.Context(), pleat.User("Hello.")))
	h.must(s.Used(t.Context(), model.Usage{Input: 10_000}))
	is(0.060, 1)
}

// Old results are masked when the window is full, not before; the newest stay, handles work,
// and the next request has the same masks.
func TestFold(t *testing.T) {
	h := newHome(t)
	session := func(calls int) string {
		var b strings.Builder
		b.WriteString(`{"info":{"id":"s","directory":"/p"},"messages":[` +
			`{"info":{"id":"u","role":"user"},"parts":[{"type":"text","text":"Read them all."}]}`)
		for i := range calls {
			fmt.Fprintf(&b, `,{"info":{"id":"m%[1]d","role":"assistant"},"parts":[{"type":"tool","callID":"c%[1]d","tool":"bash",`+
				`"state":{"status":"completed","input":{"command":"cat f%[1]d"},"output":"%[2]s"}}]}`, i,
				strings.Repeat(fmt.Sprintf("line of %d\\n", i), 1000))
		}
		return b.String() + "]}"
	}
	masks := func(calls, window int) map[string]string {
		info, err := h.At(sessionlog.OpenCode, h.put("x/s.json", session(calls), day))
		h.must(err)
		f, err := h.Fold(t.Context(), info, library.FoldOptions{Window: window})
		h.must(err)
		got := f.Stubs
		for id, stub := range got {
			_, handle, _ := strings.Cut(stub, `unfold("`)
			u, err := h.Unfold(t.Context(), info.ID, recall.UnfoldRequest{Handle: handle[:min(8, len(handle))]})
			if err != nil || !strings.Contains(u.Whole, "line of "+id[1:]) || !strings.Contains(stub, info.ID) {
				t.Errorf("%s: %q: %v", id, stub, err)
			}
		}
		return got
	}
	if got := masks(8, 200_000); len(got) != 0 {
		t.Errorf("there is room, but masks: %v", got)
	}
	full := masks(8, 25_000)
	if full["c0"] == "" || full["c7"] != "" {
		t.Errorf("the oldest is not masked, or the newest is: %v", full)
	}
	for id, stub := range full {
		if again := masks(9, 25_000)[id]; again != stub {
			t.Errorf("%s was %q and is %q", id, stub, again)
		}
	}
}

// Every real session opens with the messages that its file has, and its handoff fits.
func TestCorpus(t *testing.T) {
	const budget = 8_000
	h := newHome(t)
	counter := tokens.NewTokenizer(model.Model{}, nil)
	files := corpustest.Files(t)
	for i, file := range files {
		data, err := os.ReadFile(file)
		h.must(err)
		copied := h.put(fmt.Sprintf(".claude/projects/p%d/s.jsonl", i), string(data), day)
		id := h.find(copied)
		s, err := h.Open(t.Context(), id)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if want := len(corpustest.Read(t, file)); s.Len() != want {
			t.Errorf("%s: %d messages, the file has %d", file, s.Len(), want)
		}
		began := time.Now()
		text, err := h.Handoff(t.Context(), id, budget)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		n := counter.CountText(text)
		t.Logf("%s: %d messages, handoff of %d tokens in %v", file, s.Len(), n,
			time.Since(began).Round(time.Millisecond))
		if n > budget {
			t.Errorf("%s: %d tokens", file, n)
		}
	}
	page, err := h.List(t.Context(), library.Filter{})
	h.must(err)
	if page.Total != len(files) {
		t.Errorf("%d of %d sessions are listed", page.Total, len(files))
	}
}
