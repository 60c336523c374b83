package anthropic

import (
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
