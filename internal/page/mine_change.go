package page

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// What a changed line is. It decides which lines of a change a page shows first: those
// that give something its name or its shape.
const (
	linePlain      uint8 = iota + leadComment + 1
	lineField            // name and type, key and value
	lineDefinition       // introduces a name: a function, a type, an export
)

// lineWorth is what a changed line is worth by what it is.
var lineWorth = [...]float32{leadComment: 0.4, linePlain: 0.8, lineField: 2, lineDefinition: 5}

// testWorth is what lines inside a test are worth against others.
const testWorth = 0.4

// mineChange notes the lines of a change that say something, with what they are worth: a
// line of a short change more than one of a long one.
func (p *minedPart) mineChange(txt string) {
	var buf []text.Anchor
	test := isTestFile(p.label)
	for start, end := range trimmedLines(txt) {
		line := txt[start:min(end, start+scannedLine)]
		buf = text.AppendAnchors(buf[:0], line)
		kind := changedLine(line, isNested(txt, start))
		if kind == leadPlain || kind <= linePlain && len(buf) == 0 {
			continue
		}
		worth := lineWorth[kind]
		if test && kind != lineDefinition {
			worth *= testWorth
		}
		hash := text.LineHash(line)
		if hash == 0 {
			hash = text.TextHash(strings.TrimRight(line, ",;"))
		}
		l := minedLine{start: int32(start), end: int32(end), unit: -1, lead: kind, hash: hash, cues: worth}
		p.addLine(l, buf)
	}
	few := 1 + 2/float32(1+len(p.lines)/2)
	for i := range p.lines {
		p.lines[i].cues *= few
	}
}

// changedLine returns what a line of a changed file is; leadPlain: not worth showing.
func changedLine(line string, nested bool) uint8 {
	letters := 0
	for i := range len(line) {
		if text.ByteClass[line[i]]&(text.ByteLower|text.ByteUpper|text.ByteUnder) != 0 {
			letters++
		}
	}
	lead := leadOf(line, nested)
	switch {
	case letters < 4 || len(line) < 6:
		return leadPlain
	case lead == leadPlain:
		return codeLine(line)
	case lead == leadComment:
		return leadComment
	case line[len(line)-1] == '(' && strings.IndexByte(line, '(') == strings.IndexByte(line, ' ')+1:
		return leadPlain // the beginning of a list: const (
	}
	return lineDefinition
}

// codeLine returns what a line of code is that begins with no keyword of leadOf.
func codeLine(line string) uint8 {
	n := 0
	for n < len(line) && (text.ByteClass[line[n]]&text.ByteWord != 0 || strings.IndexByte(`"'-.@`, line[n]) >= 0) {
		n++
	}
	word, rest := line[:n], line[n:]
	last := line[len(line)-1]
	valued := strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, ":=") ||
		strings.HasPrefix(rest, "?:") || strings.HasPrefix(rest, " = ")
	switch {
	case statements[word]:
		return linePlain
	case rest == "" || last == '{' && n > 0 && (rest == ": {" || rest == " {"):
		return leadPlain
	case n > 0 && rest[0] == '(' && last == '{' && !strings.Contains(word, "."): // a method
		return lineDefinition
	case n > 0 && valued:
		return lineField
	case n > 0 && rest[0] == ' ' && text.IsLetterByte(word[0]) && !strings.ContainsAny(line, "=(,;"): // name and type
		return lineField
	}
	return linePlain
}

// statements are words that only say how things go on.
var statements = text.WordSet(`return if else for while switch case break continue defer go try catch throw await yield
	raise elif except finally with end do then fi done echo print`)

// changeParts returns what a call takes out of files and puts into them: for each file the
// lines that only the old text has, then those that only the new text has.
func changeParts(e *ledger.Entry, call transcript.ToolCall) []blockPart {
	var parts []blockPart
	about := callSubject(e)
	for _, c := range toolcall.Changes(call) {
		if c.Path == "" && len(e.Paths) > 0 {
			c.Path = e.Paths[0].Path
		}
		if old := c.Removed(); old != "" {
			old = text.CutText(old, minedBytes)
			parts = append(parts, blockPart{kind: fromRemoval, label: c.Path, about: about, text: old})
		}
		if added := c.Added(); added != "" {
			parts = append(parts, blockPart{
				kind: fromChange, label: c.Path, about: about, text: text.CutText(added, minedBytes),
				whole: c.Whole && len(c.Old) == 0,
			})
		}
	}
	return parts
}

// isTestFile judges a file by its name.
func isTestFile(path string) bool {
	base := path[strings.LastIndexByte(path, '/')+1:]
	return strings.Contains(base, "test") || strings.Contains(base, "spec.") ||
		strings.Contains(path, "testdata/") || strings.Contains(path, "fixtures/")
}
