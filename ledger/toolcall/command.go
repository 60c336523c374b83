package toolcall

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/client"
	"github.com/pleat-dev/pleat/internal/shell"
	"github.com/pleat-dev/pleat/internal/text"
)

// shellEffect is what a script, or one command of it, does.
type shellEffect struct {
	kind     CallKind
	harmless bool
	paths    []PathChange
	left     string // the directory that a script ends in, from its first one
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
	parsed := shell.Parse(script, literal)
	total := scriptEffect(parsed, 0)
	f.Kind, f.Harmless = total.kind, total.harmless
	f.Paths = append(f.Paths, total.paths...)
	top := slices.DeleteFunc(slices.Clone(parsed.Commands), func(c shell.Command) bool { return c.Nested })
	dir := ""
	if len(top) > 0 && goesTo(&top[0]) {
		dir = firstDir(&top[0])
		top = top[min(1, len(top)-1):]
	}
	if left := joinDir(dir, total.left); f.Dir == "" && f.KeepsDir() {
		f.Left = left
	}
	f.Dir = joinDir(f.Dir, dir)
	f.Steps = len(top) > 1
	f.Filtered = isFiltered(top)
	f.Command = text.OneLine(hideSecrets(strings.TrimSpace(script)), maxCommand)
	if !parsed.Flow && !parsed.Cut {
		if c := commandText(top); c != "" {
			f.Command = text.OneLine(hideSecrets(c), maxCommand)
		}
	}
}

// scriptEffect joins the effects of a script's commands.
func scriptEffect(s shell.Script, depth int) shellEffect {
	total := shellEffect{kind: CallRead, harmless: true}
	pipe := 0          // where the paths of the current pipeline begin
	at := []string{""} // the directory from the script's first one, by subshell
	for i := range s.Commands {
		c := &s.Commands[i]
		for len(at) <= c.Sub {
			at = append(at, at[len(at)-1])
		}
		at = at[:c.Sub+1]
		if goesTo(c) && !c.Nested && (i > 0 || c.Sub > 0) {
			at[c.Sub] = joinDir(at[c.Sub], firstDir(c))
		}
		if c.Sep != "|" {
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
			p.Dir = joinDir(at[c.Sub], p.Dir)
			if len(total.paths) < shell.MaxCommands && !slices.Contains(total.paths, p) {
				total.paths = append(total.paths, p)
			}
		}
	}
	if s.Cut {
		total.harmless, total.kind = false, max(total.kind, CallRun)
	}
	total.left = at[0]
	return total
}

// KeepsDir reports whether the tool's shell goes on with the next call, in the directory
// where the last one left it.
func (f *CallFacts) KeepsDir() bool { return client.KeepsDir(f.Tool) }

// goesTo reports whether a command changes the working directory.
func goesTo(c *shell.Command) bool {
	goes := []string{"cd", "chdir", "pushd", "set-location", "sl", "push-location"}
	return slices.Contains(goes, strings.ToLower(c.Name()))
}

// firstDir is the directory that such a command names, empty if it cannot be told.
func firstDir(c *shell.Command) string {
	for _, w := range c.Words[1:] {
		if !strings.HasPrefix(w.Text, "-") {
			if w.Open {
				return ""
			}
			return w.Text
		}
	}
	return ""
}

// joinDir returns the directory that is reached by going to a and from there to b.
func joinDir(a, b string) string {
	if a == "" || b == "" || IsAbs(CleanPath(b)) {
		return cmp.Or(b, a)
	}
	if len(a)+len(b) > 1024 {
		return b // no real path is that long
	}
	return a + "/" + b
}

// narrow notes that a filter lets only a part of what was read through.
func narrow(paths []PathChange, filter *shell.Command) {
	first, last, some := filterRange(filter)
	for i := range paths {
		switch p := &paths[i]; {
		case p.Change != CallRead:
		case !some && p.Whole():
			p.First, p.Last = first, last
		default:
			p.First, p.Last, p.Some = 0, 0, true
		}
	}
}

// filterRange says which lines of its input a filter shows: those from first to last, or
// some that are not known.
func filterRange(c *shell.Command) (first, last int, some bool) {
	args := c.Args()
	switch c.Name() {
	case "head":
		if n := headLines(args); n > 0 {
			return 1, n, false
		}
	case "sed":
		if ops := operands(args, "ef", ""); len(ops) > 0 && slices.Contains(args, "-n") {
			if first, last, ok := shell.LineRange(ops[0]); ok {
				return first, last, false
			}
		}
	}
	return 0, 0, true
}

// headLines reads how many lines head shows: -n 20, -n20, -20 or the default; 0: not known.
func headLines(args []string) int {
	for i, a := range args {
		digits, short := strings.CutPrefix(a, "-")
		if !short || digits == "" {
			continue
		}
		if digits = strings.TrimPrefix(digits, "n"); digits == "" && i+1 < len(args) {
			digits = args[i+1]
		}
		n, _ := strconv.Atoi(digits)
		return n
	}
	return 10
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
			name, value, ok := strings.Cut(a[1:], ":")
			if name = strings.ToLower(name); ok && pathParams[name] {
				out = append(out, value)
			}
			if !ok && valueParams[name] {
				i++
			} else if at := strings.IndexAny(a[1:], values); at >= 0 && at == len(a)-2 {
				i++
			}
		case a != "":
			out = append(out, a)
		}
	}
	return out
}

