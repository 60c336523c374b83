package filestate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/shell"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// shown is what a result shows of a file: lines from number at on.
type shown struct {
	at    int
	text  string
	ended bool // the last of them is the last of the file
	rough bool // empty lines at the beginning and the end may be left out
}

// longLine is the length from which agents cut lines that they show.
const longLine = 1_900

// shownBy reads what a call that reads one file showed of it, in the formats of the common
// agents. It is false if that cannot be told to the byte.
func shownBy(c transcript.ToolCall, p toolcall.PathChange, result string) (shown, bool) {
	if script, literal := toolcall.Script(c); script != "" {
		return shownByScript(script, literal, p, result)
	}
	first := max(p.First, 1)
	body, closed := withoutFrame(result)
	if strings.TrimSpace(body) == "" {
		return shown{}, false // nothing, or a remark about it
	}
	if s, ok := numbered(body, first, marksOf(c.Name, result)...); ok {
		s.ended = closed == frameEnd || closed == frameNone && s.reaches(p)
		if s.ended {
			s.text = strings.TrimSuffix(s.text, "\n")
			if !strings.HasSuffix(s.text, "\n") && s.text != "" {
				s.text += "\n"
			}
		}
		return s, !s.cutLines()
	}
	if head, _, _ := strings.Cut(body, "\n"); strings.Contains(head[:min(len(head), 12)], "→") {
		return shown{}, false
	}
	if _, ok := numbered(body, first, "→", "\t", "| ", ": ", ". "); ok || strings.HasSuffix(strings.TrimSpace(result), reminderEnd) {
		return shown{}, false // the numbers, or the reminder, may belong to the file
	}
	return plainly(body, closed, p)
}

// marksOf is what a tool puts between the number of a line and the line.
func marksOf(tool, result string) []string {
	switch {
	case text.HasAnyPrefix(result, "<path>", "<file>"): // opencode
		return []string{": ", "| "}
	case strings.HasPrefix(result, catHead):
		return []string{"\t"}
	case tool == "Read": // Claude Code
		return []string{"→", "\t"}
	case tool == "view": // Copilot CLI
		return []string{". "}
	}
	return nil
}

// reaches reports whether what was asked for goes on after what is shown.
func (s *shown) reaches(p toolcall.PathChange) bool {
	n := lineCount(s.text)
	if p.Last > 0 {
		return s.at+n-1 < p.Last
	}
	return n < 1_900 && len(s.text) < 200<<10
}

func (s *shown) cutLines() bool {
	for line := range strings.Lines(s.text) {
		if len(line) > longLine {
			return true
		}
	}
	return false
}

// frame says what the words around the lines tell about the end of the file.
type frame uint8

const (
	frameNone frame = iota // nothing
	frameEnd               // it is shown
	framePart              // it is not
)

// What agents put around the lines of a file.
const (
	catHead       = "Here's the result of running `cat -n` on "
	reminderStart = "\n<system-reminder>"
	reminderEnd   = "</system-reminder>"
)

// withoutFrame takes off what agents put around the lines of a file.
func withoutFrame(s string) (string, frame) {
	told := frameNone
	for strings.HasSuffix(strings.TrimSpace(s), reminderEnd) {
		i := strings.LastIndex("\n"+s, reminderStart)
		if i < 0 {
			break
		}
		s = strings.TrimRight(s[:i], "\n") + "\n"
	}
	for _, tag := range []string{"content", "file"} { // opencode
		if _, inner, ok := strings.Cut(s, "<"+tag+">\n"); ok && text.HasAnyPrefix(s, "<path>", "<file>") {
			if i := strings.LastIndex(inner, "</"+tag+">"); i >= 0 {
				s, told = inner[:i], framePart
			}
			if i := strings.LastIndex(s, "\n\n("); i >= 0 {
				if strings.HasPrefix(s[i+3:], "End of file") {
					told = frameEnd
				}
				s = s[:i+1]
			}
			break
		}
	}
	if strings.HasPrefix(s, catHead) {
		_, s, _ = strings.Cut(s, "\n")
		if i := strings.LastIndex(s, "<NOTE>"); i >= 0 {
			s, told = strings.TrimRight(s[:i], "\n")+"\n", framePart
		}
	}
	if i := strings.LastIndex(s, "\n\n["); i >= 0 && text.HasAnyPrefix(s[i+3:], "Output truncated", "Showing lines ") || i >= 0 && strings.Contains(s[i:], " more lines in file") {
		s, told = s[:i+1], framePart
	}
	return s, told
}

// numbered reads lines with consecutive numbers before them, the first of which is known, and
// one of the marks after the numbers.
func numbered(body string, first int, marks ...string) (shown, bool) {
	mark := ""
	head, _, _ := strings.Cut(body, "\n")
	for _, m := range marks {
		if strings.HasPrefix(strings.TrimLeft(head, " 0"), strconv.Itoa(first)+m) {
			mark = m
			break
		}
	}
	if mark == "" {
		return shown{}, false
	}
	var b strings.Builder
	n := first
	for line := range strings.Lines(body) {
		rest, ok := strings.CutPrefix(strings.TrimLeft(line, " 0"), strconv.Itoa(n))
		if ok {
			rest, ok = strings.CutPrefix(rest, strings.TrimRight(mark, " "))
		}
		if !ok {
			return shown{}, false
		}
		if strings.HasSuffix(mark, " ") {
			rest = strings.TrimPrefix(rest, " ")
		}
		b.WriteString(strings.TrimRight(rest, "\r\n") + "\n")
		n++
	}
	return shown{at: first, text: b.String()}, true
}

