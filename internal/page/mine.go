package page

import (
	"cmp"
	"iter"
	"strings"

	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/internal/client"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// minedPart is what was found in one text of a block: in what was said, in a result, in what
// a call writes into one file. It is found once: a plan writes several pages to choose from, and
// the next one folds much of the same again. It holds no text, only where lines are and which
// names and words are in them.
type minedPart struct {
	kind  sourceKind
	label string // the file, of what a call writes
	about string // file or command it is about
	whole bool   // all of the file
	units []text.ProseUnit
	lines []minedLine
	names []uint64
	words []uint64
}

// minedLine is a line, or a sentence of prose, that could be on a page.
type minedLine struct {
	start, end int32 // in the part's text, without the space around it
	unit       int32 // of prose; -1: a plain line
	names      int32 // end of its names in the part's list; the line before has the start
	words      int32
	cues       float32
	lead       uint8
	tokens     int32  // of a line that is shown whole; 0: not counted yet
	hash       uint64 // of what it says, 0: too short to tell
}

// What a line of code begins with.
const (
	leadPlain      uint8 = iota
	leadDefinition       // func, type, class …: introduces a name
	leadComment          // a comment, an import
)

const (
	scannedLine = 600       // bytes of a line that are looked at: what is longer is data
	minedBytes  = 256 << 10 // of a text
	minedKept   = 1 << 20   // of texts, whose lines are remembered for the next plan
)

// Of a long stretch only the newest part is mined, so that a page costs the same however long
// it is: so many bytes of what was said, of results, and of what calls were given.
var minedMost = [...]int{minedSaid: 128 << 10, minedResults: 256 << 10, minedCalls: 64 << 10}

const (
	minedSaid = iota
	minedResults
	minedCalls

	minedMessages = 1 << 10 // most messages of a stretch
)

// minedAs says which part of minedMost a block counts to.
func minedAs(k transcript.Kind) int {
	switch k {
	case transcript.KindToolResult:
		return minedResults
	case transcript.KindToolCall:
		return minedCalls
	}
	return minedSaid
}

// mine returns what is found in a block.
func (in *input) mine(ref transcript.BlockRef) []minedPart {
	parts, ok := in.mines[ref]
	if ok {
		return parts
	}
	texts := in.textsOf(ref)
	parts = mineTexts(texts)
	if in.Err != nil || in.unanswered(ref) {
		return parts
	}
	if in.mines == nil {
		in.mines = make(map[transcript.BlockRef][]minedPart)
	}
	in.mines[ref] = parts
	for i := range texts {
		in.mined += len(texts[i].text)
	}
	return parts
}

// unanswered reports whether a block is a call whose result may still come and change it.
func (m *Writer) unanswered(ref transcript.BlockRef) bool {
	n := int(m.Facts().Block(ref).Call)
	return n > 0 && m.Ledger().Entries[n-1].Outcome == toolcall.Unanswered
}

// mineTexts returns what is found in the texts of a block, never nil.
func mineTexts(texts []blockPart) []minedPart {
	parts := make([]minedPart, 0, len(texts))
	for _, t := range texts {
		p := minedPart{kind: t.kind, label: t.label, about: cmp.Or(t.label, t.about), whole: t.whole}
		switch {
		case p.kind.prose():
			p.mineProse(t.text)
		case p.kind.change():
			p.mineChange(t.text)
		default:
			p.mineLines(t.text)
		}
		parts = append(parts, p)
	}
	return parts
}

// blockPart is one text of a block, before it is mined.
type blockPart struct {
	kind  sourceKind
	label string
	about string
	text  string
	whole bool // all of a file
}

// textsOf returns the texts of a block that lines can be taken from.
func (in *input) textsOf(ref transcript.BlockRef) []blockPart {
	bf := in.Facts().Block(ref)
	m := in.Reading.Message(ref.Message)
	kind := fromProgram
	switch blk := m.Blocks().At(ref.Block).(type) {
	case transcript.Text:
		switch {
		case m.Role() == transcript.RoleAssistant:
			kind = fromAssistant
		case m.Origin() == transcript.OriginSummary:
			kind = fromSummary
		case in.Facts()[ref.Message].Typed:
			return nil // the user's words have their own section
		}
		// What an earlier page says is read from the turns themselves.
		said, _, _ := strings.Cut(blk.Text.String(), Start)
		return []blockPart{{kind: kind, text: said}}
	case transcript.ToolCall:
		if bf.Call == 0 {
			return nil
		}
		if e := in.Ledger().Entry(int(bf.Call)); ledger.IsFileCall(&e) {
			return changeParts(&e, blk)
		}
	case transcript.ToolResult:
		if bf.Call == 0 {
			return nil
		}
		kind = fromResult
		e := &in.Ledger().Entries[bf.Call-1]
		switch client.Of(e.Tool) {
		case client.Agent: // runs another agent and answers with its report
			kind = fromAgent
		case client.Recall, client.Note, client.Todo: // say only what is elsewhere on the page
			return nil
		}
		said := text.CutText(annotate.Output(blk.Text()), minedBytes)
		return []blockPart{{kind: kind, about: callSubject(e), text: said}}
	}
	return nil
}

// mineProse notes the sentences of a text.
func (p *minedPart) mineProse(txt string) {
	p.units = text.ProseUnits(txt)
	var buf []text.Anchor
	for u, un := range p.units {
		s := txt[un.Start:un.End]
		l := minedLine{start: int32(un.Start), end: int32(un.End), unit: int32(u), hash: text.LineHash(s)}
		if buf = text.AppendAnchors(buf[:0], s); l.hash == 0 && len(buf) == 0 || s[0] == '<' {
			continue
		}
		l.cues, p.words = text.CueScore(s, p.words)
		p.addLine(l, buf)
	}
}

// mineLines notes the lines of a file or an output that have names in them.
func (p *minedPart) mineLines(txt string) {
	var buf []text.Anchor
	p.lines = make([]minedLine, 0, strings.Count(txt, "\n")*3/4+1)
	p.names = make([]uint64, 0, len(txt)/16)
	for start, end := range trimmedLines(txt) {
		if end-start < 8 {
			continue
		}
		line := txt[start:min(end, start+scannedLine)]
		nested := isNested(txt, start)
		if n := text.NumberEnd(line); n > 0 {
			line = line[n:]
			nested = line != "" && text.IsSpaceByte(line[0])
		}
		if buf = text.AppendAnchors(buf[:0], line); len(buf) == 0 {
			continue
		}
		if hash := text.LineHash(line); hash != 0 {
			l := minedLine{start: int32(start), end: int32(end), unit: -1, lead: leadOf(line, nested), hash: hash}
			p.addLine(l, buf)
		}
	}
}

// trimmedLines yields where the lines of a text begin and end without the space around them.
func trimmedLines(txt string) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		at := 0
		for line := range strings.Lines(txt) {
			end := at + len(strings.TrimRight(line, blanks))
			start := min(at+len(line)-len(strings.TrimLeft(line, blanks)), end)
			if !yield(start, end) {
				return
			}
			at += len(line)
		}
	}
}