// The parameters of PowerShell's commands that take a value: a path, which is as good as an
// operand, and anything else.
var (
	pathParams  = text.WordSet("path literalpath filepath destination outfile")
	valueParams = text.WordSet(`erroraction ea warningaction informationaction errorvariable outvariable variable filter
		include exclude itemtype type value encoding name newname totalcount head first tail last readcount delimiter
		pattern depth context property inputobject width stream credential`)
)

// pathOperands turns operands into changes like the given one, leaving out what is no path
// as written. What is done to all files is done to none by name, and a number is no file
// that is read, but the value of an option.
func pathOperands(c *shell.Command, ops []string, like PathChange) []PathChange {
	var out []PathChange
	for _, op := range ops {
		reads := like.Change == CallRead
		if isPath(c, op) && (reads || op != ".") && !(reads && strings.Trim(op, "0123456789,:;|%+") == "") {
			like.Path = op
			out = append(out, like)
		}
	}
	return out
}

// isPath reports whether a word of the command can be a path as it is written.
func isPath(c *shell.Command, s string) bool {
	if s == "" || s == "-" || s[0] == '$' || strings.HasPrefix(s, "/dev/") || strings.EqualFold(s, "nul") {
		return false
	}
	if len(s) > 1024 || strings.ContainsAny(s, "\n\x00") {
		return false
	}
	scheme, rest, _ := strings.Cut(s, ":")
	if len(scheme) > 1 && scheme != "file" && shell.IsVariable(scheme) && text.HasAnyPrefix(rest, "/", `\`) {
		return false // https://…, Env:\…
	}
	if strings.Contains(s, " ") && strings.ContainsAny(s, "|(){}[]") {
		return false // a script or a pattern that was taken for a file
	}
	for _, w := range c.Words {
		if w.Text == s {
			return !w.Open
		}
	}
	return true
}

// redirections are the operators that read or write a file.
var redirections = map[string]CallKind{
	">": CallCreate, ">|": CallCreate, "&>": CallCreate, ">&": CallCreate,
	">>": CallEdit, "&>>": CallEdit,
	"<": CallRead,
}

// commandEffect is what one command does, redirections included.
func commandEffect(c *shell.Command, depth int) shellEffect {
	e := shellEffect{kind: CallRead, harmless: true}
	if len(c.Words) > 0 {
		e = programEffect(c, depth)
	}
	for _, r := range c.Redirects {
		t := r.Target.Text
		change := redirections[r.Op]
		descriptor := r.Op == ">&" && strings.Trim(t, "0123456789-") == ""
		if change == CallOther || descriptor || strings.HasPrefix(t, "/dev/") || strings.EqualFold(t, "nul") {
			continue
		}
		if change != CallRead {
			e.harmless = false
			e.kind = max(e.kind, change)
		}
		if !r.Target.Open && isPath(c, t) {
			e.paths = append(e.paths, PathChange{Path: t, Change: change})
		}
	}
	return e
}

// isFiltered reports whether the exit code of the script may not be the command's own,
// because a pipe, an echo or a similar command came last.
func isFiltered(top []shell.Command) bool {
	if len(top) < 2 {
		return false
	}
	last := &top[len(top)-1]
	switch last.Sep {
	case "||": // cmd || true
		return slices.Contains([]string{"true", "echo", ":", "exit"}, last.Name())
	case ";":
		return last.Name() == "echo"
	}
	return last.Sep == "|"
}

// commandText writes the commands in one way: no redirections, no filters that only trim
// output, one space between words.
func commandText(top []shell.Command) string {
	var b strings.Builder
	for i := range top {
		c := &top[i]
		if b.Len() > 0 {
			if c.Sep == "|" && filters[c.Name()] {
				continue
			}
			if c.Sep != ";" && c.Sep != "&" {
				b.WriteByte(' ')
			}
			b.WriteString(c.Sep)
			b.WriteByte(' ')
		}
		words := slices.Clone(c.Assigns)
		for _, w := range c.Words {
			words = append(words, strings.Join(strings.Fields(w.Raw), " "))
		}
		b.WriteString(strings.Join(words, " "))
		if c.Heredoc != "" {
			h := fnv.New32a()
			h.Write([]byte(c.Heredoc))
			b.WriteString(" <<" + strconv.FormatUint(uint64(h.Sum32()), 16))
		}
		if b.Len() > 4*maxCommand {
			break
		}
	}
	return b.String()
}

// filters are the programs that only filter, or pass on, what other commands print.
var filters = text.WordSet("head tail grep egrep rg sed awk cut sort uniq wc cat tr less column jq tee nl")
