package toolcall

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
)

// maxPatchFiles bounds what a hostile patch can cost.
const maxPatchFiles = 4096

// patchPaths returns what a patch changes.
func patchPaths(patch string) []PathChange {
	var out []PathChange
	for _, e := range patchEdits(patch) {
		if len(out) >= maxPatchFiles {
			break
		}
		switch e.Kind {
		case EditWrite:
			out = append(out, PathChange{Path: e.Path, Change: CallCreate})
		case EditDelete:
			out = append(out, PathChange{Path: e.Path, Change: CallDelete})
		case EditMove:
			out = append(out, PathChange{Path: e.From, Change: CallDelete},
				PathChange{Path: e.Path, Change: CallCreate, Source: e.From})
		default:
			out = append(out, PathChange{Path: e.Path, Change: CallEdit})
		}
	}
	return out
}

func diffPath(s string) string {
	s, _, _ = strings.Cut(s, "\t")
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "a/") || strings.HasPrefix(s, "b/") {
		s = s[2:]
	}
	return s
}

// patchGist shows on one line what a patch touches.
func patchGist(changes []PathChange) string {
	marks := map[CallKind]string{CallCreate: "A ", CallEdit: "M ", CallDelete: "D "}
	parts := make([]string, 0, len(changes))
	for _, c := range changes {
		parts = append(parts, marks[c.Change]+c.Path)
	}
	return text.OneLine(strings.Join(parts, ", "), MaxArgs)
}

// gravest returns the kind that stands for all changes of a patch.
func gravest(changes []PathChange) CallKind {
	kind := CallOther
	for _, c := range changes {
		kind = max(kind, c.Change)
	}
	if kind == CallDelete { // a rename or a cleanup beside edits is an edit
		for _, c := range changes {
			if c.Change != CallDelete {
				return CallEdit
			}
		}
	}
	return kind
}
