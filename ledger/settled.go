package ledger

// Recent is how many calls, the newest, are looked at one by one when they are rendered or a
// page is written. Older ones are counted, and the files that they changed are named.
const Recent = 500

// settled is what renderings need of the first n calls, kept from one to the next: a page of a
// long session costs what its newest calls cost.
type settled struct {
	n     int
	calls tally
	files trail
}

// settled returns what is known of the calls before those that can have lines, in a
// rendering of the first n calls.
func (l *Ledger) settled(n int) *settled {
	if l.old == nil || l.old.n > n {
		l.old = &settled{}
	}
	for s := l.old; s.n < n-Recent; s.n++ {
		s.calls.add(&l.Entries[s.n])
		s.files.add(&l.Entries[s.n])
	}
	return l.old
}

// changes forgets what was kept of call i, because it is about to change.
func (l *Ledger) changes(i int) {
	if l.old != nil && i < l.old.n {
		l.old = nil
	}
}
