package openai

import (
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// ChatChecker returns a check for [pleat.Options]: it refuses views that the Chat
// Completions wire would refuse for the model.
func ChatChecker(m model.Model) func(transcript.View, *transcript.Transcript) error {
	return wire.Checker(m, EncodeChat, DecodeChat)
}

// ResponsesChecker is [ChatChecker] for the Responses wire.
func ResponsesChecker(m model.Model) func(transcript.View, *transcript.Transcript) error {
	return wire.Checker(m, EncodeResponses, DecodeResponses)
}

// DecodeChatMessage reads one element of a messages array: the [pleat.Codec] of the Chat
// Completions wire. It keeps nothing of raw.
func DecodeChatMessage(raw []byte) (transcript.Message, error) {
	return wire.DecodeOne(`{"messages":[`, raw, func(body []byte) ([]transcript.Message, error) {
		r, err := DecodeChat(body)
		if err != nil {
			return nil, err
		}
		return r.Messages, nil
	})
}

// DecodeItem reads one item of a Responses input: the [pleat.Codec] of that wire. It
// keeps nothing of raw.
func DecodeItem(raw []byte) (transcript.Message, error) {
	return wire.DecodeOne(`{"input":[`, raw, func(body []byte) ([]transcript.Message, error) {
		r, err := DecodeResponses(body)
		if err != nil {
			return nil, err
		}
		return r.Messages, nil
	})
}
