package anthropic

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/internal/wire/wiretest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// onWire is what binds every wire.
var onWire = wiretest.Wire[*Request]{
	Decode: Decode,
	After:  func(earlier *Request, body []byte) (*Request, error) { return DecodeAfter(earlier.Earlier(), body) },
	Parts:  func(r *Request) (*wire.Body, []transcript.Message) { return &r.body, r.Messages },
	Encode: EncodeMessage,
	Generate: func(seed uint64) (*rand.Rand, func() []byte) {
		g := newGen(seed)
		return g.Rand, g.body
	},
}

func TestLossless(t *testing.T)    { onWire.TestLossless(t) }
func TestDecodeAfter(t *testing.T) { onWire.TestAfter(t) }
func FuzzSplice(f *testing.F)      { onWire.FuzzSplice(f) }

// TestHashesNormal checks that what clients change from request to request leaves the
// hashes alone, and that everything else does not.
func TestHashesNormal(t *testing.T) {
	a := mustDecode(t, `{"system":"s","tools":[{"name":"x"}],"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{"cache_control":1}}]}]}`)
	b := mustDecode(t, `{"messages":[ {"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]},
		{"role": "assistant", "content": [{"type":"tool_use","id":"t","name":"n","input":{"cache_control": 1},"cache_control":{"type":"ephemeral"}}]}],
		"tools":[{"name":"x","cache_control":{"type":"ephemeral"}}],"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}]}`)
	c := mustDecode(t, `{"system":"s2","tools":[{"name":"x"}],"messages":[{"role":"user","content":"hi!"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{"cache_control":2}}]}]}`)
	for i := range a.Messages {
		if a.Hashes()[i] != b.Hashes()[i] {
			t.Errorf("message %d: the same content has different hashes", i)
		}
		if a.Hashes()[i] == c.Hashes()[i] {
			t.Errorf("message %d: different content has the same hash", i)
		}
	}
}

// Violations are those for the model of the request. Markers are listed after the blocks.
func TestConversations(t *testing.T) {
	wiretest.Conversations(t,
		func(t *testing.T, body string, edits func(int) transcript.View) (decoded, violations, result string) {
			r := mustDecode(t, body)
			decoded = wiretest.Blocks(r.Messages)
			for _, m := range r.Markers() {
				decoded += fmt.Sprintf("marker %s %s\n", m.Path, m.TTL)
			}
			out, err := r.Splice(edits(len(r.Messages)))
			must(t, err)
			model, _ := model.DefaultModels().Lookup(r.Model)
			var found strings.Builder
			for _, v := range mustDecode(t, string(out)).Check(model) {
				fmt.Fprintf(&found, "%s %s\n", v.Rule, v)
			}
			return decoded, found.String(), string(out)
		})
}

func fuzzModels() []model.Model {
	var out []model.Model
	for _, id := range []string{"claude-opus-5-5", "claude-sonnet-4-5"} {
		m, _ := model.DefaultModels().Lookup(id)
		out = append(out, m)
	}
	return append(out, model.Model{})
}

// FuzzDecode: nothing panics, and what is accepted goes back byte for byte.
func FuzzDecode(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(newGen(seed).body())
	}
	for _, list := range [][]rule{
		pairRules, contentRules, roleRules, cacheRules, paramRules, serverRules,
		compactionRules,
	} {
		for _, tt := range list {
			f.Add([]byte(tt.bad))
			f.Add([]byte(tt.good))
		}
	}
	models := fuzzModels()
	f.Fuzz(func(t *testing.T, body []byte) {
		DecodeReply(body)
		original := bytes.Clone(body)
		r, err := Decode(body)
		if err != nil {
			return
		}
		out, err := r.Splice(transcript.Whole(len(r.Messages)))
		if err != nil || !bytes.Equal(out, original) {
			t.Fatalf("whole view is not the body: %v", err)
		}
		if len(r.Hashes()) != len(r.Messages) || len(r.shapes) != len(r.Messages) {
			t.Fatalf("%d messages, %d hashes, %d shapes", len(r.Messages), len(r.Hashes()), len(r.shapes))
		}
		for i, m := range r.Messages {
			if got, want := len(r.body.Elements[i].Places), m.Blocks().Len(); got != want {
				t.Fatalf("message %d has %d places for %d blocks", i, got, want)
			}
		}
		for _, m := range models {
			r.Check(m)
		}
		if out, err := Encode(&model.Request{Messages: r.Messages}); err == nil {
			if _, err := Decode(out); err != nil {
				t.Fatalf("encoded from scratch: %v\n%s", err, out)
			}
		}
	})
}

// FuzzRecorder: any bytes in any chunks give the same answer, which can be sent back.
func FuzzRecorder(f *testing.F) {
	f.Add([]byte(full()), uint64(1))
	f.Add([]byte(stream(startEvent, `{"type":"content_block_delta","index":0,"delta":{}}`, `{"type":"error"}`)),
		uint64(2))
	f.Add([]byte("data: {\"type\":\"message_start\"}\r\n\r\ndata: {\"type\":\"message_stop\"}"), uint64(3))
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		for _, m := range wiretest.Chunks(t, stream, seed, NewRecorder(func(model.Delta) {}, 0), NewRecorder(nil, 0)) {
			if _, err := Decode([]byte(`{"messages":[` + m.Raw() + `]}`)); err != nil {
				t.Fatalf("answer cannot be sent back: %v\n%s", err, m.Raw())
			}
		}
	})
}
