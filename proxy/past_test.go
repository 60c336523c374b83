package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
)

// A conversation that is sent again from the top, as by a job that was restarted, gets the same bytes
// from one fork.
func TestRunAgain(t *testing.T) {
	for _, on := range protocol.Protocols {
		t.Run(string(on.Format), func(t *testing.T) {
			a, up, r := folding(t, on, Options{})
			n := len(a.bodies)
			sessions := make(map[store.SessionKey]bool)
			for i := range n - 1 {
				a.resend(t, i)
				if !bytes.Equal(up.all()[n+i], up.all()[i]) {
					t.Errorf("request %d got other bytes the second time", i)
				}
				got := r.wait(n + i + 1)[n+i]
				if sessions[got.Session] = true; got.Forked != (i == 0) {
					t.Errorf("request %d: session %s, forked %t", i, got.Session, got.Forked)
				}
			}
			if first := r.wait(n)[0].Session; len(sessions) != 1 || sessions[first] {
				t.Errorf("sessions %v, the first was %s", sessions, first)
			}
		})
	}
}

// resend sends a request that the agent has sent before.
func (a *agent) resend(t *testing.T, i int) {
	t.Helper()
	again := *a
	old, err := a.on.Read(a.bodies[i])
	if err == nil {
		again.history = a.history[:len(old.Messages):len(old.Messages)]
		_, err = again.send()
	}
	must(t, err)
}

// What a model looks up for a request that comes again is what the conversation had then. It is
// stored, in a fork.
func TestRecallInThePast(t *testing.T) {
	up := &recalling{script: upstreamtest.New(upstreamtest.Options{Calls: 12, Bytes: 12_000})}
	r := newReports()
	a := newAgent(protocol.Messages, start(t, up, Options{Window: window, Report: r.add}), "Do all the steps.")
	a.streams = false
	a.run(t)
	n := len(a.bodies)
	first := r.wait(n)[0].Session
	for tool, input := range map[string]string{
		"search": `{"queries":["step-2-done","step-9-done"]}`, "ledger": `{}`,
		"pin": `{"text":"The first steps are done."}`,
	} {
		up.tool, up.input = tool, input
		a.resend(t, 6)
		n++
		if strings.Contains(up.answer, `"is_error":true`) || strings.Contains(up.answer, "step 9 line") {
			t.Errorf("%s fails, or shows what came later: %s", tool, up.answer)
		}
		if got := r.wait(n)[n-1]; got.Session == first || !got.Forked || got.Hidden != 1 {
			t.Errorf("session %s, forked %t, %d hidden rounds; the first was %s", got.Session, got.Forked, got.Hidden, first)
		}
	}
}

// A run that looks something up again goes on in one fork: its next requests follow on what it got there.
func TestRunAgainWithHiddenRounds(t *testing.T) {
	asks := 0
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		asks++
		content, stop := fmt.Sprintf(`{"type":"tool_use","id":"ask_%d","name":"ledger","input":{}}`, asks), "tool_use"
		if bytes.LastIndex(raw, []byte(`"tool_result"`)) > bytes.LastIndex(raw, []byte("Question")) {
			content, stop = `{"type":"text","text":"So it is."}`, "end_turn"
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"m","type":"message","role":"assistant","model":"m","content":[%s],"stop_reason":%q,`+
			`"usage":{"input_tokens":9,"output_tokens":5}}`, content, stop)
	})
	r := newReports()
	url := start(t, up, Options{Report: r.add})
	const requests = 5
	for run := range 3 {
		a := newAgent(protocol.Messages, url, "Question.")
		a.streams = false
		for range requests {
			a.run(t)
			a.say("Question.")
		}
		sessions, forked := make(map[store.SessionKey]bool), 0
		for _, x := range r.wait((run + 1) * requests) {
			sessions[x.Session] = true
			if x.Forked {
				forked++
			}
		}
		if len(sessions) > run+1 || forked > run {
			t.Errorf("%d runs have %d sessions and %d forks", run+1, len(sessions), forked)
		}
	}
}

var tokensIn = regexp.MustCompile(`"(input_tokens|prompt_tokens|promptTokenCount)":([0-9]+)`)

// counting is a provider that counts more tokens than we do, now and then.
type counting struct {
	to http.Handler
	n  int
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := httptest.NewRecorder()
	c.to.ServeHTTP(rec, r)
	factor := 10
	if c.n++; c.n%7 < 2 {
		factor = 22
	}
	w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
	w.WriteHeader(rec.Code)
	_, _ = w.Write(tokensIn.ReplaceAllFunc(rec.Body.Bytes(), func(m []byte) []byte {
		part := tokensIn.FindSubmatch(m)
		n, _ := strconv.Atoi(string(part[2]))
		return fmt.Appendf(nil, `"%s":%d`, part[1], n*factor/10)
	}))
}

// A request that comes again goes out as before, whatever its answer taught about the
// provider's count, and however long the client waited.
func TestSameRequestAgain(t *testing.T) {
	eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
		up := &capture{to: &counting{to: upstreamtest.New(upstreamtest.Options{Calls: 30, Bytes: 3_000})}}
		began, waited := time.Now(), new(atomic.Int64)
		clock := func() time.Time { return began.Add(time.Duration(waited.Load())) }
		a := newAgent(on, start(t, up, Options{Window: window, Now: clock}), "Do all the steps.")
		a.streams = streams
		for turn, more := 0, true; more; turn++ {
			before := len(up.all())
			b := *a
			b.ask(t)
			waited.Add(int64(time.Hour))
			more = a.turn(t)
			waited.Add(int64(time.Second))
			if list := up.all(); !bytes.Equal(list[before], list[before+1]) {
				t.Errorf("turn %d: %d bytes, and then %d", turn, len(list[before]), len(list[before+1]))
			}
		}
	})
}
