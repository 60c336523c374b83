package library_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/model"
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
	m, _ := model.DefaultModels().Lookup("claude-sonnet-4-5")
	s, err := pleat.OpenSession(
		t.Context(), h.st, pleat.Key{Session: "through the proxy"}, &pleat.Options{Model: m, Codecs: library.Codecs()},
	)
	h.must(err)
	h.must(s.Append(t.Context(), pleat.User("Hello.")))
	h.must(s.Used(t.Context(), model.Usage{Input: 10_000}))
	is(0.060, 1)
}
