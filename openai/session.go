package openai

import (
	"fmt"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/wire"
)

// ChatChecker returns a check for [pleat.Options]: it refuses views that the Chat
// Completions wire would refuse for the model.
func ChatChecker(m pleat.Model) func(pleat.View, *pleat.Transcript) error {
	return wire.Checker(EncodeChat, func(body []byte) ([]pleat.Violation, error) {
		r, err := DecodeChat(body)
		if err != nil {
			return nil, err
		}
		return r.Check(m), nil
	})
}

// ResponsesChecker is [ChatChecker] for the Responses wire.
func ResponsesChecker(m pleat.Model) func(pleat.View, *pleat.Transcript) error {
	return wire.Checker(EncodeResponses, func(body []byte) ([]pleat.Violation, error) {
		r, err := DecodeResponses(body)
		if err != nil {
			return nil, err
		}
		return r.Check(m), nil
	})
}

// DecodeChatMessage reads one element of a messages array: the [pleat.Codec] of the Chat
// Completions wire. It keeps nothing of raw.
func DecodeChatMessage(raw []byte) (pleat.Message, error) {
	r, err := DecodeChat(list(`{"messages":[`, raw))
	if err != nil {
		return pleat.Message{}, fmt.Errorf("decode message: %w", err)
	}
	return only(r.Messages)
}

// DecodeItem reads one item of a Responses input: the [pleat.Codec] of that wire. It
// keeps nothing of raw.
func DecodeItem(raw []byte) (pleat.Message, error) {
	r, err := DecodeResponses(list(`{"input":[`, raw))
	if err != nil {
		return pleat.Message{}, fmt.Errorf("decode item: %w", err)
	}
	return only(r.Messages)
}

func list(open string, raw []byte) []byte {
	body := append(make([]byte, 0, len(open)+len(raw)+2), open...)
	return append(append(body, raw...), `]}`...)
}

func only(msgs []pleat.Message) (pleat.Message, error) {
	if len(msgs) != 1 {
		return pleat.Message{}, fmt.Errorf("decode message: %d elements, want one", len(msgs))
	}
	return msgs[0], nil
}
