package page

// table holds a value for each name or line, by its hash.
type table[V any] struct{ values map[uint64]*V }

// of returns the value of a hash; zero: it has none.
func (t *table[V]) of(h uint64) (none V) {
	if v := t.values[h]; v != nil {
		return *v
	}
	return none
}

// at returns where the value of a hash is.
func (t *table[V]) at(h uint64) *V {
	v := t.values[h]
	if v == nil {
		if v = new(V); t.values == nil {
			t.values = make(map[uint64]*V)
		}
		t.values[h] = v
	}
	return v
}
