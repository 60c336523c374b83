package fold

import (
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/fault"
)

// made has folds as they were made. Levers get the folds themselves, of those in force a copy, and
// what one of them names could not be unfolded, or the session not be read again, if a lever changed it.
type made map[*Fold]Fold

// lend returns a copy of a fold in force.
func (m made) lend(f *Fold) *Fold {
	lent := *f
	lent.Stands = slices.Clone(f.Stands)
	m[&lent] = *f
	return &lent
}

// lendAll returns a copy of a set in force, and of its folds.
func (m made) lendAll(s Set) Set {
	s = s.clone()
	for _, list := range [][]*Fold{s.spans, s.blocks} {
		for i, f := range list {
			list[i] = m.lend(f)
		}
	}
	return s
}

// intact returns the error of a lever that changed a fold after it was made. Why it was made is the
// lever's to say.
func (m made) intact(lever string, f *Fold) error {
	was, ok := m[f]
	if !ok || f.ID == was.ID && f.ref() == was.ref() && f.End == was.End && f.Handle == was.Handle &&
		f.Hash == was.Hash && f.Lever == was.Lever && f.Stub == was.Stub && f.Own == was.Own && f.Ack == was.Ack && f.Then == was.Then &&
		f.File == was.File && f.Parts == was.Parts && slices.Equal(f.Stands, was.Stands) &&
		f.Before == was.Before && f.After == was.After && f.Bytes == was.Bytes && f.Lines == was.Lines {
		return nil
	}
	return meddled(lever, "changed fold %s after it was made", was.Handle)
}

func meddled(lever, format string, args ...any) error {
	return &fault.Lever{Name: lever, Panicked: true, Err: fmt.Errorf(format, args...)} // it would do so again
}

// intact returns the error of a lever that changed what is not its own: a fold of this plan, or the
// set of folds.
func (d *Draft) intact(lever string) error {
	switch {
	case d.Source == nil:
		return meddled(lever, "took the draft's Source away")
	case d.lay.In.Bare < 0 || d.lay.In.Bare > d.len():
		return meddled(lever, "dropped thinking before message %d of %d", d.lay.In.Bare, d.len())
	}
	for _, f := range slices.Concat(d.lay.In.spans, d.lay.In.blocks) {
		if _, ok := d.made[f]; !ok {
			return meddled(lever, "changed the set of folds: add with FoldSpan or FoldBlock")
		}
		if err := d.made.intact(lever, f); err != nil {
			return err
		}
	}
	return nil
}
