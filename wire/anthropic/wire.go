package anthropic

import (
	"encoding/json"

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

// ClearingBeta is the value of anthropic-beta that [Clearing] needs.
const ClearingBeta = "context-management-2025-06-27"

// Clearing is the context_management value for a policy that leaves old results to the
// provider. Above trigger tokens of prompt the provider itself clears all but the newest
// keep results, apart from those of the exempt tools. The messages of the request stay as
// they are.
func Clearing(trigger, keep int, exempt ...string) []byte {
	type amount struct {
		Type  string `json:"type"`
		Value int    `json:"value"`
	}
	type edit struct {
		Type    string   `json:"type"`
		Trigger amount   `json:"trigger"`
		Keep    amount   `json:"keep"`
		Exclude []string `json:"exclude_tools,omitempty"`
	}
	out, _ := json.Marshal(map[string][]edit{"edits": {{ // strings and numbers cannot fail
		Type:    "clear_tool_uses_20250919",
		Trigger: amount{"input_tokens", trigger},
		Keep:    amount{"tool_uses", keep},
		Exclude: exempt,
	}}})
	return out
}
