package openai

import (
	"math/rand/v2"
	"testing"

	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/internal/wire/wiretest"
	"github.com/pleat-dev/pleat/transcript"
)

func TestDecodeAfter(t *testing.T) {
	after := map[string]func(earlier request, body []byte) (request, error){
		"chat": func(e request, body []byte) (request, error) {
			return lift(DecodeChatAfter(e.(*ChatRequest).Earlier(), body))
		},
		"responses": func(e request, body []byte) (request, error) {
			return lift(DecodeResponsesAfter(e.(*ResponsesRequest).Earlier(), body))
		},
	}
	for _, d := range decoders {
		onWire := wiretest.Wire[request]{
			Decode: d.decode,
			After:  after[d.name],
			Parts:  func(r request) (*wire.Body, []transcript.Message) { return &r.common().body, r.common().Messages },
			Generate: func(seed uint64) (*rand.Rand, func() []byte) {
				g := newGen(seed)
				return g.Rand, func() []byte { return d.make(g) }
			},
		}
		t.Run(d.name, onWire.TestAfter)
	}
}
