package anthropic

import (
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Messages returns what a session needs to talk to the model over this wire.
func Messages(m model.Model) model.Wire {
	return model.Wire{Model: m, Format: transcript.FormatAnthropic, Codec: DecodeMessage, Check: Checker(m)}
}

// Checker returns the check of [Messages]: it refuses views that this wire would refuse for
// the model. With the zero Model it has only the rules that hold for all models.
func Checker(m model.Model) func(transcript.View, *transcript.Transcript) error {
	return wire.Checker(m, encodeAsIs, Decode)
}

// DecodeMessage reads one element of a messages array: it is the [transcript.Codec] of this
// wire. It keeps nothing of raw.
func DecodeMessage(raw []byte) (transcript.Message, error) {
	return wire.DecodeOne("messages", raw, Decode, func(r *Request) []transcript.Message { return r.Messages })
}
