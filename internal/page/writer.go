package page

import (
	"context"
	"slices"

	"github.com/pleat-dev/pleat/internal/filestate"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
)

// Writer writes the pages of a conversation. It remembers what it found in them. It is not safe for
// concurrent use.
type Writer struct {
	Source
	Named func(tool string) string // the name that the model has for a recall tool, empty: none; nil: it has all
	// ReadFile reads a file as it is now, of those that a page shows; nil: it shows them as last seen.
	ReadFile func(ctx context.Context, name string) ([]byte, error)

	mines map[transcript.BlockRef][]minedPart
	mined int // bytes of text that mines are of

	stretches map[stretchKey]*stretch // of the plan that is being made; see Forget
}

// Forget drops what only other pages of the same plan can use, and what was mined when that has become much.
func (m *Writer) Forget() {
	m.stretches = nil
	if m.mined > minedKept {
		m.mines, m.mined = nil, 0
	}
}

// stretch is what the pages of one plan have in common that stand for the same messages: a
// plan writes several to choose from, which differ in their room.
type stretch struct {
	mineFrom [len(minedMost)]int // the first messages that lines are taken from
	texts    map[transcript.BlockRef][]blockPart
	pool     *pool
	record   *ledger.Record
	changed  []*fileChange // nil: not known yet
	seen     []*seenFile   // nil: not known yet
	followed *filestate.Files
	stray    int                // the newest call of the ledger that may have changed any file; with seen
	now      map[string]fileNow // by name: files that were read again
}

// stretchKey is what a stretch depends on. What was said before does not change.
type stretchKey struct {
	start, end, len int
	focus           string
	small, told     bool
}

// share sets what the page shares with others of the plan.
func (in *input) share() {
	key := stretchKey{in.Start, in.End, len(in.Facts()), in.Focus, in.small, in.told != ""}
	if in.stretches == nil {
		in.stretches = make(map[stretchKey]*stretch)
	}
	if in.stretch = in.stretches[key]; in.stretch == nil {
		texts := make(map[transcript.BlockRef][]blockPart)
		in.stretch = &stretch{mineFrom: in.minedFrom(in.Start, in.End), texts: texts}
		in.stretches[key] = in.stretch
	}
}

// textsAt returns the texts of a block that lines on the page are taken from.
func (in *input) textsAt(ref transcript.BlockRef) []blockPart {
	parts, ok := in.texts[ref]
	if !ok {
		parts = in.textsOf(ref)
		in.texts[ref] = parts
	}
	return parts
}

// minedFrom returns the first message of a stretch that lines of each part are taken from.
func (m *Writer) minedFrom(start, end int) (from [len(minedMost)]int) {
	left := minedMost
	for k := range from {
		from[k] = max(start, end-minedMessages)
	}
	for i := end; i > slices.Min(from[:]); i-- {
		for _, bf := range m.Facts()[i-1].Blocks {
			k := minedAs(bf.Kind)
			if k == minedSaid && (m.Facts()[i-1].Typed || bf.Kind != transcript.KindText) { // has a section of its own, or none
				continue
			}
			if left[k] -= min(int(bf.Bytes), minedMost[k]/4); left[k] < 0 { // no block keeps out all others
				from[k] = max(from[k], i)
			}
		}
	}
	return from
}

// tooOld reports whether a block is before what is mined.
func (in *input) tooOld(ref transcript.BlockRef) bool {
	from := in.mineFrom[minedAs(in.Facts().Block(ref).Kind)]
	return ref.Message < from && from > in.Start
}
