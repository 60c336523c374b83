package filestate

import "github.com/pleat-dev/pleat/ledger/toolcall"

// Patch notes that a call applied the hunks of a patch, one after the other.
func (f *File) Patch(call int, hunks []toolcall.Hunk) {
	f.seen = call
	if f.patchWhole(call, hunks) {
		return
	}
	for _, h := range hunks {
		before, after := toolcall.JoinLines(h.Old), toolcall.JoinLines(h.New)
		if before == after {
			continue
		}
		if found := f.find(before, true); len(found) == 1 && f.sure(found[0].piece) {
			f.replaceAt(call, found[0], before, after)
		} else {
			f.lost(call, "where its patch fits is not known")
		}
		f.settle()
	}
}

// patchWhole applies hunks to a file that is wholly known, the way apply_patch does: each
// is looked for from where the last one ended. It reports whether all have a place.
func (f *File) patchWhole(call int, hunks []toolcall.Hunk) bool {
	if !f.Whole() || len(f.pieces) != 1 || f.loose && f.pieces[0].doubt.Call == 0 {
		return false
	}
	text, at := f.pieces[0].text, 0
	for _, h := range hunks {
		for _, c := range h.Context {
			line := c + "\n"
			if at = text.search(line).next(at, true); at < 0 {
				return false
			}
			at += len(line)
		}
		before, after := toolcall.JoinLines(h.Old), plain(toolcall.JoinLines(h.New))
		if before == "" {
			return false // agents differ in where they put that
		}
		if at = text.search(before).next(at, true); at < 0 {
			return false
		}
		text = text.replace(at, len(before), after)
		at += len(after)
	}
	f.pieces[0].text, f.pieces[0].call, f.total = text, call, text.lines
	f.settle()
	return true
}
