package toolcall

import (
	"cmp"
	"slices"
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
		if e.Kind == EditMove {
			out = append(out, PathChange{Path: e.From, Change: CallDelete})
		}
		out = append(out, PathChange{Path: e.Path, Change: cmp.Or(patchChanges[e.Kind], CallEdit), Source: e.From})
	}
	return out
}

// patchChanges are what a patch does to a file that it does not edit.
var patchChanges = map[EditKind]CallKind{EditWrite: CallCreate, EditDelete: CallDelete, EditMove: CallCreate}

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
	others := func(c PathChange) bool { return c.Change != CallDelete }
	if kind == CallDelete && slices.ContainsFunc(changes, others) { // a rename or a cleanup beside edits is an edit
		return CallEdit
	}
	return kind
}
