package wire

// Slab hands out short lists from larger allocations: a request has thousands of lists of
// one or two blocks. The first allocation is as large as it must be, because a message
// that is decoded by itself has no other.
type Slab[T any] struct {
	free []T
	next int // size of the next allocation
}

// Take returns a list of n zero values that nobody else has.
func (s *Slab[T]) Take(n int) []T {
	if n > len(s.free) {
		s.free = make([]T, max(n, s.next))
		s.next = min(max(2*s.next, 16), 512)
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out
}

// Clone returns a copy of a list.
func (s *Slab[T]) Clone(list []T) []T {
	out := s.Take(len(list))
	copy(out, list)
	return out
}
