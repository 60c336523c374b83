package lever

import (
	"fmt"

	"github.com/pleat-dev/pleat/fold"
)

// Supersede folds results that a later one made stale: files that were read or changed
// again, repeated calls, failures that were mended since.
type Supersede struct {
	Keep   int      `json:"keep,omitempty"`   // newest results that stay
	Exempt []string `json:"exempt,omitempty"` // tools whose results stay
	Stub   string   `json:"stub,omitempty"`   // as in Mask
}

// Name returns "supersede".
func (Supersede) Name() string { return "supersede" }

// Check refuses negative numbers.
func (s Supersede) Check() error {
	return notNegative("keep", s.Keep)
}

// Pull folds stale results.
func (s Supersede) Pull(d *fold.Draft) {
	if d.Enough() {
		return
	}
	for _, ref := range old(d, s.Keep) {
		call := int(d.Facts(ref).Call)
		if call == 0 || !d.Maskable(ref, s.Exempt) {
			continue
		}
		if by := d.Ledger().Entry(call).SupersededBy; by > 0 {
			note := fmt.Sprintf("Call %d made it stale", by)
			d.FoldBlock(ref, s, note, d.Stub(ref, s.Stub, note))
		}
	}
}