// plainly reads lines as they are in the file.
func plainly(body string, closed frame, p toolcall.PathChange) (shown, bool) {
	s := shown{at: max(p.First, 1), text: body}
	if rest, ok := strings.CutPrefix(body, "\nIMPORTANT: The file content has been truncated.\n"); ok { // Gemini CLI
		at, to, all, told := lineSpan(rest)
		_, s.text, ok = strings.Cut(rest, "--- FILE CONTENT (truncated) ---\n")
		s.at, s.ended = at, to == all
		return s, ok && told && lineCount(fed(s.text)) == to-at+1
	}
	if strings.HasPrefix(body, "[read ") { // pleat
		head, rest, _ := strings.Cut(body, "\n")
		at, to, all, told := lineSpan(head)
		s.at, s.text, s.ended = at, rest, to == all
		if i := strings.LastIndex(rest, "\n[more: offset "); i >= 0 {
			s.text = rest[:i+1]
		}
		return s, told && lineCount(fed(s.text)) == to-at+1
	}
	if closed == framePart {
		return s, true
	}
	s.ended = p.Last == 0 || lineCount(fed(s.text)) < p.Last-s.at+1
	return s, !s.cutLines() && lineCount(s.text) < 1_900 && len(s.text) < 48<<10
}

// lineSpan reads "lines 3-9 of 40".
func lineSpan(s string) (from, to, all int, ok bool) {
	_, s, ok = strings.Cut(s, "lines ")
	if !ok {
		return 0, 0, 0, false
	}
	span, s, _ := strings.Cut(s, " of ")
	a, b, _ := strings.Cut(span, "-")
	from, err := strconv.Atoi(a)
	to, err2 := strconv.Atoi(b)
	all, err3 := strconv.Atoi(s[:text.DigitsEnd(s, 0)])
	return from, to, all, err == nil && err2 == nil && err3 == nil
}

// shownByScript reads what a script of one pipeline showed: cat, sed -n, head, nl.
func shownByScript(script string, literal bool, p toolcall.PathChange, result string) (shown, bool) {
	sh := shell.Parse(script, literal)
	if sh.Flow || sh.Cut || literal {
		return shown{}, false
	}
	numbers, narrowed := false, false
	n := 0
	for i := range sh.Commands {
		c := &sh.Commands[i]
		name := c.Name()
		switch {
		case c.Nested || len(c.Redirects) > 0:
			return shown{}, false
		case name == "cd" && n == 0:
			continue
		case n > 0 && c.Sep != "|":
			return shown{}, false
		}
		n++
		switch name {
		case "cat":
			numbers = numbers || slices.Contains(c.Args(), "-n")
			if slices.ContainsFunc(c.Args(), func(a string) bool { return strings.HasPrefix(a, "-") && a != "-n" }) {
				return shown{}, false
			}
		case "nl":
			if !slices.Contains(c.Args(), "-ba") {
				return shown{}, false
			}
			numbers = true
		case "sed", "head":
			if narrowed {
				return shown{}, false
			}
			narrowed = true
		default:
			return shown{}, false
		}
	}
	body, exact, ok := output(result)
	if !ok || n == 0 {
		return shown{}, false
	}
	s := shown{at: max(p.First, 1), text: body}
	if numbers {
		if s, ok = numbered(body, s.at, "\t"); !ok {
			return s, false
		}
	}
	lines := lineCount(fed(s.text))
	switch full := p.Last > 0 && lines == p.Last-s.at+1; {
	case p.Last == 0:
		s.ended, s.rough = true, !exact && !numbers
		return s, p.First <= 1 || !s.rough && lines > 0
	case !full && exact:
		s.ended = lines > 0
		return s, s.ended
	default:
		return s, full || numbers && lines > 0
	}
}

// output is what a command printed, without what agents put around it; exact: with the
// empty lines at its beginning and end, which some agents take off. It is not ok if that
// cannot be told, or if something is left out.
func output(result string) (printed string, exact, ok bool) {
	head := result[:min(len(result), 400)]
	for _, mark := range []string{"\nOutput:\n", "Output: "} {
		if i := strings.Index(head, mark); i >= 0 && text.HasAnyPrefix(head, "Exit code: ", "Chunk ID: ", "Wall time: ", "Command: ", "Output: ") {
			result, exact = result[i+len(mark):], mark == "\nOutput:\n"
			if j := strings.LastIndex(result, "\nProcess Group PGID: "); mark == "Output: " && j >= 0 {
				result = result[:j+1]
			}
			break
		}
	}
	if i := strings.LastIndex(result, "\n<exited with exit code "); i >= 0 {
		result = result[:i+1]
	}
	if text.ContainsAny(result, " tokens truncated…", " chars truncated…", "[... omitted ", "... [truncated]", "[output truncated", " lines truncated", "truncated]") ||
		strings.Contains(head, "Total output lines: ") || len(result) > 29_000 {
		return "", false, false
	}
	return result, exact, true
}
