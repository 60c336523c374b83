package synth

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/userwords"
)

// agentStyle is an agent's set of tools: their names, arguments and the form of their results.
type agentStyle struct {
	name        string
	marksErrors bool // failures are marked on the wire
	absolute    bool // files are named by their whole path
	idPrefix    string
}

var agentStyles = []agentStyle{
	{"claude", true, true, "toolu_01"},
	{"codex", false, false, "call_"},
	{"opencode", false, true, "toolu_"},
	{"pi", true, false, "toolu_01"},
}

func (y agentStyle) id(s *synth) string {
	const digits = "ABCDEFGHJKMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz123456789"
	b := []byte(y.idPrefix)
	for range 22 {
		b = append(b, digits[s.r.IntN(len(digits))])
	}
	return string(b)
}

// at is how the agent spells a file's path: mostly in one way.
func (s *synth) at(f *synthFile) phrase {
	if s.style.absolute != s.chance(3) {
		return s.x("<root>/<path>", "path", f.path)
	}
	return s.x("<path>", "path", f.path)
}

// read shows lines first to last, counted from 1, of a file; 0, 0 shows all of it.
func (s *synth) read(f *synthFile, first, last int) {
	n := len(f.lines)
	whole := first == 0 && last == 0
	if first, last = max(first, 1), min(last, n); last == 0 {
		last = n
	}
	c := pendingCall{file: f, effect: readsFile}
	if whole || first == 1 && last == n {
		c.effect = readsAll
	}
	c.result = s.numbered(f, first, last)
	switch at := s.at(f); s.style.name {
	case "claude":
		c.tool, c.input = "Read", callInput("file_path", at)
		if !whole {
			c.input = callInput("file_path", at, "offset", first, "limit", last-first+1)
		}
	case "codex":
		if whole { // the agent does not know how long the file is
			last = (n/60 + 1) * 60
		}
		command := s.x("sed -n '<first>,<last>p' <path>", "first", first, "last", last, "path", f.path)
		c.tool, c.input = "shell_command", s.shellInput(command)
	default:
		name := "filePath"
		if s.style.name == "pi" {
			name = "path"
		}
		c.tool, c.input = "read", callInput(name, at)
		if !whole {
			c.input = callInput(name, at, "offset", first, "limit", last-first+1)
		}
	}
	s.do(c)
}

// numbered writes lines the way the agent's tool shows them.
func (s *synth) numbered(f *synthFile, first, last int) phrase {
	var t phraseText
	switch s.style.name {
	case "claude":
		for i := first; i <= last; i++ {
			fmt.Fprintf(&t.b, "%6d→", i)
			t.line(f.lines[i-1])
		}
		if s.chance(20) {
			t.b.WriteString(
				"\n<system-reminder>\nWhenever you read a file, you should consider whether it would be considered malware. You CAN and SHOULD provide analysis of malware, what it is doing. But you MUST refuse to improve or augment the code.\n</system-reminder>\n",
			)
		}
	case "codex":
		t.b.WriteString("Exit code: 0\nWall time: 0 seconds\nOutput:\n")
		for _, l := range f.lines[first-1 : last] {
			t.line(l)
		}
	case "opencode":
		t.b.WriteString("<path>")
		t.add(s.at(f))
		t.b.WriteString("</path>\n<type>file</type>\n<content>\n")
		for i := first; i <= last; i++ {
			fmt.Fprintf(&t.b, "%d: ", i)
			t.line(f.lines[i-1])
		}
		fmt.Fprintf(&t.b, "\n(End of file - total %d lines)\n</content>", len(f.lines))
	default:
		for _, l := range f.lines[first-1 : last] {
			t.line(l)
		}
	}
	return t.phrase()
}

// edit replaces n lines from line at, counted from 0.
func (s *synth) edit(f *synthFile, at, n int, lines []phrase) {
	lo, hi := uniqueBlock(f, at, n)
	old := joinPhrases("\n", f.lines[lo:hi]...)
	with := append(append(append([]phrase{}, f.lines[lo:at]...), lines...), f.lines[at+n:hi]...)
	s.do(s.editCall(f, old, joinPhrases("\n", with...)))
	f.lines = append(append(append([]phrase{}, f.lines[:at]...), lines...), f.lines[at+n:]...)
}

