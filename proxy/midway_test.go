package proxy

import (
	"regexp"
	"testing"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
)

// saysBack finds what tells a model how to get something back, or not to ask for it again.
var saysBack = regexp.MustCompile(`unfold\(|search\(|ledger\(|Nothing is lost|do not repeat it`)

// A conversation that is first seen midway has no tools of ours, so nothing in its views
// names them, and nothing forbids the model to run a call again to see its result.
func TestMidway(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
		up := upstreamtest.New(upstreamtest.Options{Calls: 20, Bytes: 12_000})
		seen := &capture{to: up}
		a := newAgent(on, serve(t, up).String(), "Do all the steps.")
		a.streams = streams
		for range 12 {
			a.turn(t)
		}
		a.url = start(t, seen, Options{Window: window})
		a.run(t)
		folded := false
		for i, body := range seen.all() {
			folded = folded || regexp.MustCompile(`\[(folded|pleat): `).Match(body)
			if got := saysBack.Find(body); got != nil {
				t.Fatalf("request %d says %q: %s", i, got, body)
			}
		}
		if !folded {
			t.Error("nothing was folded")
		}
	})
}

// A conversation that is first seen midway is known again when its client goes back behind what
// it began with: requests that begin with the same answer have the same tools.
func TestBackBehindMidway(t *testing.T) {
	m := &recalling{script: upstreamtest.New(upstreamtest.Options{Calls: 9, Bytes: 600})}
	a := newAgent(protocol.Messages, startAt(t, serve(t, m), Options{Window: window}), "Do all the steps.")
	a.streams = false
	for range 3 {
		a.turn(t)
	}
	edited := []string{said("user", "Do some steps."), said("assistant", "Which?"), said("user", "The first.")}
	for _, rest := range [][]string{a.history[1:], {}, {said("assistant", "Really?"), said("user", "Yes.")}} {
		b := *a
		b.history = append(edited[:3:3], rest...)
		b.ask(t)
		if !m.tools {
			t.Errorf("%d messages behind the third: no recall tools are offered", len(rest))
		}
	}
}
