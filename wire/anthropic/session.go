package anthropic

import (
	"encoding/json"

	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Checker returns a check for [pleat.Options]: it refuses views that this wire would
// refuse for the model. A zero model means the rules that hold for all.
func Checker(m model.Model) func(transcript.View, *transcript.Transcript) error {
	return wire.Checker(m, encodeAsIs, Decode)
}

// DecodeMessage reads one element of a messages array: the [pleat.Codec] of this wire.
// It keeps nothing of raw.
func DecodeMessage(raw []byte) (transcript.Message, error) {
	return wire.DecodeOne(`{"messages":[`, raw, func(body []byte) ([]transcript.Message, error) {
		r, err := Decode(body)
		if err != nil {
			return nil, err
		}
		return r.Messages, nil
	})
}

// ClearingBeta is the value that anthropic-beta must have for [Clearing].
const ClearingBeta = "context-management-2025-06-27"

// Clearing is the context_management value for a policy that leaves old results to the
// provider: above trigger tokens of prompt the provider clears all but the newest keep
// results itself, apart from those of the exempt tools. The request's messages stay as
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
