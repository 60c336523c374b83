package sessionlog

import (
	"testing"

	"github.com/pleat-dev/pleat/transcript"
)

func TestTextOrigin(t *testing.T) {
	for text, want := range map[string]transcript.Origin{
		"mend the parser":                   transcript.OriginTyped,
		`{"name": "x"} is what I get, why?`: transcript.OriginTyped,
		`{"task_id":"b1","tool_use_id":"t1","description":"Run the tests","task_type":"local_bash"}`: transcript.OriginInjected,
		"\n<task-notification>\n<task-id>b1</task-id>":                                               transcript.OriginInjected,
		"This session is being continued from a previous conversation that ran out of context.":      transcript.OriginSummary,
	} {
		if got := textOrigin(text); got != want {
			t.Errorf("%.40q is taken for %v, want %v", text, got, want)
		}
	}
}
