package gemini

import (
	"bytes"
	"testing"

	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/internal/wire/wiretest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

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
		for _, m := range wiretest.Chunks(t, stream, seed, &recorder{
			stream: wire.Stream{OnDelta: func(model.Delta) {}},
		}, &recorder{}) {
			if _, err := Decode([]byte(`{"contents":[` + m.Raw() + `]}`)); err != nil {
				t.Fatalf("answer cannot be sent back: %v\n%s", err, m.Raw())
			}
		}
	})
}
