package toolcall

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// FileChange is the old and the new text of one file.
type FileChange struct {
	Path     string // empty: the file that the call names
	Old, New []string
	Whole    bool // New is all of the file
}

// Changes returns what a call takes out of files and puts into them.
func Changes(c transcript.ToolCall) []FileChange {
	var out []FileChange
	for _, e := range Edits(c) {
		if n := len(out); n == 0 || out[n-1].Path != e.Path {
			out = append(out, FileChange{Path: e.Path})
		}
		f := &out[len(out)-1]
		f.Whole = f.Whole || e.Kind == EditWrite
		f.add(e.Old, e.New)
		for _, h := range e.Hunks {
			f.add(JoinLines(h.Old), JoinLines(h.New))
		}
	}
	return out
}

func (c *FileChange) add(before, after string) {
	if before != "" {
		c.Old = append(c.Old, before)
	}
	if after != "" {
		c.New = append(c.New, after)
	}
}

// JoinLines is lines as a text in which each ends with a line feed.
func JoinLines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// Removed is the old lines that the new text does not have.
func (c *FileChange) Removed() string { return linesWithout(c.Old, c.New) }

// Added is the new lines that the old text does not have.
func (c *FileChange) Added() string {
	if len(c.Old) == 0 && len(c.New) == 1 {
		return c.New[0]
	}
	return linesWithout(c.New, c.Old)
}

// linesWithout returns the lines of texts that the others do not have.
func linesWithout(texts, others []string) string {
	had := make(map[string]bool)
	for _, text := range others {
		for line := range strings.Lines(text) {
			had[strings.TrimSpace(line)] = true
		}
	}
	var b strings.Builder
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if !had[strings.TrimSpace(line)] {
				b.WriteString(strings.TrimRight(line, "\r\n") + "\n")
			}
		}
	}
	return b.String()
}

// maxPatchFiles bounds what a hostile patch can cost.
const maxPatchFiles = 4096

// patchPaths returns what a patch changes.
func patchPaths(patch string) []PathChange {
	if !strings.Contains(patch, "*** ") {
		return diffPaths(patch)
	}
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

// diffFile begins a file in a unified diff. A removed "-- " and an added "++ " can look like that, but
// no hunk follows them.
var diffFile = regexp.MustCompile(`(?m)^--- (.*)\n\+\+\+ (.*)\n@@`)

// diffPaths returns what a unified diff changes.
func diffPaths(diff string) (out []PathChange) {
	for _, m := range diffFile.FindAllStringSubmatch(diff, maxPatchFiles) {
		c := PathChange{Path: diffPath(m[2]), Change: CallEdit}
		if old := diffPath(m[1]); old == "/dev/null" {
			c.Change = CallCreate
		} else if c.Path == "/dev/null" {
			c = PathChange{Path: old, Change: CallDelete}
		}
		out = append(out, c)
	}
	return out
}

func diffPath(s string) string {
	s, _, _ = strings.Cut(s, "\t")
	s = strings.TrimSpace(s)
	return strings.TrimPrefix(strings.TrimPrefix(s, "a/"), "b/")
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
