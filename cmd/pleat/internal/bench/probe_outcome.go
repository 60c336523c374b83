package bench

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/transcript"
)

// outcome is how a command ended, as its result says.
type outcome struct {
	command string
	failed  bool
	first   string // first error line, verbatim
	result  string // all of it
	unknown bool   // how it ended since
}

var (
	exitCode = regexp.MustCompile(
		`(?im)^\W*(?:process )?(?:exit(?:ed with)?(?: code| status)?|returncode|exit_code)["\s:=]+(-?\d+)`,
	)
	errorLine = regexp.MustCompile(
		`(?i)\b(error|failed|failure|fail|panic|fatal|exception|undefined|cannot|not found)\b`)
	// looks are programs that only look: how they ended is nobody's state.
	looks = strings.Fields(
		"ls cat head tail grep rg find sed awk wc pwd echo tree which file stat du less nl sort cd ps env date tr jq xxd diff printf true sleep for",
	)
	// shows are subcommands that only look.
	shows = map[string][]string{
		"git": strings.Fields("status diff log show branch remote blame ls-files rev-parse --no-pager fetch grep"),
		"gh":  strings.Fields("api repo view"),
	}
	goesOn   = regexp.MustCompile(`(?m)^(?:Process running with session ID|Command running in background with ID:) `)
	inFolder = regexp.MustCompile(`^cd \S+ && `)
)

// commandOf is the command line of a call that runs one, or nothing.
func commandOf(c transcript.ToolCall) string {
	var args map[string]any
	if json.Unmarshal([]byte(c.Input.String()), &args) != nil {
		return ""
	}
	for _, key := range []string{"command", "cmd"} {
		switch v := args[key].(type) {
		case string:
			return strings.Join(strings.Fields(v), " ")
		case []any:
			var parts []string
			for _, e := range v {
				if s, ok := e.(string); ok {
					parts = append(parts, s)
				}
			}
			return strings.Join(parts, " ")
		}
	}
	return ""
}

// coreOf is a command without the folder it runs in and where its output goes, or nothing
// if it only looks, or if its exit code is another program's.
func coreOf(command string) string {
	command = inFolder.ReplaceAllString(command, "")
	core := strings.TrimSpace(strings.TrimSuffix(command, "2>&1"))
	if strings.ContainsAny(core, "|;") || strings.Contains(core, "2>&1") || strings.Contains(core, "<<") {
		return ""
	}
	for part := range strings.SplitSeq(core, "&&") {
		if f := strings.Fields(part); len(f) > 0 && !slices.Contains(looks, f[0]) &&
			!(len(f) > 1 && slices.Contains(shows[f[0]], f[1])) &&
			!(f[0] == "gh" && len(f) > 2 && slices.Contains([]string{
				"view", "list", "diff", "checks", "status",
			}, f[2])) {
			return core
		}
	}
	return ""
}

// filtered is the core of a command whose exit code is that of a filter behind it, or
// nothing.
func filtered(command string) string {
	first, _, ok := strings.Cut(command, " | ")
	if !ok {
		return ""
	}
	return coreOf(first)
}

// resultsIn yields every command that a message answers, with its result. Open are the commands that wait for theirs.
func resultsIn(m transcript.Message, open map[string]string, yield func(command string, r transcript.ToolResult)) {
	for _, b := range m.Blocks().All() {
		switch b := b.(type) {
		case transcript.ToolCall:
			if cmd := coreOf(commandOf(b)); cmd != "" {
				open[b.ID] = cmd
			}
		case transcript.ToolResult:
			if cmd := open[b.CallID]; cmd != "" {
				delete(open, b.CallID)
				yield(cmd, b)
			}
		}
	}
}

func outcomeOf(command string, r transcript.ToolResult) outcome {
	text := r.Text()
	o := outcome{command: command, failed: r.Error, result: text}
	o.unknown = goesOn.MatchString(text) // its end is told elsewhere, or never
	if m := exitCode.FindStringSubmatch(text); m != nil {
		o.failed = o.failed || m[1] != "0"
	}
	if o.failed {
		for _, l := range splitLines(text) {
			if errorLine.MatchString(l) {
				o.first = l
				break
			}
		}
	}
	return o
}