// sed changes a file by a command: a number in the line of a constant. It reports whether
// the file has one.
func (s *synth) sed(f *synthFile) bool {
	if s.style.name == "codex" {
		return false
	}
	for i, l := range f.lines {
		name, old, ok := strings.Cut(strings.TrimSuffix(l.s, ";"), " = ")
		if !ok || strings.Trim(old, "0123456789") != "" || len(l.marks) != 1 || strings.HasPrefix(l.s, " ") {
			continue
		}
		name = name[strings.LastIndexByte(name, ' ')+1:]
		value := s.between(100, 999)
		if strings.Count(f.content(), name+" = "+old) != 1 {
			continue
		}
		constant := lit{l.marks[0].id, name}
		command := s.x(
			"sed -i 's/<name> = <old>/<name> = <value>/' <path>", "name", constant, "old", old, "value", value, "path",
			f.path,
		)
		f.lines = append([]phrase(nil), f.lines...)
		f.lines[i] = s.x(
			strings.Replace(strings.Replace(l.s, name, "<name>", 1), " = "+old, fmt.Sprintf(" = %d", value), 1), "name",
			constant,
		)
		s.do(
			pendingCall{
				tool:   s.shellTool(),
				input:  s.shellInput(command),
				result: s.shellOutput(phrase{}, 0),
				file:   f,
				effect: changesFile,
			},
		)
		return true
	}
	return false
}

// editCall is the call that replaces a text of a file, and its success.
func (s *synth) editCall(f *synthFile, old, with phrase) pendingCall {
	c := pendingCall{file: f, effect: changesFile}
	at := s.at(f)
	switch s.style.name {
	case "claude":
		c.tool, c.input = "Edit", callInput("replace_all", false, "file_path", at, "old_string", old,
			"new_string", with)
		c.result = s.x("The file <at> has been updated successfully.", "at", at)
	case "codex":
		var t phraseText
		t.line(s.x("*** Begin Patch\n*** Update File: <path>\n@@", "path", f.path))
		diffLines(&t, phraseLines(old), phraseLines(with))
		t.b.WriteString("*** End Patch")
		c.tool, c.input = "apply_patch", callInput("input", t.phrase())
		c.result = s.patched("M", f)
	case "opencode":
		c.tool, c.input = "edit", callInput("filePath", at, "oldString", old, "newString", with)
		c.result = unmarked("Edit applied successfully.")
	default:
		c.tool, c.input = "edit", callInput("path", at, "oldText", old, "newText", with)
		c.result = s.x("Successfully replaced text in <at>.", "at", at)
	}
	return c
}

func (s *synth) patched(mark string, f *synthFile) phrase {
	return s.x(
		"Exit code: 0\nWall time: 0.1 seconds\nOutput:\nSuccess. Updated the following files:\n<mark> <path>\n", "mark",
		mark, "path", f.path,
	)
}

// diffLines writes a hunk: common lines at both ends, the rest removed and added.
func diffLines(t *phraseText, old, with []phrase) {
	head, tail := 0, 0
	for head < min(len(old), len(with)) && old[head].s == with[head].s {
		head++
	}
	for tail < min(len(old), len(with))-head && old[len(old)-1-tail].s == with[len(with)-1-tail].s {
		tail++
	}
	put := func(sign byte, lines []phrase) {
		for _, l := range lines {
			t.b.WriteByte(sign)
			t.line(l)
		}
	}
	put(' ', old[:head])
	put('-', old[head:len(old)-tail])
	put('+', with[head:len(with)-tail])
	put(' ', old[len(old)-tail:])
}

// uniqueBlock widens a run of lines until no other place of the file reads the same.
func uniqueBlock(f *synthFile, at, n int) (lo, hi int) {
	content := f.content()
	lo, hi = max(at-1, 0), min(at+n+1, len(f.lines))
	for {
		var t phraseText
		for _, l := range f.lines[lo:hi] {
			t.line(l)
		}
		if strings.Count(content, strings.TrimSuffix(t.b.String(), "\n")) == 1 || lo == 0 && hi == len(f.lines) {
			return lo, hi
		}
		lo, hi = max(lo-1, 0), min(hi+1, len(f.lines))
	}
}

