package anthropic

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/wire/wiretest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

func TestMarkedView(t *testing.T) {
	body := func(system, first, last string) string {
		return `{"model":"m","max_tokens":9,"system":[` + system + `],"messages":[` +
			`{"role":"user","content":[{"type":"text","text":"go"}]},` +
			`{"role":"assistant","content":[` + first + `]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"long"}]},` +
			`{"role":"assistant","content":[{"type":"text","text":"done"}]},` +
			`{"role":"user","content":[` + last + `]}]}`
	}
	const (
		plain    = `{"type":"text","text":"next"}`
		marked   = `{"type":"text","text":"next","cache_control":{"type":"ephemeral"}}`
		hour     = `{"type":"text","text":"next","cache_control":{"type":"ephemeral","ttl":"1h"}}`
		odd      = `{"type":"text","text":"next","cache_control":{"type":"ephemeral","ttl":"\u0001"}}`
		call     = `{"type":"tool_use","id":"a","name":"f","input":{}}`
		thinking = `{"type":"thinking","thinking":"so","signature":"s"}`
		twice    = marked + "," + marked
	)
	fold := []transcript.BlockEdit{{Block: 0, Text: "stub"}}
	tests := []struct {
		name                string
		system, first, last string
		marker              int
		want                string // the marked block; empty: nothing is added
	}{
		{
			"a call", marked, call, marked, 2,
			`{"type":"tool_use","id":"a","name":"f","input":{},"cache_control":{"type":"ephemeral"}}`,
		},
		{"a stub", marked, call, marked, 3, `"content":"stub","cache_control":{"type":"ephemeral"}}`},
		{
			"the lifetime of the client's", hour, call, hour, 2,
			`"input":{},"cache_control":{"type":"ephemeral","ttl":"1h"}}`,
		},
		{
			"a lifetime that nobody knows", odd, call, odd, 2,
			`"input":{},"cache_control":{"type":"ephemeral","ttl":"\u0001"}}`,
		},
		{
			"not thinking", marked, thinking, marked, 2,
			`{"type":"text","text":"go","cache_control":{"type":"ephemeral"}}`,
		},
		{"a client that does not mark its messages", marked, call, plain, 2, ""},
		{"a client that uses all", twice, call, twice, 2, ""},
		{"what is marked already", plain, call, marked, 5, ""},
		{"nothing before it", marked, call, marked, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := mustDecode(t, body(tt.system, tt.first, tt.last))
			v := transcript.Whole(5)
			v.Messages[2].Edits = fold
			without, err := r.Splice(v)
			must(t, err)
			v.Marker = tt.marker
			out, err := r.Splice(v)
			must(t, err)
			switch {
			case tt.want == "" && !bytes.Equal(out, without):
				t.Errorf("got %s, want no other marker", out)
			case !strings.Contains(string(out), tt.want):
				t.Errorf("got %s, want in it %s", out, tt.want)
			}
		})
	}
}

// TestMarkersAreHarmless: a marker changes nothing but markers, and never makes a request
// illegal.
func TestMarkersAreHarmless(t *testing.T) {
	added := 0
	for seed := range uint64(2000) {
		body := newGen(seed).body()
		r := mustDecode(t, string(body))
		rng := rand.New(rand.NewPCG(seed, 9))
		v := wiretest.RandomView(&r.body, rng)
		without, err := r.Splice(v)
		if err != nil {
			continue
		}
		v.Marker = rng.IntN(len(v.Messages) + 2)
		with, err := r.Splice(v)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if bytes.Equal(with, without) {
			continue
		}
		added++
		a, errA := Decode(without)
		b, errB := Decode(with)
		if errA != nil || errB != nil {
			t.Fatalf("seed %d: %v, %v", seed, errA, errB)
		}
		if !slices.Equal(a.Hashes(), b.Hashes()) {
			t.Fatalf("seed %d: more than a marker changed:\n%s\n%s", seed, without, with)
		}
		if n, m := len(a.Markers()), len(b.Markers()); m != n+1 || m > 4 {
			t.Fatalf("seed %d: %d markers became %d", seed, n, m)
		}
		if bad := transcript.NewViolations(a.Check(model.Model{}), b.Check(model.Model{})); len(bad) > 0 {
			t.Fatalf("seed %d: %s\n%s", seed, bad[0], with)
		}
	}
	if added < 20 {
		t.Errorf("only %d requests of the generator took a marker", added)
	}
}

// TestEncodeMarked: a request from scratch marks its head, its end, and the place that it
// is told.
func TestEncodeMarked(t *testing.T) {
	msgs := []transcript.Message{
		transcript.User("go"), transcript.Assistant(transcript.Call("a", "f",
			"{}")), transcript.Results(transcript.Result("a", "long")),
		transcript.User("and then"), transcript.Assistant(transcript.Say("done")), transcript.User("next"),
	}
	for marker, want := range []string{
		"", `{"type":"text","text":"go","cache_control":{"type":"ephemeral"}}`,
		`"name":"f","input":{},"cache_control":{"type":"ephemeral"}}`,
		// the result stands in one message with what was said then
		`"name":"f","input":{},"cache_control":{"type":"ephemeral"}}`,
		`{"type":"text","text":"and then","cache_control":{"type":"ephemeral"}}`,
		`{"type":"text","text":"done","cache_control":{"type":"ephemeral"}}`,
	} {
		out, err := Encode(&model.Request{Model: "m", System: "s", SessionKey: "k", Messages: msgs, Marker: marker})
		must(t, err)
		r := mustDecode(t, string(out))
		n := 2
		if marker > 0 {
			n = 3
		}
		if bad := r.Check(model.Model{}); len(bad) > 0 || len(r.Markers()) != n ||
			!strings.Contains(string(out), want) {
			t.Errorf("marker %d: %v, %v\n%s\nwant in it %s", marker, bad, r.Markers(), out, want)
		}
	}
}
