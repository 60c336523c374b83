package pleat

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// shellEffect is what a script, or one command of it, does.
type shellEffect struct {
	kind     CallKind
	harmless bool
	paths    []PathChange
}

// weight orders effects by gravity. Looking something up on the net is graver than
// reading, and less grave than any change.
func (e shellEffect) weight() int {
	if e.kind == CallNet && e.harmless {
		return int(CallRead)*2 + 1
	}
	return int(e.kind) * 2
}

// describeShell fills in the facts of a call that runs a script.
func describeShell(f *CallFacts, script string, literal bool) {
	parsed := parseShell(script, literal)
	total := scriptEffect(parsed, 0)
	f.Kind, f.Harmless = total.kind, total.harmless
	f.Paths = append(f.Paths, total.paths...)
	top := topCommands(parsed)
	if len(top) > 1 && top[0].name() == "cd" && len(top[0].words) > 1 {
		if dir := top[0].words[1]; !dir.open && f.Dir == "" {
			f.Dir = dir.text
		}
		top = top[1:]
	}
	f.Steps = len(top) > 1
	f.Filtered = isFiltered(top)
	f.Command = oneLine(hideSecrets(strings.TrimSpace(script)), maxCommand)
	if !parsed.flow && !parsed.cut {
		if c := commandText(top); c != "" {
			f.Command = oneLine(hideSecrets(c), maxCommand)
		}
	}
}

func topCommands(s shellScript) []shellCmd {
	var top []shellCmd
	for _, c := range s.cmds {
		if !c.nested {
			top = append(top, c)
		}
	}
	return top
}

// scriptEffect joins the effects of a script's commands.
func scriptEffect(s shellScript, depth int) shellEffect {
	total := shellEffect{kind: CallRead, harmless: true}
	pipe := 0 // where the paths of the current pipeline begin
	for i := range s.cmds {
		c := &s.cmds[i]
		if c.sep != "|" {
			pipe = len(total.paths)
		} else {
			narrow(total.paths[pipe:], c)
		}
		e := commandEffect(c, depth)
		total.harmless = total.harmless && e.harmless
		if e.weight() > total.weight() {
			total.kind = e.kind
		}
		for _, p := range e.paths {
			if len(total.paths) < maxCommands && !slices.Contains(total.paths, p) {
				total.paths = append(total.paths, p)
			}
		}
	}
	if s.cut {
		total.harmless, total.kind = false, max(total.kind, CallRun)
	}
	return total
}

// narrow notes that a filter lets only a part of what was read through.
func narrow(paths []PathChange, filter *shellCmd) {
	first, last, some := filterRange(filter)
	for i := range paths {
		switch p := &paths[i]; {
		case p.Change != CallRead:
		case !some && p.whole():
			p.First, p.Last = first, last
		case first != 0 || last != 0 || some:
			p.First, p.Last, p.Some = 0, 0, true
		}
	}
}

// filterRange says which lines of its input a filter shows: all of them, a range, or
// some that cannot be told.
func filterRange(c *shellCmd) (first, last int, some bool) {
	args := c.args()
	switch c.name() {
	case "cat", "nl", "less", "more", "bat":
		return 0, 0, false
	case "head":
		if n := countOption(args, 10); n > 0 {
			return 1, n, false
		}
	case "tail":
		if n := tailFrom(args); n > 0 {
			return n, 0, false
		}
	case "sed":
		if ops := operands(args, "ef", ""); len(ops) > 0 && slices.Contains(args, "-n") {
			if first, last, ok := lineRange(ops[0]); ok {
				return first, last, false
			}
		}
	}
	return 0, 0, true
}

// countOption reads the number of lines of head: -n 20, -n20, -20 or the default.
func countOption(args []string, def int) int {
	for i, a := range args {
		digits, short := strings.CutPrefix(a, "-")
		if !short || digits == "" {
			continue
		}
		digits = strings.TrimPrefix(strings.TrimPrefix(digits, "-lines="), "n")
		if digits == "" && i+1 < len(args) {
			digits = args[i+1]
		}
		n, err := strconv.Atoi(digits)
		if err != nil {
			return 0
		}
		return n
	}
	return def
}

// tailFrom reads the line that tail -n +K begins at.
func tailFrom(args []string) int {
	for i, a := range args {
		rest, ok := strings.CutPrefix(a, "-n")
		if ok && rest == "" && i+1 < len(args) {
			rest = args[i+1]
		}
		if n, err := strconv.Atoi(rest); ok && err == nil && strings.HasPrefix(rest, "+") {
			return n
		}
	}
	return 0
}

