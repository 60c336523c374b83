package page

// table holds a value for each name or line, by its hash. Every name of a long conversation
// is looked up when a page is written, and what the names are hashed to is a good hash
// already: this is a few times faster than a map.
type table[V any] struct {
	hashes []uint64 // 0: free
	values []V
	used   int
	zero   V // of the hash 0
}

// place is where a hash is, or would be.
func (t *table[V]) place(h uint64) int {
	mask := uint64(len(t.hashes) - 1)
	i := h & mask
	for t.hashes[i] != h && t.hashes[i] != 0 {
		i = (i + 1) & mask
	}
	return int(i)
}

// of returns the value of a hash; zero: it has none.
func (t *table[V]) of(h uint64) (none V) {
	switch {
	case h == 0:
		return t.zero
	case t.used == 0:
		return none
	}
	return t.values[t.place(h)]
}

// at returns where the value of a hash is, until the next call.
func (t *table[V]) at(h uint64) *V {
	if h == 0 {
		return &t.zero
	}
	if 2*t.used >= len(t.hashes) {
		old := *t
		n := max(1<<12, 2*len(old.hashes))
		t.hashes, t.values = make([]uint64, n), make([]V, n)
		for i, h := range old.hashes {
			if h != 0 {
				k := t.place(h)
				t.hashes[k], t.values[k] = h, old.values[i]
			}
		}
	}
	i := t.place(h)
	if t.hashes[i] == 0 {
		t.hashes[i] = h
		t.used++
	}
	return &t.values[i]
}