const blanks = " \t\r\n"

// isNested reports whether a line is indented whose text begins at start.
func isNested(txt string, start int) bool { return start > 0 && txt[start-1] != '\n' }

func (p *minedPart) addLine(l minedLine, names []text.Anchor) {
	for i := range names {
		p.names = append(p.names, names[i].Hash)
	}
	l.names, l.words = int32(len(p.names)), int32(len(p.words))
	p.lines = append(p.lines, l)
}

// namesOf returns the names in line i.
func (p *minedPart) namesOf(i int) []uint64 {
	if i == 0 {
		return p.names[:p.lines[0].names]
	}
	return p.names[p.lines[i-1].names:p.lines[i].names]
}

// wordsOf returns the longer words of sentence i.
func (p *minedPart) wordsOf(i int) []uint64 {
	if i == 0 {
		return p.words[:p.lines[0].words]
	}
	return p.words[p.lines[i-1].words:p.lines[i].words]
}

// leadOf returns what a line of code begins with. Values are definitions only where they are
// not nested in something.
func leadOf(line string, nested bool) uint8 {
	line = strings.TrimLeft(line, " \t+-")
	n := strings.IndexAny(line, " \t(:<{")
	if n < 0 {
		n = len(line)
	}
	switch word := line[:min(n, 20)]; {
	case definitions[word], !nested && values[word]:
		return leadDefinition
	case commentMarks[word]:
		return leadComment
	}
	return leadPlain
}

var (
	definitions = text.WordSet(`func type class def interface struct enum fn impl trait export public private protected
		static async function module namespace create alter table pub record object union typedef #define`)
	values       = text.WordSet("const var let val package final")
	commentMarks = text.WordSet("// # /* * -- <!-- import from use require \" ' //go")
)
