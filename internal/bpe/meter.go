package bpe

import "unicode/utf8"

// A Meter counts the tokens of a text that grows at its end. After any appends,
// [Meter.Tokens] is exactly the Count of everything appended so far, joined.
//
// A Meter keeps the last two pieces of the text and forgets what is before them.
// An append can change these two: "don" and "'" become one piece when "t" follows,
// and blank lines join across what were two pieces. It cannot change any other:
// nothing beyond the piece after it and the character that ends that one has an
// influence on a piece.
//
// Appending takes time in proportion to what is appended, on average. Asking for
// the count takes time in proportion to what was appended since the last time and
// to the two pieces kept. These are short in ordinary text. Where they are not, as
// in a megabyte of one letter, asking costs a scan for the end of the piece, which
// is fast, but the piece is not merged again: the meter goes on from a seam near
// its end. So asking after every few bytes of such a text adds up to quadratic
// time with a very small factor, and asking rarely does not.
//
// A Meter is not safe for concurrent use.
type Meter struct {
	encoding *Encoding
	settled  int    // tokens in the text that was forgotten
	tail     []byte // the text from there on
	counted  int    // length of the tail when it was last counted
	inTail   int    // tokens in that much of the tail
	penult   heldPiece
	last     heldPiece
}

// A heldPiece is a piece in the tail of a Meter, with what is worth keeping until
// it is counted again.
type heldPiece struct {
	start, end int
	tokens     int
	seam       seam // the last one, if the piece is so long that it has any
}

// meterChunk is how much text a Meter takes in before it forgets what it can.
const meterChunk = 16 << 10

// NewMeter returns a Meter of an empty text.
func (e *Encoding) NewMeter() *Meter { return &Meter{encoding: e} }

// Append adds text to the end.
func (m *Meter) Append(text string) {
	for len(text) > 0 {
		n := min(len(text), meterChunk)
		m.tail = append(m.tail, text[:n]...)
		text = text[n:]
		// Waiting for the tail to double keeps the total linear even if nothing
		// can be forgotten.
		if len(m.tail) >= 2*m.counted+meterChunk {
			m.settle()
		}
	}
}

// Tokens returns the number of tokens in everything appended so far.
func (m *Meter) Tokens() int {
	if m.counted < len(m.tail) {
		m.settle()
	}
	return m.settled + m.inTail
}

// settle counts the tail and forgets all but its last two pieces.
func (m *Meter) settle() {
	s := m.encoding.memory.Get().(*scratch)
	// A character that is cut at the end of the tail splits as symbols, but may
	// turn out to be anything. Only the pieces before it are to be relied on.
	whole := len(m.tail) - cutCharacter(m.tail)
	penult, last, before := m.scan(s, whole)
	m.inTail = penult.tokens + last.tokens
	if whole < len(m.tail) {
		m.inTail = m.countFrom(s, penult.start)
	}
	m.settled += before
	m.encoding.release(s)
	m.forget(penult, last)
}

// scan counts the pieces of tail[:end]. It returns the last two, and the number
// of tokens in all before them.
func (m *Meter) scan(s *scratch, end int) (penult, last heldPiece, before int) {
	e, text := m.encoding, m.tail[:end]
	for i := 0; i < end; {
		j := e.split(e.classes, text, i)
		before += penult.tokens
		penult, last = last, m.count(s, i, j)
		i = j
	}
	return penult, last, before
}

// countFrom returns the number of tokens in the tail from a border on.
func (m *Meter) countFrom(s *scratch, i int) (tokens int) {
	e := m.encoding
	for i < len(m.tail) {
		j := e.split(e.classes, m.tail, i)
		tokens += m.count(s, i, j).tokens
		i = j
	}
	return tokens
}

// count counts the piece tail[i:j], with the help of what is known about it if it
// is one of the two held ones, perhaps grown.
func (m *Meter) count(s *scratch, i, j int) heldPiece {
	v := m.encoding.vocab
	if j-i <= scanLimit {
		return heldPiece{start: i, end: j, tokens: s.count(v, m.tail, i, j)}
	}
	var known heldPiece
	for _, p := range []heldPiece{m.penult, m.last} {
		if p.start == i && p.end <= j && p.end > i {
			known = p
		}
	}
	if known.end == j {
		return known
	}
	p := heldPiece{start: i, end: j, tokens: 1}
	if v.rank(m.tail, i, j) == noRank {
		p.tokens, p.seam = s.long.count(v, m.tail[i:j], known.seam, nil)
	}
	return p
}

// forget drops the text before the last two pieces.
func (m *Meter) forget(penult, last heldPiece) {
	drop := penult.start // 0 if there is only one piece
	kept := m.tail[drop:]
	if cap(m.tail) > 4*meterChunk && len(kept) < cap(m.tail)/4 {
		m.tail = append([]byte(nil), kept...) // give back what a huge piece took
	} else {
		m.tail = m.tail[:copy(m.tail, kept)]
	}
	m.counted = len(m.tail)
	m.penult, m.last = penult.moved(-drop), last.moved(-drop)
}

func (p heldPiece) moved(by int) heldPiece {
	p.start += by
	p.end += by
	return p
}

// cutCharacter returns the length of an incomplete character at the end of b.
func cutCharacter(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if utf8.FullRune(b[len(b)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}
