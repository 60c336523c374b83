package toolcall

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/client"
	"github.com/pleat-dev/pleat/internal/shell"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// EditKind says how an edit changes its file.
type EditKind uint8

// The kinds of edit.
const (
	EditReplace EditKind = iota // puts New in the place of Old, which the file has once, or of All of it
	EditWrite                   // New is all of the file
	EditAppend                  // puts New at the end
	EditInsert                  // puts New after line Line
	EditPatch                   // applies Hunks
	EditDelete                  // removes the file
	EditMove                    // Path is the new name of what was From; Hunks change it
)

// Edit is one change of one file, exactly as a call asks for it.
type Edit struct {
	Kind     EditKind
	Path     string // empty: the file that the call names
	From     string
	Old, New string
	All      bool
	Closes   bool // if New is empty, a line feed after Old goes with it
	Line     int
	Hunks    []Hunk
}

// Hunk is a part of a patch. Context has the lines that come somewhere before Old.
type Hunk struct{ Context, Old, New []string }

// Edits reads the exact changes of files in a call. A file that the call changes in a way
// that cannot be read from it has none.
func Edits(c transcript.ToolCall) []Edit {
	input := c.Input.String()
	args := callArgs([]byte(input))
	switch classOf(c.Name, args) {
	case client.Patch:
		return patchEdits(patchOf(args, input))
	case client.Shell:
		script, literal := Script(c)
		return scriptEdits(script, literal)
	case client.Write:
		return writeEdits(args)
	case client.Edit:
		out := replaceEdits(args)
		for i := range out {
			out[i].Closes = c.Name == "Edit" || c.Name == "MultiEdit" // Claude Code
		}
		return out
	case client.Delete:
		if p := argText(args, pathArgs...); p != "" {
			return []Edit{{Kind: EditDelete, Path: p}}
		}
	}
	return nil
}

// patchOf returns the patch of a call that applies one.
func patchOf(args []arg, input string) string {
	if len(args) == 0 {
		return input
	}
	return argText(args, "input", "patch", "patchText", "patch_text", "diff")
}

// Script returns the script of a call that runs one; literal: backslashes do not quote in it.
func Script(c transcript.ToolCall) (script string, literal bool) {
	if client.Of(c.Name) != client.Shell {
		return "", false
	}
	input := c.Input.String()
	return scriptOf(c.Name, callArgs([]byte(input)), input)
}

func scriptOf(tool string, args []arg, input string) (script string, literal bool) {
	literal = isLiteral(client.Plain(tool))
	switch argv := argTexts(args, commandArgs...); {
	case len(argv) == 1:
		return argv[0], literal
	case len(argv) > 1:
		return argvScript(argv)
	case len(args) == 0 && !strings.HasPrefix(strings.TrimSpace(input), "{"):
		return input, literal
	}
	return "", false
}

func writeEdits(args []arg) []Edit {
	for _, name := range []string{"content", "contents", "file_text", "text"} {
		if a, ok := argument(args, name); ok && a.isString() {
			return []Edit{{Kind: EditWrite, New: a.raw.Text()}}
		}
	}
	return nil
}

// replaceEdits reads one replacement or a list of them, or what an editor is told to insert.
func replaceEdits(args []arg) []Edit {
	if a, ok := argument(args, "edits", "replacements"); ok {
		var out []Edit
		for _, el := range a.elements() {
			e, ok := replaceEdit(callArgs(el))
			if !ok {
				return nil
			}
			out = append(out, e)
		}
		if len(out) == maxCallArgs {
			return nil // there may be more
		}
		return out
	}
	if e, ok := replaceEdit(args); ok {
		e.Path = ""
		return []Edit{e}
	}
	if a, ok := argument(args, "new_str", "insert_text"); ok && a.isString() && argText(args, "command") == "insert" {
		return []Edit{{Kind: EditInsert, New: a.raw.Text(), Line: argInt(args, "insert_line")}}
	}
	return nil
}

func replaceEdit(args []arg) (Edit, bool) {
	e := Edit{Path: argText(args, pathArgs...)}
	hasOld := false
	for _, a := range args {
		switch text.PlainName(a.name) {
		case "oldstring", "oldtext", "oldstr", "old":
			e.Old, hasOld = a.raw.Text(), a.isString()
		case "newstring", "newtext", "newstr", "new":
			e.New = a.raw.Text()
		case "replaceall", "all", "allowmultiple":
			e.All = string(a.raw) == "true" || string(a.raw) == `"true"`
		case "expectedreplacements":
			e.All = e.All || string(a.raw) != "1"
		case "startline", "endline", "codeedit", "cellid":
			return e, false
		}
	}
	return e, hasOld
}

