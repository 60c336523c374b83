package toolcall

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
)

// maxPatchFiles bounds what a hostile patch can cost.
const maxPatchFiles = 4096

// patchPaths returns what a patch changes. It understands the apply_patch grammar
//
//	*** Add File: path
//	*** Update File: path
//	*** Move to: path
//	*** Delete File: path
//
// and, where there is none of that, the file headers of a unified diff. Lines of content
// begin with a space, a plus or a minus, so they are never taken for headers.
func patchPaths(patch string) []PathChange {
	var out []PathChange
	diff := !strings.Contains(patch, "*** ")
	var old string
	for line := range strings.Lines(patch) {
		if len(out) == maxPatchFiles {
			break
		}
		line = strings.TrimRight(line, "\r\n")
		if diff {
			old = diffHeader(&out, old, line)
			continue
		}
		header, ok := strings.CutPrefix(line, "*** ")
		verb, path, _ := strings.Cut(header, ": ")
		if path = strings.TrimSpace(path); !ok || path == "" {
			continue
		}
		if kind, ok := patchVerbs[verb]; ok {
			out = append(out, PathChange{Path: path, Change: kind})
		} else if n := len(out) - 1; verb == "Move to" && n >= 0 && out[n].Change == CallEdit {
			out[n].Change = CallDelete
			out = append(out, PathChange{Path: path, Change: CallCreate, Source: out[n].Path})
		}
	}
	return out
}

var patchVerbs = map[string]CallKind{"Add File": CallCreate, "Update File": CallEdit, "Delete File": CallDelete}

// diffHeader reads one line of a unified diff; old is the path of the --- line before it.
func diffHeader(out *[]PathChange, old, line string) string {
	if rest, ok := strings.CutPrefix(line, "--- "); ok {
		return diffPath(rest)
	}
	rest, ok := strings.CutPrefix(line, "+++ ")
	if !ok || old == "" {
		return "" // a --- line counts only right before its +++ line
	}
	switch path := diffPath(rest); {
	case path == "/dev/null" && old != "/dev/null":
		*out = append(*out, PathChange{Path: old, Change: CallDelete})
	case path == "" || path == "/dev/null":
	case old == "/dev/null":
		*out = append(*out, PathChange{Path: path, Change: CallCreate})
	default:
		*out = append(*out, PathChange{Path: path, Change: CallEdit})
	}
	return ""
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
