package pleat

import "github.com/pleat-dev/pleat/internal/bpe"

// Tally keeps the tokens of a growing conversation. Appending a message costs what
// counting that message costs, and every question afterwards takes constant time,
// whatever the length. It is not safe for concurrent use.
type Tally struct {
	tok   *Tokenizer
	fixed int
	sums  []int // sums[i]: tokens of messages 0 to i
}

// NewTally makes an empty tally that counts with t.
func NewTally(t *Tokenizer) *Tally { return &Tally{tok: t} }

// SetFixed sets what is sent before the messages: the system prompt and the tools.
func (t *Tally) SetFixed(system string, tools []Tool) {
	t.fixed = t.tok.CountRequest(Request{System: system, Tools: tools})
}

// Append adds messages at the end.
func (t *Tally) Append(msgs ...Message) {
	for _, m := range msgs {
		t.sums = append(t.sums, t.sum(len(t.sums))+t.tok.CountMessage(m))
	}
}

// Len is the number of messages.
func (t *Tally) Len() int { return len(t.sums) }

// Total is the size of system prompt, tools and all messages.
func (t *Tally) Total() int { return t.fixed + t.sum(len(t.sums)) }

// Fixed is the size of system prompt and tools.
func (t *Tally) Fixed() int { return t.fixed }

// Message is the size of message i.
func (t *Tally) Message(i int) int { return t.Range(i, i+1) }

// Range is the size of messages from ≤ i < to.
func (t *Tally) Range(from, to int) int { return t.sum(to) - t.sum(from) }

// sum is the size of the first n messages.
func (t *Tally) sum(n int) int {
	if n == 0 {
		return 0
	}
	return t.sums[n-1]
}

// TextMeter counts one text that arrives in pieces, such as an answer while it streams
// in. Pieces may be cut anywhere: it knows at all times what the whole text so far
// counts, at the cost of the new piece. It is not safe for concurrent use.
type TextMeter struct {
	tok   *Tokenizer
	exact *bpe.Meter
	sum   int
}

// NewTextMeter makes a meter for an empty text.
func (t *Tokenizer) NewTextMeter() *TextMeter {
	m := &TextMeter{tok: t}
	if e, ok := t.counter.(encoding); ok {
		m.exact = e().NewMeter()
	}
	return m
}

// Append adds a piece of text.
func (m *TextMeter) Append(piece string) {
	if m.exact != nil {
		m.exact.Append(piece)
		return
	}
	m.sum += m.tok.counter.Count(piece) // counters that are not ours know no pieces
}

// Tokens is the count of the text so far.
func (m *TextMeter) Tokens() int {
	if m.exact != nil {
		return m.tok.scale(m.exact.Tokens())
	}
	return m.tok.scale(m.sum)
}
