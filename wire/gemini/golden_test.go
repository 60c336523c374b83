package gemini

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/wire/wiretest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Violations are those for a model that wants signatures.
func TestConversations(t *testing.T) {
	signed, _ := model.DefaultModels().Lookup("gemini-3.1-pro-preview")
	wiretest.Conversations(t,
		func(t *testing.T, body string, edits func(int) transcript.View) (decoded, violations, result string) {
			r := decode(t, body)
			out, err := r.Splice(edits(len(r.Messages)))
			must(t, err)
			var found strings.Builder
			for _, v := range decode(t, string(out)).Check(signed) {
				fmt.Fprintf(&found, "%s %s\n", v.Rule, v)
			}
			return wiretest.Blocks(r.Messages), found.String(), string(out)
		})
}
