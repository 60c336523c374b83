package anthropic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/wire/wiretest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Violations are those for the model of the request. Markers are listed after the blocks.
func TestConversations(t *testing.T) {
	wiretest.Conversations(t,
		func(t *testing.T, body string, edits func(int) transcript.View) (decoded, violations, result string) {
			r := mustDecode(t, body)
			decoded = wiretest.Blocks(r.Messages)
			for _, m := range r.Markers() {
				decoded += fmt.Sprintf("marker %s %s\n", m.Path, m.TTL)
			}
			out, err := r.Splice(edits(len(r.Messages)))
			must(t, err)
			model, _ := model.DefaultModels().Lookup(r.Model)
			var found strings.Builder
			for _, v := range mustDecode(t, string(out)).Check(model) {
				fmt.Fprintf(&found, "%s %s\n", v.Rule, v)
			}
			return decoded, found.String(), string(out)
		})
}
