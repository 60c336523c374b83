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
		"<system-reminder>\nabc\n</system-reminder>\n\nTake 2, but only cache-7731.":                 transcript.OriginTyped,
		"# AGENTS.md instructions for /a\nrules\n<environment_context>\n</environment_context>":      transcript.OriginInjected,
		"<bash-stdout>\n</bash-stdout>\nTake 2.\n</bash-stdout>":                                     transcript.OriginInjected,
		"<command-name>/go</command-name>\n<command-args>all</command-args>":                         transcript.OriginInjected,
		"<task-notification>\n</task-notification>\nRead the output file to retrieve the result: /o": transcript.OriginInjected,
		"\n<task-notification>\n<task-id>b1</task-id>":                                               transcript.OriginInjected,
		"This session is being continued from a previous conversation that ran out of context.":      transcript.OriginSummary,
		"This session is being continued from a previous conversation, which failed.":                transcript.OriginTyped,
		"[Request interrupted by user] is shown, why?":                                               transcript.OriginTyped,
		"[Request interrupted by user]":                                                              transcript.OriginInjected,
		"[Image: source: /a.png] What is this?":                                                      transcript.OriginTyped,
		"[Image: source: /a.png]":                                                                    transcript.OriginInjected,
		`{"task_id":"b1","task_type":"x"} is what I get, why?`:                                       transcript.OriginTyped,
	} {
		if got := textOrigin(text); got != want {
			t.Errorf("%.40q is taken for %v, want %v", text, got, want)
		}
	}
}
