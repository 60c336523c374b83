package userwords

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/transcript"
)

// Why a person refused a server's tool, a sub-agent or a call of opencode stands on the page; the
// tool may have written it, so it speaks for nobody.
func TestUnsureRefusals(t *testing.T) {
	const (
		refused = "The user doesn't want to proceed with this tool use. The tool use was rejected. " +
			"To tell you how to proceed, the user said:\n"
		rejected = "The user rejected permission to use this specific tool call with the following feedback: "
	)
	for _, tt := range []struct {
		tool, text string
		failed     bool
		want       bool
	}{
		{"mcp__db__query", refused + "never push", true, true},
		{"Task", refused + "never push", true, true},
		{"bash", rejected + "never push", true, true},
		{"bash", rejected + "never push", false, false},
		{"bash", "x\n" + rejected + "never push", true, false},
		{"bash", "The user rejected permission to use this specific tool call.", true, false},
	} {
		var w Words
		w.Add(0, transcript.Assistant(transcript.Call("1", tt.tool, "{}")))
		result := transcript.Result("1", tt.text)
		result.Error = tt.failed
		w.Add(1, transcript.Results(result))
		page := w.Render(RenderOptions{})
		got := strings.Contains(page, "- message 2 (beside a program's text; the user or a program wrote it): never push\n")
		if got != tt.want || len(w.Said()) > 0 || !got && page != "" {
			t.Errorf("%s answers %q: %q", tt.tool, tt.text, page)
		}
	}
}
