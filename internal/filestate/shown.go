package filestate

import (
	"fmt"
	"strconv"
	"strings"

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
	"<system-reminder>",
}

// shownBy reads what a call that reads one file showed of it. It is false if that cannot be told to the byte.
func shownBy(facts *toolcall.CallFacts, result string) (s File, ok bool) {
	p, command := facts.Paths[0], facts.Command
	s.First = max(p.First, 1)
	head, body, codex := strings.Cut(result, "\nOutput:\n")
	if codex = codex && text.HasAnyPrefix(head, "Exit code: ", "Chunk ID: ", "Wall time: "); !codex {
		body = result
	}
	listed, _, _ := strings.Cut(body, "\n<system-reminder>")
	listed, numbers := numbered(strings.TrimRight(listed, "\n"), s.First, "→", "\t")
	switch {
	case text.HasAnyPrefix(body, "<path>", "<file>"): // opencode
		_, body, _ = strings.Cut(strings.Replace(body, "<content>", "<file>", 1), "<file>\n")
		lines, note, _ := text.CutLast(body, "\n\n(")
		s.Text, ok = numbered(lines, s.First, ": ", "| ")
		s.ends(strings.HasPrefix(note, "End of file"))
	case strings.HasPrefix(body, "[read "):
		return s.pleat(body)
	case facts.Tool == "Read" && numbers: // Claude Code
		s.Text, ok = listed, true
		s.ends(s.reaches(p))
	case len(body) > mostOutput || text.ContainsAny(result, added...):
	case text.HasAnyPrefix(command, "nl -ba ", "cat -n "):
		s.Text, ok = numbered(body, s.First, "\t")
		s.Ended = s.reaches(p)
	case command == "":
		_, others := numbered(body, s.First, "| ", ": ", ". ")
		s.Text, ok = fed(body), !numbers && !others // they may belong to the file
		s.Ended = s.reaches(p)
	case text.HasAnyPrefix(command, "cat ", "sed ", "head ") && !strings.HasPrefix(command, "cat -"):
		s.Text = fed(body)
		s.Ended = s.reaches(p)
		full := p.Last > 0 && s.end() == p.Last+1
		if ok = !facts.Steps && (full || s.Ended && (codex || s.First == 1)); !full && !codex {
			s.Doubt.Why = "it may have left out empty lines at the beginning and the end"
		}
	}
	for line := range strings.Lines(s.Text) {
		ok = ok && len(line) <= longLine
	}
	return s, ok && strings.TrimSpace(body) != ""
}

// reaches reports whether what was asked for goes on after what is shown.
func (f *File) reaches(p toolcall.PathChange) bool {
	return (p.Last == 0 || f.end() <= p.Last) && lineCount(f.Text) < mostLines
}

// ends notes whether the file ends with the lines that were shown with numbers. Then an empty last
// one is none: the line before it has a line feed.
func (f *File) ends(is bool) {
	if f.Ended = is; is && strings.HasSuffix(f.Text, "\n\n") {
		f.Text = f.Text[:len(f.Text)-1]
	}
}

// pleat reads the lines of a file in what pleat's own tool puts around them.
func (f File) pleat(result string) (File, bool) {
	head, body, _ := strings.Cut(result, "\n")
	_, span, _ := strings.Cut(head, ", lines ")
	var to, all int
	_, err := fmt.Sscanf(span, "%d-%d of %d", &f.First, &to, &all)
	body, _, more := text.CutLast(body, "\n[more: offset ")
	f.Text, f.Ended = fed(body), to == all && !more
	return f, err == nil && f.end() == to+1
}

// numbered reads lines with consecutive numbers, and one of the marks after the numbers.
func numbered(body string, first int, marks ...string) (lines string, ok bool) {
	for _, mark := range marks {
		var b strings.Builder
		n, bare := first, strings.TrimRight(mark, " ")
		for line := range strings.Lines(body) {
			rest, is := strings.CutPrefix(strings.TrimLeft(line, " 0"), strconv.Itoa(n)+bare)
			if !is {
				n = first
				break
			}
			b.WriteString(strings.TrimRight(strings.TrimPrefix(rest, mark[len(bare):]), "\r\n") + "\n")
			n++
		}
		if n > first {
			return b.String(), true
		}
	}
	return "", false
}
