package gemini

import (
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// GenerateContent returns what a session needs to talk to the model over this wire.
func GenerateContent(m model.Model) model.Wire {
	return model.Wire{Model: m, Format: transcript.FormatGemini, Codec: DecodeMessage, Check: Checker(m)}
}

// Checker returns the check of [GenerateContent]: it refuses views that this wire would
// refuse for the model. With the zero Model it has only the rules that hold for all models.
func Checker(m model.Model) func(transcript.View, *transcript.Transcript) error {
	encode := func(req *model.Request) ([]byte, error) { return encodeAsIs(req, m.Thinking.Signed) }
	return wire.Checker(m, encode, Decode)
}

// DecodeMessage reads one element of a contents array: it is the [transcript.Codec] of this
// wire. It keeps nothing of raw.
func DecodeMessage(raw []byte) (transcript.Message, error) {
	return wire.DecodeOne("contents", raw, Decode, func(r *Request) []transcript.Message { return r.Messages })
}