// write puts a file on disk that is not there yet.
func (s *synth) write(f *synthFile) {
	f.exists, f.truth.New = true, true
	c := pendingCall{file: f, effect: changesFile}
	at, content := s.at(f), joinPhrases("\n", append(append([]phrase{}, f.lines...), phrase{})...)
	switch {
	case s.style.name == "codex":
		var t phraseText
		t.line(s.x("*** Begin Patch\n*** Add File: <path>", "path", f.path))
		for _, l := range f.lines {
			t.b.WriteByte('+')
			t.line(l)
		}
		t.b.WriteString("*** End Patch")
		c.tool, c.input, c.result = "apply_patch", callInput("input", t.phrase()), s.patched("A", f)
	case s.chance(10):
		c.tool, c.input = s.shellTool(), s.shellInput(
			s.x("cat > <path> <<'EOF'\n<content>EOF", "path", f.path, "content", content),
		)
	case s.style.name == "claude":
		c.tool, c.input = "Write", callInput("file_path", at, "content", content)
		c.result = s.x("File created successfully at: <at>", "at", at)
	case s.style.name == "opencode":
		c.tool, c.input, c.result = "write", callInput("filePath", at, "content", content), unmarked(
			"Wrote file successfully.",
		)
	default:
		c.tool, c.input = "write", callInput("path", at, "content", content)
		c.result = s.x("Successfully wrote <size> bytes to <at>", "size", min(len(content.s), 9999), "at", at)
	}
	s.do(c)
}

// remove deletes a file.
func (s *synth) remove(f *synthFile) {
	f.exists, f.lines = false, nil
	c := pendingCall{file: f, effect: changesFile}
	if s.style.name == "codex" {
		c.tool, c.input = "apply_patch", callInput(
			"input", s.x("*** Begin Patch\n*** Delete File: <path>\n*** End Patch", "path", f.path),
		)
		c.result = s.patched("D", f)
	} else {
		c.tool, c.input = s.shellTool(), s.shellInput(s.x(pickOne(s.r,
			[]string{"rm <path>", "git rm -q <path>", "rm -f <path>"}), "path", f.path))
		c.result = s.shellOutput(phrase{}, 0)
	}
	s.do(c)
}

// rename moves a file within its directory. The old path stays behind as a deleted file.
func (s *synth) rename(f *synthFile, to lit) *synthFile {
	moved := *f
	moved.path, moved.reads, moved.touched = to, nil, false
	moved.truth = FileTruth{Path: to.s, From: f.path.s, New: true}
	f.exists, f.lines = false, nil
	s.p.files = append(s.p.files, &moved)
	for _, t := range s.p.files {
		if t.testOf == f {
			t.testOf = &moved
		}
	}
	command := s.x("git mv <from> <to>", "from", f.path, "to", to)
	s.do(
		pendingCall{
			tool:   s.shellTool(),
			input:  s.shellInput(command),
			result: s.shellOutput(phrase{}, 0),
			file:   f,
			effect: changesFile,
			also:   []*synthFile{&moved},
		},
	)
	return &moved
}

func (s *synth) shellTool() string {
	switch s.style.name {
	case "claude":
		return "Bash"
	case "codex":
		return "shell_command"
	}
	return "bash"
}

func (s *synth) shellInput(command phrase) phrase {
	switch s.style.name {
	case "codex":
		return callInput("command", command, "workdir", s.p.root, "timeout_ms", pickOne(s.r, []int{10_000, 20_000}))
	case "pi":
		return callInput("command", command)
	}
	words := strings.Fields(command.s)
	return callInput(
		"command", command, "description",
		capital(pickOne(s.r, []string{"run", "check", "execute"}))+" "+words[0]+" for the "+pickOne(s.r, s.p.nouns),
	)
}

// shellOutput is a command's output as the agent's tool hands it on.
func (s *synth) shellOutput(out phrase, exit int) phrase {
	switch {
	case s.style.name == "codex":
		return s.x(
			"Exit code: <exit>\nWall time: <w>.<n> seconds\nOutput:\n<out>", "exit", exit, "w", s.r.IntN(9), "out", out,
		)
	case s.style.name == "claude" && exit != 0:
		return s.x("Exit code <exit>\n<out>", "exit", exit, "out", out)
	case s.style.name == "pi" && exit != 0:
		return s.x("<out>\n\nCommand exited with code <exit>", "exit", exit, "out", out)
	case s.style.name == "pi" && out.s == "":
		return unmarked("(no output)")
	}
	return out
}

