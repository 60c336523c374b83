package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
)

// A provider that says that the prompt is too long, in whatever way, is asked again with
// less; the client sees nothing of it.
func TestOverflowOnce(t *testing.T) {
	for _, how := range []string{"400", "413", "stream"} {
		eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
			if how == "stream" && !streams {
				t.Skip("an error inside a stream needs a stream")
			}
			up := upstreamtest.New(upstreamtest.Options{Calls: 8, Bytes: 6_000, FailAt: 5, Fail: how})
			r := newReports()
			a := newAgent(on, start(t, up, Options{Report: r.add}), "Do all the steps.")
			a.streams = streams
			a.run(t)
			wellBehaved(t, up.Log())
			retried := 0
			for _, x := range r.wait(len(a.bodies)) {
				if x.Retried {
					retried++
				}
			}
			if retried != 1 || len(up.Log()) != len(a.bodies)+1 {
				t.Errorf("%d requests retried, %d of the client, %d upstream", retried, len(a.bodies), len(up.Log()))
			}
		})
	}
}

// A provider that never has enough is asked twice; then the client gets its own words.
func TestOverflowForEver(t *testing.T) {
	for _, on := range protocol.Protocols {
		t.Run(string(on.Format), func(t *testing.T) {
			up := &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 8, Limit: 10})}
			a := newAgent(on, start(t, up, Options{}), "Do all the steps.")
			_, err := a.send()
			var e *model.APIError
			if !errors.As(err, &e) || e.Status != http.StatusBadRequest || !e.Overflow() ||
				!strings.Contains(e.Message, "10") {
				t.Errorf("the client got %v", err)
			}
			if n := len(up.all()); n > 2 {
				t.Errorf("%d requests went out", n)
			}
		})
	}
}

// A request that is refused without numbers is folded and repeated once.
func TestOverflowWithoutNumbers(t *testing.T) {
	for _, name := range []string{"four-layer", "default"} {
		p, err := policy.ByName(name)
		must(t, err)
		s := &silent{to: upstreamtest.New(upstreamtest.Options{Calls: 12, Bytes: 6_000}), limit: 1 << 20}
		epochs := 0 // for the refusal
		a := newAgent(protocol.Messages, start(t, s, Options{Policy: p, Observe: func(_ context.Context, _ store.SessionKey, e pleat.Event) {
			if e.Kind == pleat.EventEpoch && e.Plan.Trigger != fold.TriggerTurn {
				epochs++
			}
		}}), "Do all the steps.")
		for range 8 {
			a.turn(t)
		}
		s.limit = 0
		if _, err := a.send(); err == nil || s.refused != 2 || epochs != 1 {
			t.Errorf("%s: refused %d times, %d epochs: %v", name, s.refused, epochs, err)
		}
	}
}

// What cannot fit is refused in the provider's words, and nothing is sent.
func TestCannotFit(t *testing.T) {
	for _, on := range protocol.Protocols {
		t.Run(string(on.Format), func(t *testing.T) {
			up, r := &capture{to: upstreamtest.New(upstreamtest.Options{})}, newReports()
			a := newAgent(on, start(t, up, Options{Window: 4_000, Report: r.add}), "Do all the steps.")
			words, _ := json.Marshal(strings.Repeat("many different words here ", 4_000))
			a.tools = strings.ReplaceAll(a.toolList(), `"Run."`, string(words))
			_, err := a.send()
			var e *model.APIError
			if !errors.As(err, &e) || e.Status != http.StatusBadRequest || !e.Overflow() {
				t.Errorf("the client got %v", err)
			}
			if n := len(up.all()); n != 0 {
				t.Errorf("%d requests went out", n)
			}
			if err := r.wait(1)[0].Err; !errors.Is(err, fold.ErrCannotFit) {
				t.Errorf("reported as %v", err)
			}
		})
	}
}

// Other errors are the client's: they pass byte for byte, once.
func TestErrorsPass(t *testing.T) {
	for _, how := range []string{"429", "500", "529"} {
		up := upstreamtest.New(upstreamtest.Options{Calls: 4, FailAt: 2, Fail: how})
		a := newAgent(protocol.Messages, start(t, up, Options{}), "Do all the steps.")
		var failed *model.APIError
		for {
			more, err := a.step()
			if errors.As(err, &failed) {
				continue // as a client does
			}
			must(t, err)
			if !more {
				break
			}
		}
		if failed == nil || len(up.Log()) != len(a.bodies) {
			t.Errorf("%s: the client got %v; %d requests upstream, %d of the client", how, failed,
				len(up.Log()), len(a.bodies))
		}
	}
}
