package page

import (
	"strings"

	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// changeParts returns what a call takes out of files and puts into them: for each file the
// lines that only the old text has, then those that only the new text has.
func changeParts(e *ledger.Entry, call transcript.ToolCall) []blockPart {
	var w toolcall.ChangeReader
	w.Read(call.Input.String())
	var parts []blockPart
	for _, c := range w.Changes {
		if c.Path == "" && len(e.Paths) > 0 {
			c.Path = e.Paths[0].Path
		}
		if old := toolcall.LinesWithout(c.Old, c.New); old != "" {
			parts = append(parts, blockPart{kind: fromRemoval, label: c.Path, text: old})
		}
		if added := c.Added(); added != "" {
			parts = append(parts, blockPart{kind: fromChange, label: c.Path, text: added, whole: c.Whole && len(c.Old) == 0})
		}
	}
	return parts
}

// isTestFile judges a file by its name.
func isTestFile(path string) bool {
	base := path[strings.LastIndexByte(path, '/')+1:]
	return strings.Contains(base, "test") || strings.Contains(base, "spec.") || strings.Contains(path, "testdata/") || strings.Contains(path, "fixtures/")
}
