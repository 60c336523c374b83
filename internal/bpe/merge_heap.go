package bpe

import (
	"bytes"
)

// A heapMerge merges pieces in n log n steps. Its slices are scratch memory,
// used again for the next piece.
//
// Parts are named by the offset of their first byte, so joining two parts is a
// change of links and nothing moves.
type heapMerge struct {
	next  []int32  // where the part after this one starts
	prev  []int32  // where the part before this one starts; -1 at the first
	rank  []uint32 // rank of this part joined with the next
	queue []uint64 // candidates as rank<<32 | offset: a min-heap
}

// merge merges the piece b[i:j]. The tokens are then found by following next from
// 0 to the length of the piece.
func (m *heapMerge) merge(v *vocabulary, b []byte, i, j int) {
	m.begin(v, b, i, j)
	n := int32(j - i)
	for len(m.queue) > 0 {
		top := m.pop()
		r, at := uint32(top>>32), int32(uint32(top))
		if m.rank[at] != r {
			continue // the part has changed since this candidate was queued
		}
		gone := m.next[at]
		after := m.next[gone]
		m.next[at] = after
		m.rank[gone] = noRank
		m.rank[at] = noRank
		if after < n {
			m.prev[after] = at
			m.offer(at, v.rank(b, i+int(at), i+int(m.next[after])))
		}
		if before := m.prev[at]; before >= 0 {
			m.offer(before, v.rank(b, i+int(before), i+int(after)))
		}
	}
}

// begin makes every byte a part and queues all pairs that form a token.
func (m *heapMerge) begin(v *vocabulary, b []byte, i, j int) {
	n := j - i
	if cap(m.next) < n {
		m.next, m.prev, m.rank = make([]int32, n), make([]int32, n), make([]uint32, n)
	}
	m.next, m.prev, m.rank = m.next[:n], m.prev[:n], m.rank[:n]
	m.queue = m.queue[:0]
	for k := range n {
		m.next[k], m.prev[k], m.rank[k] = int32(k+1), int32(k-1), noRank
		if k+1 < n {
			m.offer(int32(k), v.pairs[pairIndex(b, i+k)])
		}
	}
}

// offer records that the part at the given offset and the next one have rank r
// together, and queues them if that is a token.
func (m *heapMerge) offer(at int32, r uint32) {
	m.rank[at] = r
	if r == noRank {
		return
	}
	m.queue = append(m.queue, uint64(r)<<32|uint64(at))
	q := m.queue
	for k := len(q) - 1; k > 0; {
		parent := (k - 1) / 2
		if q[parent] <= q[k] {
			break
		}
		q[parent], q[k] = q[k], q[parent]
		k = parent
	}
}

// pop removes the lowest candidate. The hole sinks to the bottom and the last
// candidate rises from there: it nearly always belongs near the bottom, so this
// takes half the comparisons of putting it at the top.
func (m *heapMerge) pop() uint64 {
	q := m.queue
	top, last := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	m.queue = q
	if len(q) == 0 {
		return top
	}
	k := 0
	for child := 1; child < len(q); child = 2*k + 1 {
		if right := child + 1; right < len(q) && q[right] < q[child] {
			child = right
		}
		q[k] = q[child]
		k = child
	}
	for k > 0 {
		parent := (k - 1) / 2
		if q[parent] <= last {
			break
		}
		q[k] = q[parent]
		k = parent
	}
	q[k] = last
	return top
}

func (m *heapMerge) count() int {
	n := 0
	for at := int32(0); int(at) < len(m.next); at = m.next[at] {
		n++
	}
	return n
}

// windowSize is how much of a very long piece is merged at once. It is small
// enough for the heap to stay in the fastest cache, and an eighth of it, which is
// merged twice, is as long as the longest token.
const windowSize = 1024

// A windowMerge merges pieces of any length, window by window.
//
// It rests on this: a sequence of tokens is the encoding of its bytes exactly if
// each two neighbours are the encoding of theirs. Merging the whole sequence and
// merging two neighbours apart from the rest take the same steps in the same
// order, up to the first step that joins bytes from both sides of a border. So if
// no two neighbours allow such a step, there is none; and if the whole has none,
// neither has any part of it.
//
// Hence the tokens of a window are right as long as the window next to it begins
// at one of their borders and the two tokens that meet there tolerate each other.
// The border is taken well before the end of the window, where what lies beyond
// no longer has an influence, and the next window begins with the same token
// again. Where it does not, the two tokens are tested.
type windowMerge struct {
	heap heapMerge // the window
	test heapMerge // two tokens that meet at a seam
	scan scanParts
}

// A seam is a border between two tokens inside a piece. Everything before it is
// final as long as the tokens at its sides tolerate each other. The zero seam is
// the start of a piece.
type seam struct {
	at     int // offset in the piece
	tokens int // number of tokens before it
	before int // length of the token before it
	after  int // length of the token after it, as the earlier window had it
}

// count returns the number of tokens in a piece. It begins with windows of the given
// size.
func (m *windowMerge) count(v *vocabulary, piece []byte, size int) int {
	for {
		if tokens, ok := m.countBy(v, piece, size); ok {
			return tokens
		}
		// Larger windows, more room between seam and border, and in the end a
		// single window. Not met in practice, but a text could be made for it.
		size *= 8
	}
}

// countBy is count with windows of one size. It fails where it finds no seam,
// or one whose tokens do not tolerate each other.
func (m *windowMerge) countBy(v *vocabulary, piece []byte, size int) (tokens int, ok bool) {
	var s seam
	var merged []byte
	for {
		window := piece[s.at:min(s.at+size, len(piece))]
		if !bytes.Equal(window, merged) { // a run of one letter is merged once
			m.heap.merge(v, piece, s.at, s.at+len(window))
			merged = window
		}
		first := int(m.heap.next[0])
		if s.at > 0 && first != s.after && !m.tolerate(v, piece, s.at-s.before, s.at, s.at+first) {
			return 0, false
		}
		if s.at+len(window) == len(piece) {
			return s.tokens + m.heap.count(), true
		}
		next := m.heap.lastSeam(size - size/8)
		if next.at == 0 {
			return 0, false // one token is as long as the window
		}
		s = seam{s.at + next.at, s.tokens + next.tokens, next.before, next.after}
	}
}

// tolerate reports whether b[i:j] and b[j:k], each of them a token, stay apart
// when their bytes are merged together.
func (m *windowMerge) tolerate(v *vocabulary, b []byte, i, j, k int) bool {
	if k-i <= scanLimit {
		return v.mergeScan(&m.scan, b, i, k) == 2 && m.scan[1].start() == j-i
	}
	m.test.merge(v, b, i, k)
	return m.test.count() == 2 && int(m.test.next[0]) == j-i
}

// lastSeam returns the last border between tokens at or before the given offset
// of the piece merged last, which is longer. It is the start if there is no other.
func (m *heapMerge) lastSeam(limit int) seam {
	var s seam
	for {
		end := int(m.next[s.at])
		if end > limit {
			s.after = end - s.at
			return s
		}
		s = seam{at: end, tokens: s.tokens + 1, before: end - s.at}
	}
}
