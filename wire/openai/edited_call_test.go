package openai_test

import (
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/openai"
)

// A custom tool's call that a view shortens is written as a function's, and its output,
// which nobody touched, has to follow: the provider refuses an output of another type.
func TestEncodeResponsesEditedCustomCall(t *testing.T) {
	r, err := openai.DecodeResponses([]byte(`{"model":"gpt-5.5","input":[` +
		`{"type":"message","role":"user","content":"patch it"},` +
		`{"type":"custom_tool_call","call_id":"c1","name":"apply_patch","input":"*** Begin Patch a long one"},` +
		`{"type":"custom_tool_call_output","call_id":"c1","output":"Done!"}]}`))
	difftest.Must(t, err)
	view := transcript.Whole(len(r.Messages))
	view.Messages[1].Edits = []transcript.BlockEdit{{Block: 0, Text: "*** Begin Patch …"}}
	var tr transcript.Transcript
	for _, m := range r.Messages {
		tr.Append(m)
	}
	if err := openai.ResponsesChecker(model.Model{})(view, &tr); err != nil {
		t.Error(err)
	}
}
