package openai

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/pleat-dev/pleat/transcript"
)

// A body that is decoded after another one is decoded as by itself, whatever the other held;
// and what both hold is taken from the other.
func TestDecodeAfter(t *testing.T) {
	after := map[string]func(earlier request, body []byte) (request, error){
		"chat": func(e request, body []byte) (request, error) {
			return DecodeChatAfter(e.(*ChatRequest).Earlier(), body)
		},
		"responses": func(e request, body []byte) (request, error) {
			return DecodeResponsesAfter(e.(*ResponsesRequest).Earlier(), body)
		},
	}
	for _, d := range decoders {
		t.Run(d.name, func(t *testing.T) {
			reused := 0
			for seed := range uint64(300) {
				g := newGen(seed)
				body := d.make(g)
				want, err := d.decode(body)
				if err != nil {
					t.Fatal(err)
				}
				for _, before := range [][]byte{
					body, shorter(t, want, g), d.make(g),
					bytes.ReplaceAll(body, []byte("text"), []byte("test")),
				} {
					earlier, err := d.decode(before)
					if err != nil {
						continue
					}
					got, err := after[d.name](earlier, body)
					if err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
					if !reflect.DeepEqual(got, want) {
						t.Fatalf("seed %d: decoded after\n%s\nthis is another request:\n%s", seed, before, body)
					}
					for i := range min(len(got.common().Messages), len(earlier.common().Messages)) {
						p, q := got.common().body.Elements[i].Places, earlier.common().body.Elements[i].Places
						if len(p) > 0 && len(q) > 0 && &p[0] == &q[0] {
							reused++
						}
					}
				}
			}
			if reused < 1000 {
				t.Errorf("%d messages were taken from an earlier request", reused)
			}
		})
	}
}

// shorter is the request without some of its messages, if that can be written.
func shorter(t *testing.T, r request, g gen) []byte {
	var v transcript.View
	for i := range r.common().Messages {
		if g.chance(0.9) {
			v.Messages = append(v.Messages, transcript.ViewMessage{Source: i})
		}
	}
	out, err := r.Splice(v)
	if err != nil {
		return r.Body()
	}
	return out
}
