package bpe

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
