package proxy

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/transcript"
)

const (
	oldCleared = "[Old tool result content cleared]"
	atEnd      = `,"cache_control":{"type":"ephemeral"}`
)

// clear writes something over all results but the newest, as clients do to make room.
func (a *agent) clear(t *testing.T, keep int, with string) {
	t.Helper()
	for i, raw := range a.history[:max(len(a.history)-keep, 0)] {
		m, err := a.on.Codec([]byte(raw))
		must(t, err)
		var edits []transcript.BlockEdit
		for b, block := range m.Blocks().All() {
			if block.Kind() == transcript.KindToolResult {
				edits = append(edits, transcript.BlockEdit{Block: b, Text: with})
			}
		}
		m, err = a.on.Edited(m, edits)
		must(t, err)
		a.history[i] = m.Raw()
	}
}

// mark moves the cache marker to the newest message, as Claude Code does.
func (a *agent) mark() {
	for i, raw := range a.history {
		a.history[i] = strings.ReplaceAll(raw, atEnd, "")
	}
	if last := &a.history[len(a.history)-1]; a.on == protocol.Messages && strings.HasSuffix(*last, "}]}") {
		*last = strings.TrimSuffix(*last, "}]}") + atEnd + "}]}"
	}
}

// A client clears old results again and again: the conversation stays one session, whose view goes on
// as it was, with the originals or their stubs, and what is recalled is the original.
func TestClearedByClient(t *testing.T) {
	for _, every := range []int{1, 4} {
		eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
			up := upstreamtest.New(upstreamtest.Options{
				Calls: 20, Bytes: 6_000, Parallel: 2, Limit: window, RecallAt: 12, Thinking: true,
			})
			reports, seen := newReports(), &capture{to: up}
			h, url := startHandler(t, seen, Options{Window: window, Report: reports.add, Now: clock()})
			a := newAgent(on, url, "Do all the steps.")
			a.streams = streams
			for n, more := 1, true; more; n++ {
				a.mark()
				var err error
				if more, err = a.step(); err != nil {
					t.Fatal(err)
				}
				if n%every == 0 {
					a.clear(t, 5, oldCleared)
				}
			}
			wellBehaved(t, up.Log())
			recalled, folded := "", false
			for _, x := range up.Log() {
				folded = folded || x.Folded
				if recalled == "" {
					recalled = x.Recalled
				}
			}
			if list := h.Sessions(); len(list) != 1 || recalled != "exact" || !folded {
				t.Errorf("%d sessions, recalled %q, folded %t", len(list), recalled, folded)
			}
			epochs := 0
			for _, x := range reports.wait(len(a.bodies)) {
				epochs += x.Epochs
			}
			for i, body := range seen.all() {
				if strings.Contains(string(body), oldCleared) {
					t.Errorf("request %d has what the client put there", i)
				}
			}
			if n := rewritten(t, on, seen.all()); n > epochs {
				t.Errorf("%d requests do not begin with the one before, in %d epochs", n, epochs)
			}
		})
	}
}
