package openai

import (
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Chat returns what a session needs to talk to the model over the Chat Completions wire.
func Chat(m model.Model) model.Wire {
	return model.Wire{Model: m, Format: transcript.FormatChat, Codec: DecodeChatMessage, Check: ChatChecker(m)}
}

// Responses returns what a session needs to talk to the model over the Responses wire.
func Responses(m model.Model) model.Wire {
	return model.Wire{Model: m, Format: transcript.FormatResponses, Codec: DecodeItem, Check: ResponsesChecker(m)}
}

// ChatChecker returns the check of [Chat]: it refuses views that the Chat Completions wire
// would refuse for the model.
func ChatChecker(m model.Model) func(transcript.View, *transcript.Transcript) error {
	return wire.Checker(m, EncodeChat, DecodeChat)
}

// ResponsesChecker is [ChatChecker] for the Responses wire.
func ResponsesChecker(m model.Model) func(transcript.View, *transcript.Transcript) error {
	return wire.Checker(m, EncodeResponses, DecodeResponses)
}

// DecodeChatMessage reads one element of a messages array: it is the [transcript.Codec] of
// the Chat Completions wire. It keeps nothing of raw.
func DecodeChatMessage(raw []byte) (transcript.Message, error) {
	return wire.DecodeOne("messages", raw, DecodeChat, func(r *ChatRequest) []transcript.Message { return r.Messages })
}

// DecodeItem reads one item of a Responses input: it is the [transcript.Codec] of that
// wire. It keeps nothing of raw.
func DecodeItem(raw []byte) (transcript.Message, error) {
	return wire.DecodeOne("input", raw, DecodeResponses, func(r *ResponsesRequest) []transcript.Message { return r.Messages })
}
