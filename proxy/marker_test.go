package proxy

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

// promptCache is a provider's cache that keeps prompts up to markers and finds them at
// most twenty blocks before one.
type promptCache map[transcript.Hash]bool

// take sends it a request and returns how many of its messages are read from the cache.
// Without marks of the proxy only the automatic one counts.
func (c promptCache) take(t *testing.T, body []byte, all bool) (found, markers int) {
	t.Helper()
	r, err := anthropic.Decode(body)
	must(t, err)
	// the head of a test does not change otherwise
	prefixes := []transcript.Hash{transcript.HashOf(fmt.Sprint(len(r.System), len(r.Tools)))}
	for _, m := range r.Messages {
		h := anthropic.MessageHash([]byte(m.Raw()))
		prefixes = append(prefixes, transcript.HashOf(prefixes[len(prefixes)-1].String()+h.String()))
	}
	var places []int
	for _, m := range r.Markers() {
		place := len(r.Messages)
		if m.Path != "" {
			if !all {
				continue
			}
			n, err := strconv.Atoi(strings.Split(m.Path, ".")[1])
			if err != nil || !strings.HasPrefix(m.Path, "messages.") {
				t.Fatalf("there is a marker at %q", m.Path)
			}
			place = n + 1
		}
		places = append(places, place)
	}
	for _, p := range places {
		for n, blocks := p, 0; n > 0 && blocks <= 20; n-- {
			if c[prefixes[n]] {
				found = max(found, n)
				break
			}
			blocks += r.Messages[n-1].Blocks().Len()
		}
	}
	for _, p := range places {
		c[prefixes[p]] = true
	}
	return found, len(places)
}

// Where the client has its prompts cached, what a fold leaves as it was is read from the
// cache: without another marker the end of the request finds nothing of it.
func TestMarkerAtFold(t *testing.T) {
	up := &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 40, Bytes: 4_000})}
	masks := policy.Default() // a page would leave nothing of the cache to find
	masks.AtRed = fold.Change(masks.AtRed, func(g *lever.Digest) { g.Spare = 0 })
	a := newAgent(protocol.Messages, start(t, up, Options{Window: window, Now: clock(), Policy: masks}), "Do all the steps.")
	a.extra = `,"cache_control":{"type":"ephemeral"}`
	a.run(t)
	with, without := promptCache{}, promptCache{}
	read, alone, marked := 0, 0, 0
	for i, body := range up.all() {
		n, markers := with.take(t, body, true)
		m, _ := without.take(t, body, false)
		if read, alone = read+n, alone+m; markers > 1 {
			marked++
		}
		if markers > 2 || i < 3 && markers > 1 {
			t.Errorf("request %d has %d markers", i, markers)
		}
	}
	t.Logf("%d requests, %d with a marker of the proxy: %d messages from the cache, %d without", len(up.all()), marked,
		read, alone)
	if marked == 0 || read <= alone {
		t.Errorf("the markers of %d requests found %d messages, those of the client alone %d", marked, read, alone)
	}

	plain := &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 40, Bytes: 4_000})}
	b := newAgent(protocol.Messages, start(t, plain, Options{Window: window, Now: clock()}), "Do all the steps.")
	b.run(t)
	for i, body := range plain.all() {
		if strings.Contains(string(body), "cache_control") {
			t.Fatalf("request %d of a client that caches nothing has a marker", i)
		}
	}
}
