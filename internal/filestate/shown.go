package filestate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger/toolcall"
)

// What agents show of a file without cutting: lines, bytes of a line, and bytes of a script's output.
const (
	mostLines  = 1_900
	longLine   = 1_900
	mostOutput = 29_000
)

// added are the words that agents put around the lines of a file, or in the place of some.
var added = []string{
	"Here's the result of running `cat -n` on ", "\nIMPORTANT: The file content has been truncated.",
	"\n\n[Output truncated", "\n\n[Showing lines ", " more lines in file", "Total output lines: ", "truncated…",
	"[... omitted ", "truncated]", "[output truncated", " lines truncated", "\n<exited with exit code ",
}

// shown is what a call showed of a file.
type shown struct {
	First int    // number of the first line
	Text  string // the lines
	Ended bool   // the last of them is the last of the file
	Why   string // why they may differ from those of the file; empty: they do not
}

// shownBy reads what a call that reads one file showed of it. It is false if that cannot be told to the byte.
func shownBy(facts *toolcall.CallFacts, result string) (s shown, ok bool) {
	p, command := facts.Paths[0], facts.Command
	s.First = max(p.First, 1)
	head, body, codex := strings.Cut(result, "\nOutput:\n")
	if codex = codex && text.HasAnyPrefix(head, "Exit code: ", "Chunk ID: ", "Wall time: "); !codex {
		body = result
	}
	listed, number := numbered(strings.TrimRight(annotate.Output(body), "\n"), "→", "\t")
	switch {
	case text.HasAnyPrefix(body, "<path>", "<file>"): // opencode
		_, body, _ = strings.Cut(strings.Replace(body, "<content>", "<file>", 1), "<file>\n")
		lines, note, _ := text.CutLast(body, "\n\n(")
		s.Text, number = numbered(lines, ": ", "| ")
		ok = number == s.First
		s.ends(strings.HasPrefix(note, "End of file"))
	case strings.HasPrefix(body, "[read "):
		return s.pleat(body)
	case facts.Tool == "Read" && number >= 0: // Claude Code
		s.Text, ok = listed, number == s.First
		s.ends(s.reaches(p))
	case len(body) > mostOutput || text.ContainsAny(result, added...) || annotate.Output(result) != result:
	case text.HasAnyPrefix(command, "nl -ba ", "cat -n "):
		s.Text, number = numbered(body, "\t")
		ok, s.Ended = number == s.First, s.reaches(p)
	case command == "":
		_, other := numbered(body, "| ", ": ", ". ")
		s.Text, ok = fed(body), number < 0 && other < 0 // they may belong to the file
		s.Ended = s.reaches(p)
	case text.HasAnyPrefix(command, "cat ", "sed ", "head ") && !strings.HasPrefix(command, "cat -"):
		s.Text = fed(body)
		s.Ended = s.reaches(p)
		full := p.Last > 0 && s.end() == p.Last+1
		if ok = !facts.Steps && (full || s.Ended && (codex || s.First == 1)); !full && !codex {
			s.Why = "it may have left out empty lines at the beginning and the end"
		}
	}
	for line := range strings.Lines(s.Text) {
		ok = ok && len(line) <= longLine
	}
	return s, ok && strings.TrimSpace(body) != ""
}

// end is the number of the line after those that are shown.
func (s *shown) end() int { return s.First + lineCount(s.Text) }

// reaches reports whether what was asked for goes on after what is shown.
func (s *shown) reaches(p toolcall.PathChange) bool {
	return (p.Last == 0 || s.end() <= p.Last) && lineCount(s.Text) < mostLines
}

// ends notes whether the file ends with the lines that were shown with numbers. Then an empty last
// one is none: the line before it has a line feed.
func (s *shown) ends(is bool) {
	if s.Ended = is; is && strings.HasSuffix(s.Text, "\n\n") {
		s.Text = s.Text[:len(s.Text)-1]
	}
}

// pleat reads the lines of a file in what pleat's own tool puts around them.
func (s shown) pleat(result string) (shown, bool) {
	head, body, _ := strings.Cut(result, "\n")
	_, span, _ := text.CutLast(head, ": lines ")
	var to, all int
	_, err := fmt.Sscanf(span, "%d-%d of %d", &s.First, &to, &all)
	body, _, more := text.CutLast(body, "\n[more: offset ")
	s.Text, s.Ended = fed(body), to == all && !more
	return s, err == nil && s.end() == to+1
}

// numbered reads lines with consecutive numbers, and one of the marks after the numbers. It returns the
// first number; -1: they have none.
func numbered(body string, marks ...string) (lines string, first int) {
	for _, mark := range marks {
		var b strings.Builder
		n, bare := -1, strings.TrimRight(mark, " ")
		for line := range strings.Lines(body) {
			number, rest, _ := strings.Cut(line, bare)
			is, err := strconv.Atoi(strings.TrimLeft(number, " "))
			if n < 0 {
				first, n = is, is
			}
			if err != nil || is != n {
				n = -1
				break
			}
			b.WriteString(strings.TrimRight(strings.TrimPrefix(rest, mark[len(bare):]), "\r\n") + "\n")
			n++
		}
		if n >= 0 {
			return b.String(), first
		}
	}
	return "", -1
}
