package anthropic

import (
	"bytes"
	"testing"

	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/internal/wire/wiretest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

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
		for _, m := range wiretest.Chunks(t, stream, seed, &recorder{
			stream: wire.Stream{OnDelta: func(model.Delta) {}},
		}, &recorder{}) {
			if _, err := Decode([]byte(`{"messages":[` + m.Raw() + `]}`)); err != nil {
				t.Fatalf("answer cannot be sent back: %v\n%s", err, m.Raw())
			}
		}
	})
}
