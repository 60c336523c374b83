package bench

import (
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// ChangeOp says what happened to a file.
type ChangeOp string

// The kinds of change.
const (
	Created ChangeOp = "created"
	Edited  ChangeOp = "edited" // also where a call does not say which
	Deleted ChangeOp = "deleted"
)

// trail is what became of files: for each path whether it is still there.
type trail map[string]ChangeOp

// trail is the gold at a cut: what calls of tools that can do nothing else asked for and were not refused.
func (s *Session) trail(cut int) trail {
	t := make(trail)
	t.addCalls(s.Messages[:cut])
	return t
}

func (t trail) note(p string, op ChangeOp) {
	if p = toolcall.CleanPath(p); p == "." {
		return
	}
	if op == Edited && t[p] == Created {
		op = Created
	}
	t[p] = op
}

var (
	editTools = strings.Fields("edit multiedit str_replace replace edit_file str_replace_editor " +
		"str_replace_based_edit_tool notebookedit")
	writeTools = []string{"write", "create", "write_file", "create_file"}
	// removeFolder finds a folder that a command removes with all in it.
	removeFolder = regexp.MustCompile(`\brm -(?:r|rf|fr) ([\w./-]+)`)
	patchFile    = regexp.MustCompile(`(?m)^\*\*\* (Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$`)
)

// addCalls notes what calls of editing tools did, unless they are shown to have failed.
func (t trail) addCalls(msgs []transcript.Message) {
	failed := failedCalls(msgs)
	for _, m := range msgs {
		for _, c := range m.Calls() {
			if !failed[c.ID] {
				t.addCall(c)
			}
		}
	}
}

func failedCalls(msgs []transcript.Message) map[string]bool {
	failed := make(map[string]bool)
	for _, m := range msgs {
		for _, b := range m.Blocks().All() {
			if r, ok := b.(transcript.ToolResult); ok && r.Error {
				failed[r.CallID] = true
			}
		}
	}
	return failed
}

func (t trail) addCall(c transcript.ToolCall) {
	input := c.Input.String()
	if strings.Contains(input, "*** ") && strings.Contains(input, " File: ") {
		for _, text := range callStrings(input) {
			for _, m := range patchFile.FindAllStringSubmatch(text, -1) {
				t.note(m[2]+m[3],
					map[string]ChangeOp{"Add": Created, "": Created, "Update": Edited, "Delete": Deleted}[m[1]])
			}
		}
		return
	}
	p, command := toolcall.ArgText(c, "file_path", "filePath", "path"), toolcall.ArgText(c, "command")
	for _, m := range removeFolder.FindAllStringSubmatch(command, -1) {
		for q := range t {
			if strings.HasPrefix(q, toolcall.CleanPath(m[1])+"/") {
				t[q] = Deleted
			}
		}
	}
	switch name := strings.ToLower(c.Name); {
	case p == "" || command == "view":
	case command == "create" || slices.Contains(writeTools, name):
		t.note(p, Created)
	case slices.Contains(editTools, name):
		t.note(p, Edited)
	}
}

// callStrings are the strings in a call's input, or the input itself.
func callStrings(input string) []string {
	var v any
	if json.Unmarshal([]byte(input), &v) != nil {
		return []string{input}
	}
	var out []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				walk(v[k])
			}
		}
	}
	walk(v)
	return out
}

// artifacts asks for every changed file: is it stated as changed, and as deleted if it was.
func artifacts(s *Session, sp span) []probe {
	gold := s.trail(sp.cut)
	shell := shellText(s.Messages[:sp.cut])
	var out []probe
	for _, p := range slices.Sorted(maps.Keys(gold)) {
		out = append(out, artifactProbe(p, gold[p], mentions(shell, p)))
	}
	return out
}

// artifactProbe asks for one file. Where a command names it, the command may have removed
// it or brought it back: then it only has to be stated.
func artifactProbe(p string, op ChangeOp, byCommand bool) probe {
	return probe{family: Artifacts, what: string(op) + " " + p, look: func(s *seen) verdict {
		said, ok := s.changes().find(p)
		switch {
		case ok && !byCommand && (said == Deleted) != (op == Deleted):
			return wrong
		case ok:
			return stated
		}
		return absent
	}}
}

// find looks a path up that may be spelled from another folder.
func (t trail) find(p string) (ChangeOp, bool) {
	if op, ok := t[p]; ok {
		return op, true
	}
	for _, q := range slices.Sorted(maps.Keys(t)) {
		if samePath(p, q) {
			return t[q], true
		}
	}
	return "", false
}

// mentions reports whether a text in lower case has the last element of a path.
func mentions(lower, p string) bool { return strings.Contains(lower, strings.ToLower(path.Base(p))) }

