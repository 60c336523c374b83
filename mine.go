package pleat

import "strings"

// What a page is written from is mined once for each block and remembered: a plan writes
// several pages to choose from, and the next epoch folds much of the same again. What is
// remembered holds no text, only where lines are and which names and words are in them,
// about as many bytes as the text has.

// minedPart is one text of a block: a message's words, a result, what a call writes into
// one file.
type minedPart struct {
	kind  sourceKind
	label string // the file, of what a call writes
	whole bool   // all of the file
	units []proseUnit
	lines []minedLine
	names []uint64
	words []uint64
}

// minedLine is a line, or a sentence of prose, that could stand on a page.
type minedLine struct {
	start, end int32 // in the part's text, without the space around it
	unit       int32 // of prose; -1: a plain line
	names      int32 // end of its names in the part's list; the line before has the start
	words      int32
	cues       float32
	lead       uint8
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
	minedTotal  = 32 << 20  // of a stretch: of a longer one the newest part is mined
)

// miner mines a conversation and remembers what it found.
type miner struct {
	*conversation
	mines map[BlockRef][]minedPart
	mined int // bytes of text that mines are of
}

// minedFrom is the first message of a stretch that is mined.
func (s *miner) minedFrom(start, end int) int {
	total := 0
	for i := end; i > start; i-- {
		for _, bf := range s.facts[i-1].blocks {
			total += min(int(bf.bytes), minedBytes)
		}
		if total > minedTotal {
			return i
		}
	}
	return start
}

// mine returns what is to be had from a block.
func (s *miner) mine(ref BlockRef) []minedPart {
	if parts, ok := s.mines[ref]; ok {
		return parts
	}
	texts := s.textsOf(ref)
	parts := mineTexts(texts)
	if !s.unanswered(ref) {
		s.keepMined(ref, texts, parts)
	}
	return parts
}

// unanswered reports whether a block is a call that a late result may tell more about.
func (s *miner) unanswered(ref BlockRef) bool {
	n := int(s.facts[ref.Message].blocks[ref.Block].call)
	return n > 0 && s.ledger.Entry(n).Outcome == Unanswered
}

func (s *miner) keepMined(ref BlockRef, texts []blockPart, parts []minedPart) {
	size := 0
	for i := range texts {
		size += len(texts[i].text)
	}
	if s.mines == nil || s.mined+size > minedTotal { // whoever uses parts still has them
		s.mines, s.mined = make(map[BlockRef][]minedPart), 0
	}
	s.mined += size
	s.mines[ref] = parts
}

func mineTexts(texts []blockPart) []minedPart {
	var parts []minedPart
	for _, t := range texts {
		p := minedPart{kind: t.kind, label: t.label, whole: t.whole}
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
	text  string
	whole bool // all of a file
}

// textsOf returns the texts of a block that lines can be taken from.
func (s *miner) textsOf(ref BlockRef) []blockPart {
	bf := &s.facts[ref.Message].blocks[ref.Block]
	m := s.t.At(ref.Message)
	kind := fromProgram
	switch blk := m.Blocks().At(ref.Block).(type) {
	case Text:
		switch {
		case m.Role() == RoleAssistant:
			kind = fromAssistant
		case m.Origin() == OriginSummary:
			kind = fromSummary
		case s.facts[ref.Message].typed:
			return nil // the user's words have their own section
		}
		return []blockPart{{kind: kind, text: blk.Text.String()}}
	case Thinking:
		return []blockPart{{kind: fromThinking, text: blk.Text.String()}}
	case ToolCall:
		if bf.call == 0 {
			return nil
		}
		if e := s.ledger.Entry(int(bf.call)); isFileCall(&e) {
			return changeParts(&e, blk)
		}
	case ToolResult:
		if bf.call == 0 {
			return nil
		}
		kind = fromResult
		if e := s.ledger.Entry(int(bf.call)); isChild(e.Tool) {
			kind = fromAgent
		} else if isQuiet(e.Tool) {
			return nil
		}
		return []blockPart{{kind: kind, text: cutText(withoutReminder(blk.Text()), minedBytes)}}
	}
	return nil
}

// withoutReminder drops what a client appends to results for its model: it is about the
// moment, not about the file.
func withoutReminder(text string) string {
	const mark, end = "<system-reminder>", "</system-reminder>"
	if !strings.HasSuffix(strings.TrimSpace(text), end) {
		return text
	}
	if i := strings.LastIndex(text, mark); i >= 0 {
		return strings.TrimRight(text[:i], " \r\n")
	}
	return text
}

// mineProse notes the sentences of a text.
func (p *minedPart) mineProse(text string) {
	p.units = proseUnits(text)
	var buf []anchor
	for u, un := range p.units {
		s := text[un.start:un.end]
		l := minedLine{start: int32(un.start), end: int32(un.end), unit: int32(u), hash: lineHash(s)}
		if buf = appendAnchors(buf[:0], s); l.hash == 0 && len(buf) == 0 || s[0] == '<' {
			continue
		}
		l.cues, p.words = cueScore(s, p.words)
		p.addLine(l, buf)
	}
}

// mineLines notes the lines of a file or an output that have names in them.
func (p *minedPart) mineLines(text string) {
	var buf []anchor
	p.lines = make([]minedLine, 0, strings.Count(text, "\n")*3/4+1)
	p.names = make([]uint64, 0, len(text)/16)
	for at := 0; at < len(text); {
		end, next := len(text), len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			end, next = at+i, at+i+1
		}
		start := at
		at = next
		nested := end > start && isSpaceByte(text[start])
		for start < end && isSpaceByte(text[start]) {
			start++
		}
		for end > start && isSpaceByte(text[end-1]) {
			end--
		}
		if end-start < 8 {
			continue
		}
		line := text[start:min(end, start+scannedLine)]
		if n := numberEnd(line); n > 0 {
			line = line[n:]
			nested = line != "" && isSpaceByte(line[0])
		}
		if buf = appendAnchors(buf[:0], line); len(buf) == 0 {
			continue
		}
		hash := lineHash(line)
		if hash == 0 {
			continue
		}
		p.addLine(minedLine{start: int32(start), end: int32(end), unit: -1, lead: leadOf(line, nested), hash: hash}, buf)
	}
}

func (p *minedPart) addLine(l minedLine, names []anchor) {
	for i := range names {
		p.names = append(p.names, names[i].hash)
	}
	l.names, l.words = int32(len(p.names)), int32(len(p.words))
	p.lines = append(p.lines, l)
}

// namesOf returns the names in line i.
func (p *minedPart) namesOf(i int) []uint64 {
	from := int32(0)
	if i > 0 {
		from = p.lines[i-1].names
	}
	return p.names[from:p.lines[i].names]
}

// wordsOf returns the longer words of sentence i.
func (p *minedPart) wordsOf(i int) []uint64 {
	from := int32(0)
	if i > 0 {
		from = p.lines[i-1].words
	}
	return p.words[from:p.lines[i].words]
}

// leadOf tells what a line of code begins with. What a function keeps to itself is no
// definition: values count only where they are not nested.
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
	definitions = wordSet(`func type class def interface struct enum fn impl trait export public private protected static
		async function module namespace create alter table pub record object union typedef #define`)
	values       = wordSet("const var let val package final")
	commentMarks = wordSet("// # /* * -- <!-- import from use require \" ' //go")
)
