package gemini

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/jsonspan"
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
	Edited: func(was, is transcript.Block, content jsonspan.Span) error {
		isText := was.Kind() == transcript.KindText
		if !isText && content.Len() > 0 && signatureOf(is) != signatureOf(was) {
			return errors.New("lost its signature")
		}
		if isText && len(signatureOf(is)) > len(`""`) {
			return errors.New("kept the signature of other words")
		}
		return nil
	},
}

func TestLossless(t *testing.T)    { onWire.TestLossless(t) }
func TestDecodeAfter(t *testing.T) { onWire.TestAfter(t) }
func FuzzSplice(f *testing.F)      { onWire.FuzzSplice(f) }

// signatureOf is the literal of a part's signature, "" if it has none.
func signatureOf(b transcript.Block) string {
	raw := ownRaw(b)
	for name, v := range jsonspan.Value(raw).Fields() {
		if camel(name) == "thoughtSignature" {
			return string(v)
		}
	}
	return ""
}

// What clients change from request to request without meaning anything by it leaves the
// hashes alone, and everything else does not.
func TestHashes(t *testing.T) {
	a := decode(t, `{"systemInstruction":{"parts":[{"text":"s"}]},"tools":[{"functionDeclarations":[{"name":"x"}]}],"contents":[{"parts":[{"text":"hi"}]}]}`)
	b := decode(t, `{"tools":[ {"functionDeclarations": [{"name": "x"}]} ],"contents":[ {"parts": [{"text":"hi"}]} ],"systemInstruction":{"parts": [{"text":"s"}]}}`)
	c := decode(t, `{"systemInstruction":{"parts":[{"text":"s2"}]},"tools":[{"functionDeclarations":[{"name":"x"}]}],"contents":[{"parts":[{"text":"hi!"}]}]}`)
	if a.Hashes()[0] != b.Hashes()[0] || a.Hashes()[0] == c.Hashes()[0] ||
		a.Hashes()[0] != MessageHash([]byte(a.Messages[0].Raw())) {
		t.Error("message hashes")
	}
	const call = `{"role":"model","parts":[{"functionCall":{"name":"f"}%s}]}`
	hash := func(signature string) transcript.Hash { return MessageHash(fmt.Appendf(nil, call, signature)) }
	if hash("") != hash(`, "thoughtSignature": "skip_thought_signature_validator"`) ||
		hash("") == hash(`,"thoughtSignature":"cw=="`) {
		t.Error("hashes of signed messages")
	}
}

// Violations are those for a model that wants signatures.
func TestConversations(t *testing.T) {
	signed, _ := model.DefaultModels().Lookup("gemini-3.1-pro-preview")
	wiretest.Conversations(t,
		func(t *testing.T, body string, edits func(int) transcript.View) (decoded, violations, result string) {
			r := decode(t, body)
			out, err := r.Splice(edits(len(r.Messages)))
			must(t, err)
			var found strings.Builder
			for _, v := range decode(t, string(out)).Check(signed) {
				fmt.Fprintf(&found, "%s %s\n", v.Rule, v)
			}
			return wiretest.Blocks(r.Messages), found.String(), string(out)
		})
}

// FuzzDecode: nothing panics, and what is accepted goes back byte for byte.
func FuzzDecode(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(newGen(seed).body())
	}
	for _, tt := range rules {
		f.Add([]byte(tt.bad))
		f.Add([]byte(tt.good))
	}
	signed, _ := model.DefaultModels().Lookup("gemini-3.1-pro-preview")
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
		if len(r.Hashes()) != len(r.Messages) {
			t.Fatalf("%d messages, %d hashes", len(r.Messages), len(r.Hashes()))
		}
		for i, m := range r.Messages {
			if got, want := len(r.body.Elements[i].Places), m.Blocks().Len(); got != want {
				t.Fatalf("message %d has %d places for %d blocks", i, got, want)
			}
		}
		r.Check(model.Model{})
		r.Check(signed)
		if out, err := Encode(&model.Request{Model: signed.ID, Messages: r.Messages}); err == nil {
			if _, err := Decode(out); err != nil {
				t.Fatalf("encoded from scratch: %v\n%s", err, out)
			}
		}
		if out, err := alignIDs(body); err == nil {
			if _, err := Decode(out); err != nil {
				t.Fatalf("aligned: %v\n%s", err, out)
			}
		}
		if out, err := joinResponses(body); err == nil {
			if _, err := Decode(out); err != nil {
				t.Fatalf("joined: %v\n%s", err, out)
			}
		}
	})
}

// FuzzRecorder: any bytes in any chunks give the same answer, which can be sent back.
func FuzzRecorder(f *testing.F) {
	for i, tt := range replies {
		f.Add([]byte(events(tt.chunks...)), uint64(i))
	}
	f.Add([]byte("data: {\"candidates\":[{}]}\r\n\r\ndata: {\"error\":{}}"), uint64(3))
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		for _, m := range wiretest.Chunks(t, stream, seed, NewRecorder(func(model.Delta) {}, 0), NewRecorder(nil, 0)) {
			if _, err := Decode([]byte(`{"contents":[` + m.Raw() + `]}`)); err != nil {
				t.Fatalf("answer cannot be sent back: %v\n%s", err, m.Raw())
			}
		}
	})
}