// scriptEdits reads what a script writes into files from here-documents, word for word.
func scriptEdits(script string, literal bool) []Edit {
	if literal || !strings.Contains(script, "<<") {
		return nil
	}
	sh := shell.Parse(script, false)
	if sh.Flow || sh.Cut {
		return nil
	}
	var out []Edit
	for i := range sh.Commands {
		c := &sh.Commands[i]
		piped := c.Sep == "|" || i+1 < len(sh.Commands) && sh.Commands[i+1].Sep == "|"
		if c.Heredoc == "" || c.Nested || c.Sep == "||" || piped {
			continue
		}
		switch name := c.Name(); {
		case name == "apply_patch" || name == "applypatch":
			out = append(out, patchEdits(c.Heredoc)...)
		case name == "cat" && slices.ContainsFunc(c.Args(), func(a string) bool { return a != "-" }):
			// there is more in it, or it is changed on its way
		case (name == "cat" || name == "tee") && !strings.ContainsAny(c.Heredoc, "$`\\") ||
			name == "cat" && quotedDoc(c):
			paths := commandEffect(c, 0).paths
			if name == "cat" && len(paths) > 1 {
				continue // one may be for its errors
			}
			for _, p := range paths {
				switch {
				case p.Change == CallCreate && !strings.Contains(strings.Join(c.Args(), " "), "-a"):
					out = append(out, Edit{Kind: EditWrite, Path: p.Path, New: c.Heredoc})
				case p.Change == CallEdit:
					out = append(out, Edit{Kind: EditAppend, Path: p.Path, New: c.Heredoc})
				}
			}
		}
	}
	return out
}

// quotedDoc reports whether the delimiter of a here-document is quoted, so that nothing in
// it is expanded.
func quotedDoc(c *shell.Command) bool {
	quoted := false
	for _, r := range c.Redirects {
		if r.Op == "<<" || r.Op == "<<-" {
			quoted = strings.ContainsAny(r.Target.Raw, "'\"\\")
		}
	}
	return quoted
}

// patchEdits reads a patch in the apply_patch grammar
//
//	*** Add File: path
//	*** Update File: path
//	*** Move to: path
//	*** Delete File: path
//
// Lines of content begin with a space, a plus or a minus, so they are never taken for headers.
func patchEdits(patch string) []Edit {
	var out []Edit
	var cur *Edit
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		if header, ok := strings.CutPrefix(line, "*** "); ok {
			verb, path, _ := strings.Cut(header, ": ")
			path = strings.TrimSpace(path)
			switch kind, file := patchVerbs[verb]; {
			case path == "":
			case file:
				out = append(out, Edit{Kind: kind, Path: path})
				cur = &out[len(out)-1]
			case verb == "Move to" && cur != nil:
				cur.Kind, cur.From, cur.Path = EditMove, cur.Path, path
			}
			continue
		}
		if cur != nil {
			cur.hunkLine(line)
		}
	}
	return withNewFiles(out)
}

var patchVerbs = map[string]EditKind{"Add File": EditWrite, "Update File": EditPatch, "Delete File": EditDelete}

// withNewFiles gives files that a patch adds their text.
func withNewFiles(edits []Edit) []Edit {
	for i := range edits {
		if e := &edits[i]; e.Kind == EditWrite && len(e.Hunks) > 0 {
			e.New, e.Hunks = JoinLines(e.Hunks[0].New), nil
		}
	}
	return edits
}

// hunkLine adds a line of a patch to its hunk.
func (e *Edit) hunkLine(line string) {
	if context, ok := strings.CutPrefix(line, "@@"); ok {
		context = strings.TrimSpace(context)
		n := len(e.Hunks)
		if n == 0 || len(e.Hunks[n-1].Old)+len(e.Hunks[n-1].New) > 0 {
			e.Hunks = append(e.Hunks, Hunk{})
			n++
		}
		if context != "" {
			e.Hunks[n-1].Context = append(e.Hunks[n-1].Context, context)
		}
		return
	}
	if len(e.Hunks) == 0 {
		e.Hunks = append(e.Hunks, Hunk{})
	}
	h := &e.Hunks[len(e.Hunks)-1]
	switch {
	case line == "":
		h.Old, h.New = append(h.Old, ""), append(h.New, "")
	case line[0] == '+':
		h.New = append(h.New, line[1:])
	case line[0] == '-':
		h.Old = append(h.Old, line[1:])
	case line[0] == ' ':
		h.Old, h.New = append(h.Old, line[1:]), append(h.New, line[1:])
	}
}
