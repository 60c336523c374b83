package pleat_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/gemini"
	"github.com/pleat-dev/pleat/wire/openai"
)

// wireFormat is one wire as the engine's callers use it.
type wireFormat struct {
	format transcript.Format
	encode func(*model.Request) ([]byte, error)
	decode func([]byte) (wireRequest, error)
	codec  transcript.Codec
	hash   func(raw []byte) transcript.Hash
	check  func(transcript.View, *transcript.Transcript) error
}

type wireRequest interface {
	Splice(v transcript.View, tools ...model.Tool) ([]byte, error)
	Check(model.Model) []transcript.Violation
}

func wireFormats() []wireFormat {
	return []wireFormat{
		{
			transcript.FormatAnthropic, anthropic.Encode,
			func(b []byte) (wireRequest, error) { return anthropic.Decode(b) }, anthropic.DecodeMessage,
			anthropic.MessageHash, anthropic.Checker(model.Model{}),
		},
		{
			transcript.FormatChat, openai.EncodeChat,
			func(b []byte) (wireRequest, error) { return openai.DecodeChat(b) }, openai.DecodeChatMessage,
			openai.ChatMessageHash, openai.ChatChecker(model.Model{}),
		},
		{
			transcript.FormatResponses, openai.EncodeResponses,
			func(b []byte) (wireRequest, error) { return openai.DecodeResponses(b) }, openai.DecodeItem,
			openai.ItemHash, openai.ResponsesChecker(model.Model{}),
		},
		{
			transcript.FormatGemini, gemini.Encode,
			func(b []byte) (wireRequest, error) { return gemini.Decode(b) }, gemini.DecodeMessage,
			gemini.MessageHash, gemini.Checker(model.Model{}),
		},
	}
}

func messagesOf(r wireRequest) []transcript.Message {
	switch r := r.(type) {
	case *anthropic.Request:
		return r.Messages
	case *openai.ChatRequest:
		return r.Messages
	case *openai.ResponsesRequest:
		return r.Messages
	case *gemini.Request:
		return r.Messages
	}
	return nil
}

// TestEngineOnWires plays growing requests of a client through a session. Between two epochs each that goes out
// repeats the bytes of the one before it.
func TestEngineOnWires(t *testing.T) {
	n := uint64(60)
	if testing.Short() {
		n = 10
	}
	for _, w := range wireFormats() {
		t.Run(string(w.format), func(t *testing.T) {
			t.Parallel()
			for seed := range n {
				stableCase(t, w, seed)
			}
		})
	}
}

func stableCase(t *testing.T, w wireFormat, seed uint64) {
	noThink := w.format != transcript.FormatAnthropic || seed%2 == 0
	msgs := pleattest.Transcripts{Legal: true, NoThink: noThink}.Make(seed)
	s := open(t, store.NewMemory(), &pleat.Options{
		Budget: fold.Budget{Window: 8_000}, Tokens: counter,
		Codecs: map[transcript.Format]transcript.Codec{w.format: w.codec}, Check: w.check,
	})
	var ends []int // a request ends with all that the model is to answer
	for end := 1; end <= len(msgs); end++ {
		if msgs[end-1].Role() != transcript.RoleAssistant &&
			(end == len(msgs) || msgs[end].Role() == transcript.RoleAssistant) {
			ends = append(ends, end)
		}
	}
	var before []transcript.Hash
	epoch, name := 0, fmt.Sprint("seed ", seed)
	play(t, name, w, model.Model{}, s, msgs, ends, func(sent wireRequest) {
		var hashes []transcript.Hash
		for _, m := range messagesOf(sent) {
			hashes = append(hashes, w.hash([]byte(m.Raw())))
		}
		now := s.Snapshot().Epoch
		if now == epoch && (len(hashes) < len(before) || !slices.Equal(before, hashes[:len(before)])) {
			t.Fatalf("%s, epoch %d: what was sent is not what it was", name, epoch)
		}
		epoch, before = now, hashes
	})
}

// play hands a session the requests of a client as a proxy does, each with the messages up to one of the ends: it
// is decoded, what is new appended, and the view spliced into its bytes. Each that goes out is legal.
func play(t *testing.T, name string, w wireFormat, m model.Model, s *pleat.Session, msgs []transcript.Message,
	ends []int, sends func(wireRequest),
) {
	ctx := t.Context()
	for _, end := range ends {
		body, err := w.encode(&model.Request{Model: "m", MaxTokens: 100, Messages: msgs[:end]})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m.Thinking.First {
			body = []byte(`{"thinking":{"type":"enabled","budget_tokens":1024},` + string(body[1:]))
		}
		req, err := w.decode(body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if bad := req.Check(m); len(bad) > 0 && w.format == transcript.FormatAnthropic {
			t.Fatalf("%s: the request is not legal as it comes: %v", name, bad)
		}
		if err := s.Append(ctx, messagesOf(req)[s.Len():]...); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		v, err := s.View(ctx, pleat.Turn{})
		if err != nil {
			t.Fatalf("%s, %d messages: %v", name, s.Len(), err)
		}
		out, err := req.Splice(v)
		if err != nil {
			t.Fatalf("%s: splice: %v", name, err)
		}
		if v.IsWhole(s.Len()) && string(out) != string(body) {
			t.Fatalf("%s: the whole view changed bytes", name)
		}
		sent, err := w.decode(out)
		if err != nil {
			t.Fatalf("%s: what was sent cannot be read: %v\n%s", name, err, out)
		}
		if bad := transcript.NewViolations(req.Check(m), sent.Check(m)); len(bad) > 0 {
			t.Fatalf("%s, %d messages: illegal: %v\n%s", name, s.Len(), bad, shape(messagesOf(sent)))
		}
		sends(sent)
	}
}