// operands returns the arguments that are neither options nor values of options. values
// has the letters of short options that take a value, longs the names of long ones that
// do so without an equals sign.
func operands(args []string, values, longs string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return append(out, args[i+1:]...)
		case strings.HasPrefix(a, "--"):
			if slices.Contains(strings.Fields(longs), a[2:]) {
				i++
			}
		case len(a) > 1 && a[0] == '-':
			if at := strings.IndexAny(a[1:], values); at >= 0 && at == len(a)-2 {
				i++
			}
		case a != "":
			out = append(out, a)
		}
	}
	return out
}

// pathOperands turns operands into changes, leaving out what is no path as written.
func pathOperands(c *shellCmd, ops []string, change CallKind) []PathChange {
	var out []PathChange
	for _, op := range ops {
		if isPath(c, op) {
			out = append(out, PathChange{Path: op, Change: change})
		}
	}
	return out
}

// isPath reports whether a word of the command can be taken for a path as it stands.
func isPath(c *shellCmd, s string) bool {
	if s == "" || s == "-" || strings.HasPrefix(s, "/dev/") || len(s) > 1024 || strings.ContainsAny(s, "\n\x00") {
		return false
	}
	if strings.Contains(s, " ") && strings.ContainsAny(s, "|(){}[]") {
		return false // a script or a pattern that was taken for a file
	}
	for _, w := range c.words {
		if w.text == s {
			return !w.open
		}
	}
	return true
}

// redirEffect is what the redirections of a command do.
func redirEffect(c *shellCmd) (paths []PathChange) {
	for _, r := range c.redirs {
		t := r.target.text
		if r.target.open || !isPath(c, t) {
			continue
		}
		switch r.op {
		case ">", ">|", "&>":
			paths = append(paths, PathChange{Path: t, Change: CallCreate})
		case ">>", "&>>":
			paths = append(paths, PathChange{Path: t, Change: CallEdit})
		case ">&":
			if strings.Trim(t, "0123456789-") != "" {
				paths = append(paths, PathChange{Path: t, Change: CallCreate})
			}
		case "<":
			paths = append(paths, PathChange{Path: t, Change: CallRead})
		}
	}
	return paths
}

// writesStream reports whether a redirection of the command writes a file, named or not.
func writesStream(c *shellCmd) bool {
	for _, r := range c.redirs {
		if strings.HasPrefix(r.op, "&>") || r.op == ">" || r.op == ">>" || r.op == ">|" {
			if !strings.HasPrefix(r.target.text, "/dev/") {
				return true
			}
		}
	}
	return false
}

// commandEffect is what one command does, redirections included.
func commandEffect(c *shellCmd, depth int) shellEffect {
	e := shellEffect{kind: CallRead, harmless: true}
	if len(c.words) > 0 {
		e = programEffect(c, depth)
	}
	if writesStream(c) {
		e.harmless = false
		e.kind = max(e.kind, CallCreate)
	}
	for _, p := range redirEffect(c) {
		if p.Change == CallEdit && e.kind == CallCreate && len(e.paths) == 0 {
			e.kind = CallEdit
		}
		e.paths = append(e.paths, p)
	}
	return e
}

// isFiltered reports whether the exit code of the script is that of a mere filter.
func isFiltered(top []shellCmd) bool {
	if len(top) < 2 {
		return false
	}
	last := &top[len(top)-1]
	if last.sep == "||" { // cmd || true
		return slices.Contains([]string{"true", "echo", ":", "exit"}, last.name())
	}
	if last.sep == ";" {
		return last.name() == "echo"
	}
	return last.sep == "|"
}

// commandText writes the commands in one way: no redirections, no filters that only trim
// output, one space between words.
func commandText(top []shellCmd) string {
	var b strings.Builder
	for i := range top {
		c := &top[i]
		if b.Len() > 0 {
			if c.sep == "|" && isFilter(c) {
				continue
			}
			if c.sep != ";" && c.sep != "&" {
				b.WriteByte(' ')
			}
			b.WriteString(c.sep)
			b.WriteByte(' ')
		}
		words := slices.Clone(c.assigns)
		for _, w := range c.words {
			words = append(words, strings.Join(strings.Fields(w.raw), " "))
		}
		b.WriteString(strings.Join(words, " "))
		if c.heredoc != "" {
			h := fnv.New32a()
			h.Write([]byte(c.heredoc))
			b.WriteString(" <<" + strconv.FormatUint(uint64(h.Sum32()), 16))
		}
		if b.Len() > 4*maxCommand {
			break
		}
	}
	return b.String()
}

func isFilter(c *shellCmd) bool {
	switch c.name() {
	case "head", "tail", "grep", "egrep", "rg", "sed", "awk", "cut", "sort", "uniq", "wc", "cat", "tr", "less", "column", "jq", "tee", "nl":
		return true
	}
	return false
}