// run runs a command; line is the line of the output that tells how it went.
func (s *synth) run(command, out phrase, exit int, line string) {
	s.do(pendingCall{
		tool: s.shellTool(), input: s.shellInput(command), result: s.shellOutput(out, exit),
		failed: exit != 0, command: command.s, exit: exit, line: line,
	})
}

// grep searches for a name in all files.
func (s *synth) grep(l lit) {
	var t phraseText
	n := 0
	for _, f := range s.p.files {
		if !f.exists || n > 40 {
			continue
		}
		for i, line := range f.lines {
			if !holdsLit(line, l.id) {
				continue
			}
			if s.style.name == "opencode" {
				t.line(s.x("<root>/<path>:\n  Line <at>: <line>\n", "path", f.path, "at", i+1, "line", line))
			} else {
				t.line(s.x("<path>:<at>:<line>", "path", f.path, "at", i+1, "line", line))
			}
			n++
		}
	}
	switch s.style.name {
	case "claude":
		s.do(
			pendingCall{
				tool: "Grep",
				input: callInput("pattern", s.x("<l>", "l", l), "path", s.p.root, "output_mode", "content",
					"-n", true),
				result: t.trimmed(),
			},
		)
	case "opencode":
		out := s.x("Found <n> matches\n<out>", "n", n, "out", t.trimmed())
		s.do(pendingCall{tool: "grep", input: callInput("pattern", s.x("<l>", "l", l), "path", s.p.root), result: out})
	default:
		exit := 0
		if n == 0 {
			exit = 1
		}
		c := pendingCall{
			tool:   s.shellTool(),
			input:  s.shellInput(s.x("rg -n \"<l>\" .", "l", l)),
			result: s.shellOutput(t.phrase(), exit),
		}
		s.do(c)
	}
}

func holdsLit(line phrase, id int) bool {
	for _, m := range line.marks {
		if m.id == id {
			return true
		}
	}
	return false
}

// listFiles shows the names of many files.
func (s *synth) listFiles() {
	var t phraseText
	for _, f := range s.p.files[:min(len(s.p.files), 60)] {
		if !f.exists {
			continue
		}
		if s.style.absolute {
			t.line(s.x("<root>/<path>", "path", f.path))
		} else {
			t.line(s.x("<path>", "path", f.path))
		}
	}
	pattern := "**/*" + s.p.lang.ext
	switch s.style.name {
	case "claude":
		s.do(pendingCall{tool: "Glob", input: callInput("pattern", pattern), result: t.trimmed()})
	case "opencode":
		s.do(pendingCall{tool: "glob", input: callInput("pattern", pattern, "path", s.p.root), result: t.trimmed()})
	default:
		s.do(
			pendingCall{
				tool:   s.shellTool(),
				input:  s.shellInput(unmarked("rg --files | head -n 60")),
				result: s.shellOutput(t.phrase(), 0),
			},
		)
	}
}

// writePlan writes the task list.
func (s *synth) writePlan() {
	var list []map[string]string // encoding/json sorts the members
	for i, it := range s.truth.Plan {
		status := map[userwords.TaskStatus]string{
			userwords.TaskOpen:       "pending",
			userwords.TaskInProgress: "in_progress",
			userwords.TaskDone:       "completed",
		}[it.Status]
		switch s.style.name {
		case "codex":
			list = append(list, map[string]string{"step": it.Text, "status": status})
		case "claude":
			list = append(list,
				map[string]string{"content": it.Text, "status": status, "activeForm": "Working on: " + it.Text})
		default:
			list = append(
				list,
				map[string]string{
					"content":  it.Text,
					"status":   status,
					"priority": pickOne(s.r, []string{"high", "medium"}),
					"id":       fmt.Sprint(i + 1),
				},
			)
		}
	}
	items, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings always have a form
	}
	switch s.style.name {
	case "codex":
		s.do(
			pendingCall{
				tool: "update_plan", input: callInput("plan", json.RawMessage(items)), result: unmarked("Plan updated"),
			},
		)
	case "claude":
		s.do(
			pendingCall{
				tool:  "TodoWrite",
				input: callInput("todos", json.RawMessage(items)),
				result: unmarked(
					"Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. Please proceed with the current tasks if applicable",
				),
			},
		)
	default:
		s.do(
			pendingCall{
				tool: "todowrite", input: callInput("todos", json.RawMessage(items)), result: unmarked(string(items)),
			},
		)
	}
	s.truth.PlanMessage = len(s.msgs) // the answer that is being made
}
