package exchange

import (
	"testing"

	"github.com/pleat-dev/pleat/proxy/internal/lineage"
)

// Stubs are renamed from any prefix to any other.
func TestRenamed(t *testing.T) {
	const pre = lineage.ToolPrefix
	for _, from := range []string{"", pre, pre + pre, pre + pre + pre} {
		for _, to := range []string{"", pre, pre + pre} {
			got := renamed(lineage.Mode{Recall: lineage.RecallByTools, Prefix: to}, `get it: `+from+`unfold("h1") or `+from+
				`unfold("h2")`)
			if want := `get it: ` + to + `unfold("h1") or ` + to + `unfold("h2")`; got != want {
				t.Errorf("from %q to %q: %s", from, to, got)
			}
		}
	}
}
