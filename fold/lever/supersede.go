package lever

import (
	"cmp"
	"context"
	"fmt"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
)

// Supersede folds results that a later one made stale or showed again: files that were read
// or changed again, repeated calls, failures that were mended since.
type Supersede struct {
	Keep int `json:"keep,omitempty"` // newest results that stay; 0: none
	// Exempt are tools whose results stay until their turns are folded, by name or by class ("@read"); nil: none.
	Exempt []string `json:"exempt,omitempty"`
	Stub   string   `json:"stub,omitempty"` // as in [Mask]; empty: pleat's own
}

// Name returns "supersede".
func (Supersede) Name() string { return "supersede" }

// Check refuses negative numbers and a blank stub.
func (s Supersede) Check() error {
	return cmp.Or(fold.CheckNumbers("keep", s.Keep), knownTools(s.Exempt), notBlank("stub", s.Stub))
}

// Pull folds stale results.
func (s Supersede) Pull(ctx context.Context, d *fold.Draft) error {
	if d.Enough() {
		return nil
	}
	for _, ref := range old(d, s.Keep) {
		call := int(d.Facts().Block(ref).Call)
		if call == 0 || !d.Maskable(ref, s.Exempt) {
			continue
		}
		e := d.Source.Ledger().Entry(call)
		if e.SupersededBy == 0 {
			continue
		}
		note := superseded(d, ref, &e)
		stub, err := d.Stub(ctx, ref, s.Stub, note)
		if err != nil {
			return err
		}
		if f := d.FoldBlock(ref, s, note, stub); f != nil {
			f.Final = true
		}
	}
	return nil
}

// superseded says what became of a result: it is wrong by now, or the failure is mended, or
// another is the same, or newer.
func superseded(d *fold.Draft, ref transcript.BlockRef, e *ledger.Entry) string {
	by := d.Source.Ledger().Entry(e.SupersededBy)
	switch {
	case e.Stale():
		return fmt.Sprintf("Call %d made it stale", by.Seq)
	case e.Mended():
		return fmt.Sprintf("Call %d ran it again and it succeeded", by.Seq)
	case d.Facts().Block(ref).Hash == d.Facts().Block(by.Result).Hash:
		return fmt.Sprintf("Call %d gave the same again", by.Seq)
	}
	return fmt.Sprintf("Call %d has a newer result", by.Seq)
}
