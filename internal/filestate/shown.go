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

// shownBy reads what a call that reads one file showed of it: plain lines, or lines with
// numbers as Claude Code and opencode write them. It is false if that cannot be told to the
// byte.
func shownBy(c transcript.ToolCall, p toolcall.PathChange, result string) (shown, bool) {
	if script, literal := toolcall.Script(c); script != "" {
		return shownByScript(script, literal, p, result)
	}
	first := max(p.First, 1)
	if body, ended, ok := openCode(result); ok {
		s, ok := numbered(body, first, ": ", "| ")
		s.ends(ended)
		return s, ok && !s.cutLines()
	}
	body := withoutReminders(result)
	if strings.TrimSpace(body) == "" || framed(body) {
		return shown{}, false // nothing, a remark about it, or parts of it
	}
	if s, ok := numbered(body, first, "→", "\t"); ok && c.Name == "Read" {
		s.ends(s.reaches(p))
		return s, !s.cutLines()
	}
	if head, _, _ := strings.Cut(body, "\n"); strings.Contains(head[:min(len(head), 12)], "→") {
		return shown{}, false
	}
	_, numbers := numbered(body, first, "→", "\t", "| ", ": ", ". ")
	if numbers || strings.HasSuffix(strings.TrimSpace(result), reminderEnd) {
		return shown{}, false // the numbers, or the reminder, may belong to the file
	}
	return plainly(body, p)
}

// ends notes whether the file ends with the lines. Then an empty last one is none: the line
// before it has a line feed.
func (s *shown) ends(is bool) {
	if s.ended = is; is && strings.HasSuffix(s.text, "\n\n") {
		s.text = s.text[:len(s.text)-1]
	}
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

// What Claude Code puts behind the lines of a file.
const (
	reminderStart = "\n<system-reminder>"
	reminderEnd   = "</system-reminder>"
)

// withoutReminders takes off the reminders behind the lines of a file.
func withoutReminders(s string) string {
	for strings.HasSuffix(strings.TrimSpace(s), reminderEnd) {
		i := strings.LastIndex("\n"+s, reminderStart)
		if i < 0 {
			break
		}
		s = strings.TrimRight(s[:i], "\n") + "\n"
	}
	return s
}

// openCode takes off what opencode puts around the lines of a file. ended says that they go
// on to its end.
func openCode(s string) (lines string, ended, ok bool) {
	if !text.HasAnyPrefix(s, "<path>", "<file>") {
		return "", false, false
	}
	for _, tag := range []string{"content", "file"} {
		_, lines, ok = strings.Cut(s, "<"+tag+">\n")
		end := strings.LastIndex(lines, "</"+tag+">")
		if !ok || end < 0 {
			continue
		}
		lines = lines[:end]
		if note := strings.LastIndex(lines, "\n\n("); note >= 0 {
			ended = strings.HasPrefix(lines[note+3:], "End of file")
			lines = lines[:note+1]
		}
		return lines, ended, true
	}
	return "", false, true
}

// framed reports whether a result has words of an agent around the lines of the file, or
// leaves some of them out.
func framed(s string) bool {
	end := s[max(strings.LastIndex(s, "\n\n["), 0):]
	return text.HasAnyPrefix(s, "Here's the result of running `cat -n` on ",
		"\nIMPORTANT: The file content has been truncated.") ||
		text.HasAnyPrefix(end, "\n\n[Output truncated", "\n\n[Showing lines ") ||
		strings.Contains(end, " more lines in file")
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
func plainly(body string, p toolcall.PathChange) (shown, bool) {
	s := shown{at: max(p.First, 1), text: body}
	if strings.HasPrefix(body, "[read ") { // pleat
		head, rest, _ := strings.Cut(body, "\n")
		at, to, all, told := lineSpan(head)
		s.at, s.text, s.ended = at, rest, to == all
		if i := strings.LastIndex(rest, "\n[more: offset "); i >= 0 {
			s.text = rest[:i+1]
		}
		return s, told && lineCount(fed(s.text)) == to-at+1
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
	numbers, plain := showsFile(script, literal)
	body, exact, ok := output(result)
	if !plain || !ok {
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

// showsFile reports whether a script only shows a part of a file, and whether with numbers of lines.
func showsFile(script string, literal bool) (numbers, ok bool) {
	sh := shell.Parse(script, literal)
	if sh.Flow || sh.Cut || literal {
		return false, false
	}
	narrowed, n := false, 0
	for i := range sh.Commands {
		c := &sh.Commands[i]
		name := c.Name()
		switch {
		case c.Nested || len(c.Redirects) > 0:
			return false, false
		case name == "cd" && n == 0:
			continue
		case n > 0 && c.Sep != "|":
			return false, false
		}
		n++
		switch name {
		case "cat":
			numbers = numbers || slices.Contains(c.Args(), "-n")
			if slices.ContainsFunc(c.Args(), func(a string) bool { return strings.HasPrefix(a, "-") && a != "-n" }) {
				return false, false
			}
		case "nl":
			if !slices.Contains(c.Args(), "-ba") {
				return false, false
			}
			numbers = true
		case "sed", "head":
			if narrowed {
				return false, false
			}
			narrowed = true
		default:
			return false, false
		}
	}
	return numbers, n > 0
}

// output is what a command printed, without what Codex puts before it; exact: with the
// empty lines at its beginning and end, which other agents take off. It is not ok if that
// cannot be told, or if something is left out.
func output(result string) (printed string, exact, ok bool) {
	head := result[:min(len(result), 400)]
	if text.HasAnyPrefix(head, "Exit code: ", "Chunk ID: ", "Wall time: ") {
		if i := strings.Index(head, "\nOutput:\n"); i >= 0 {
			result, exact = result[i+len("\nOutput:\n"):], true
		}
	}
	if len(result) > 29_000 || text.HasAnyPrefix(head, "Output: ", "Command: ") ||
		strings.Contains(head, "Total output lines: ") || text.ContainsAny(result, cutMarks...) {
		return "", false, false
	}
	return result, exact, true
}

// cutMarks are in outputs that agents put something into, or left something out of.
var cutMarks = []string{
	" tokens truncated…", " chars truncated…", "[... omitted ", "... [truncated]", "[output truncated",
	" lines truncated",
	"truncated]", "\n<exited with exit code ",
}