// samePath reports whether one path ends with the other.
func samePath(a, b string) bool {
	a, b = strings.TrimPrefix(toolcall.CleanPath(a), "/"), strings.TrimPrefix(toolcall.CleanPath(b), "/")
	return toolcall.EndsPath(a, b) || toolcall.EndsPath(b, a)
}

var (
	// statement is a line that says of files what was done to them, whoever writes it:
	// "Edited: a.go, b.go", "- Created `a.go`", "#12 edit a.go: ok", "a.go (modified)".
	statement = regexp.MustCompile(
		`(?i)^\s*(?:[-*+]\s+|\d+[.)]\s+|\*\*)*(?:#\d+\s+(create|edit|delete)|(created and deleted again|created|wrote|added|edited|modified|changed|updated|deleted|removed))\b(.*)$`,
	)
	behind = regexp.MustCompile(
		"(?i)([\\w@.+~/-]+\\.\\w{1,5})[`*]*\\s*[(:–—-]+\\s*(?:(created|added|edited|modified|changed|updated|deleted|removed)\\b|(new)(?: file\\b|[),;.:]|$))",
	)
	counts    = regexp.MustCompile(`(?: \(\d+ times\))?(?: #\d+)*$`) // how often, and the calls that did it
	failure   = regexp.MustCompile(`: failed\b`)
	pathToken = regexp.MustCompile(
		`(?:\b[A-Za-z]:)?(?:/?[\w@.+~-]+/)+\.?[\w@+~-][\w@.+~-]*|[\w@.+~-]+\.[A-Za-z]\w{0,4}\b`)
)

// changes are the changed files that a view states: by calls that it shows, and by lines of
// the method's own that say so.
func (s *seen) changes() trail {
	if s.trail != nil {
		return s.trail
	}
	t := make(trail)
	s.trail = t
	t.addCalls(s.msgs)
	for _, line := range s.own {
		line = strings.ReplaceAll(line, `\`, "/")
		if m := statement.FindStringSubmatch(line); m != nil {
			for _, p := range pathsIn(m[3]) {
				t.note(p, opOf(m[1]+m[2]))
			}
			continue
		}
		for _, m := range behind.FindAllStringSubmatch(line, -1) {
			t.note(m[1], opOf(m[2]+m[3]))
		}
	}
	return t
}

// pathsIn are the paths behind a statement's verb: the items of a list behind a colon,
// whatever is in them, else what looks like a path and is not cut.
func pathsIn(rest string) []string {
	if failure.MatchString(rest) || strings.HasPrefix(rest, " from ") {
		return nil // it was tried; or something else was taken out of it
	}
	rest = counts.ReplaceAllString(rest, "")
	var out []string
	list, ok := strings.CutPrefix(rest, ": ")
	for _, part := range splitBraces(rest) {
		found := pathToken.FindAllStringIndex(part, -1)
		if ok && strings.HasPrefix(list, "/") && strings.Contains(part, "/") {
			out = append(out, strings.TrimSpace(strings.TrimPrefix(part, ":")))
			continue
		}
		for _, at := range found {
			if !strings.HasPrefix(part[at[1]:], "…") {
				out = append(out, part[at[0]:at[1]])
			}
		}
	}
	return out
}

func opOf(verb string) ChangeOp {
	switch verb = strings.ToLower(verb); {
	case strings.Contains(verb, "delet") || strings.HasPrefix(verb, "remov"):
		return Deleted
	case slices.ContainsFunc([]string{"creat", "add", "new", "wr"},
		func(s string) bool { return strings.HasPrefix(verb, s) }):
		return Created
	}
	return Edited
}

// braces is a{b,c}d with nothing in braces inside.
var braces = regexp.MustCompile(`([^,;{}]*)\{([^{}]*)\}([^,;{}]*)`)

// splitBraces writes a{b,c{d,e}} out as ab, acd and ace, separated by commas at the top.
func splitBraces(s string) []string {
	for braces.MatchString(s) {
		s = braces.ReplaceAllStringFunc(s, func(group string) string {
			m := braces.FindStringSubmatch(group)
			return m[1] + strings.Join(strings.FieldsFunc(m[2], isSeparator), m[3]+","+m[1]) + m[3]
		})
	}
	return strings.FieldsFunc(s, isSeparator)
}

func isSeparator(r rune) bool { return r == ',' || r == ';' }

// precision compares what a view states with the gold: how many statements there are that
// structure can judge, and how many are right. Files that a shell command names may have
// been changed by it; nobody can tell without running it.
func precision(gold trail, shell string, v *seen) (right, judged int, false_ []string) {
	said := v.changes()
	for _, p := range slices.Sorted(maps.Keys(said)) {
		_, ok := gold.find(p)
		if !ok && mentions(shell, p) {
			continue
		}
		judged++
		if ok {
			right++
		} else {
			false_ = append(false_, p)
		}
	}
	return right, judged, false_
}
