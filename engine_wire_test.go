package pleat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// TestEngineOnWires plays growing requests of a client through a session, as a proxy
// does: each request is decoded, what is new appended, the view spliced into its bytes.
// Every request that goes out is legal, fits, and between two epochs repeats the bytes of
// the one before it.
func TestEngineOnWires(t *testing.T) {
	n := uint64(60)
	if testing.Short() {
		n = 10
	}
	for _, w := range wireFormats() {
		t.Run(string(w.format), func(t *testing.T) {
			t.Parallel()
			for seed := range n {
				wireCase(t, w, seed)
			}
		})
	}
}

func wireCase(t *testing.T, w wireFormat, seed uint64) {
	o := pleattest.Transcripts{Legal: true, NoThink: true}
	if w.format == transcript.FormatAnthropic {
		o.NoThink = seed%2 == 0
	}
	msgs := o.Make(seed)
	s, err := pleat.OpenSession(context.Background(), store.NewMemory(), store.SessionKey{Session: "w"}, &pleat.Options{
		Budget: fold.Budget{Window: 8_000}, Tokens: counter,
		Codecs: map[transcript.Format]transcript.Codec{w.format: w.codec}, Check: w.check,
	})
	if err != nil {
		t.Fatal(err)
	}
	var before []transcript.Hash
	epoch := 0
	for end := 1; end <= len(msgs); end++ {
		if msgs[end-1].Role() == transcript.RoleAssistant ||
			end < len(msgs) && msgs[end].Role() != transcript.RoleAssistant {
			continue // a request ends with all that the model is to answer
		}
		body, err := w.encode(&model.Request{Model: "m", MaxTokens: 100, Messages: msgs[:end]})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		req, err := w.decode(body)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		all := messagesOf(req)
		if err := s.Append(context.Background(), all[s.Len():]...); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		v, err := s.View(context.Background(), pleat.Turn{})
		if errors.Is(err, fold.ErrCannotFit) {
			return
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		out, err := req.Splice(v)
		if err != nil {
			t.Fatalf("seed %d: splice: %v", seed, err)
		}
		if v.IsWhole(s.Len()) && string(out) != string(body) {
			t.Fatalf("seed %d: the whole view changed bytes", seed)
		}
		sent, err := w.decode(out)
		if err != nil {
			t.Fatalf("seed %d: what was sent cannot be read: %v\n%s", seed, err, out)
		}
		if bad := transcript.NewViolations(req.Check(model.Model{}), sent.Check(model.Model{})); len(bad) > 0 {
			t.Fatalf("seed %d: illegal: %v", seed, bad)
		}
		var hashes []transcript.Hash
		for _, m := range messagesOf(sent) {
			hashes = append(hashes, w.hash([]byte(m.Raw())))
		}
		if now := s.Snapshot().Epoch; now == epoch {
			if err := prefixOf(before, hashes); err != nil {
				t.Fatalf("seed %d, epoch %d: %v", seed, epoch, err)
			}
		} else {
			epoch = now
		}
		before = hashes
	}
}

func prefixOf(a, b []transcript.Hash) error {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return fmt.Errorf("message %d of %d is not what it was", i, len(a))
		}
	}
	return nil
}

// A constraint in the second turn, forty turns of filler, a compaction, then a request
// that would break it: the model gets the constraint word for word.
func TestConstraintSurvives(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Budget: fold.Budget{Window: 8_000}})
	rule := "Constraint: never modify files under legacy/ - they are frozen for the audit."
	for _, m := range []transcript.Message{
		transcript.User("We are refactoring billing."), transcript.Assistant(transcript.Say("Where do we start?")),
		transcript.User("With invoices. " + rule), transcript.Assistant(transcript.Say("Noted.")),
	} {
		mustAppend(t, s, m)
	}
	for i := range 40 {
		mustAppend(t, s, transcript.User(fmt.Sprint("Carry on with part ", i, ".")))
		work(t, s, i, 1, 1_500)
		view(t, s)
	}
	mustAppend(t, s, transcript.User("Quick cleanup: delete the unused helpers in legacy/utils.py?"))
	if text := allText(view(t, s)); !strings.Contains(text, rule) {
		t.Errorf("the constraint is gone:\n%s", text)
	}
	if len(s.Report().Epochs) == 0 {
		t.Error("nothing was folded")
	}
}