// newestOutcomes are the newest outcomes of commands, in the order in which these were first run.
func newestOutcomes(msgs []transcript.Message) (list []outcome) {
	place := make(map[string]int) // from 1
	open := make(map[string]string)
	for _, m := range msgs {
		for _, c := range m.Calls() {
			if i := place[filtered(commandOf(c))]; i > 0 {
				list[i-1].unknown = true
			}
		}
		resultsIn(m, open, func(cmd string, r transcript.ToolResult) {
			if place[cmd] == 0 {
				list = append(list, outcome{})
				place[cmd] = len(list)
			}
			list[place[cmd]-1] = outcomeOf(cmd, r)
		})
	}
	return list
}

// outcomes asks for the newest outcome of every command that does or checks something.
// The older state of a command that has a newer one is wrong.
func outcomes(s *Session, sp span) []probe {
	known := slices.DeleteFunc(newestOutcomes(s.Messages[:sp.cut]), func(o outcome) bool { return o.unknown })
	heads := make(map[string]int) // of commands that begin alike nobody can tell which one a line means
	for _, o := range known {
		heads[headOf(o.command)]++
	}
	var out []probe
	for _, o := range known {
		if heads[headOf(o.command)] == 1 {
			out = append(out, outcomeProbe(o))
		}
	}
	return out
}

// headOf is as much of a command as a line must have to be about it.
func headOf(command string) string { return command[:min(len(command), 60)] }

func outcomeProbe(o outcome) probe {
	head := headOf(o.command)
	what := "ok: " + head
	if o.failed {
		what = "failed: " + head
	}
	return probe{family: Outcomes, what: what, query: head, look: func(s *seen) verdict {
		v := absent
		line := func(text string) {
			rest, ok := behindCommand(text, head, len(o.command) > len(head))
			if failed, told := tells(rest); ok && told {
				v = judge(failed, o.failed)
			}
		}
		if s.msgs == nil {
			for _, l := range s.own {
				line(l)
			}
			return v
		}
		// In the order of the view: what is said later holds.
		open := make(map[string]string)
		for i, m := range s.msgs {
			if s.pages[i] {
				for _, b := range m.Blocks().All() {
					for _, l := range ownLines(b) {
						line(l)
					}
				}
				continue
			}
			resultsIn(m, open, func(cmd string, r transcript.ToolResult) {
				if cmd != o.command {
					return
				}
				if r.Text() == o.result { // shown as it was
					v = stated
				} else if failed, told := tells(r.Text()); told {
					v = judge(failed, o.failed)
				}
			})
		}
		return v
	}}
}

// behindCommand is what a line says behind a command. A command that goes on is another
// one, unless only its beginning is looked for.
func behindCommand(line, head string, open bool) (string, bool) {
	line = strings.Join(strings.Fields(line), " ")
	at := strings.Index(line, head)
	if at < 0 {
		return "", false
	}
	rest := line[at+len(head):]
	if !open && rest != "" && !strings.HasPrefix(rest, ": ") && !strings.HasPrefix(rest, " (") &&
		!strings.HasPrefix(rest, " 2>&1") &&
		strings.IndexAny(rest, "`\"'),") != 0 {
		return "", false
	}
	return rest, true
}

func judge(said, is bool) verdict {
	if said == is {
		return stated
	}
	return wrong
}

var marker = regexp.MustCompile(
	`(?i)\b(fail(?:ed|s|ure)?|errors?|exit(?:ed with)?(?: code| status)? [1-9]\d*|broken|refused)\b|✗|❌|\b(ok|pass(?:ed|es|ing)?|succeed(?:ed|s)?|success(?:ful|fully)?|exit(?:ed with)?(?: code| status)? 0|green|works?)\b|✓|✅`,
)

var saidPlainly = regexp.MustCompile(`: (ok|failed)\b`)

// tells says what a line tells of an outcome: the word behind the first colon if it is
// one, else the last word that is.
func tells(line string) (failed, told bool) {
	if m := saidPlainly.FindStringSubmatch(line); m != nil {
		return m[1] == "failed", true
	}
	for _, m := range marker.FindAllString(line, -1) {
		l := strings.ToLower(m)
		failed = m == "✗" || m == "❌" || strings.HasPrefix(l, "fail") || strings.HasPrefix(l, "error") ||
			l == "broken" ||
			l == "refused" ||
			strings.HasPrefix(l, "exit") && !strings.HasSuffix(l, " 0")
		told = true
	}
	return failed, told
}

// shellText is all that was given to a shell, in lower case.
func shellText(msgs []transcript.Message) string {
	var b strings.Builder
	for _, m := range msgs {
		for _, c := range m.Calls() {
			b.WriteString(commandOf(c) + "\n")
		}
	}
	return strings.ToLower(b.String())
}
