package filestate

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/ledger/toolcall"
)

// Patch notes that a call applied the hunks of a patch, one after the other.
func (f *File) Patch(call int, hunks []toolcall.Hunk) {
	guess := len(f.pieces) == 1 && f.pieces[0].doubt.Call > 0
	if f.Whole() && len(f.pieces) < 2 && (guess || !f.loose) && f.patchWhole(call, hunks) {
		f.seen = call
		return
	}
	for _, h := range hunks {
		before, after := joined(h.Old), joined(h.New)
		if before == after {
			continue
		}
		switch found := f.locate(before, true); {
		case before == "" || len(found) > 1:
			f.Lose(Doubt{Call: call, Why: "its patch fits several places", hard: true})
			f.ended = false
		case len(found) == 1:
			f.replaceAt(call, found[0], len(before), after)
		default:
			f.unseen(call, before, after, false)
			if n := len(f.pieces); n > 0 && f.pieces[n-1].text == after {
				f.pieces[n-1].ragged = false // whole lines
			}
		}
		f.settle()
	}
	f.seen = call
}

func joined(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// patchWhole applies hunks to a file that is wholly known, the way apply_patch does: each
// is looked for from where the last one ended. It reports whether all have a place.
func (f *File) patchWhole(call int, hunks []toolcall.Hunk) bool {
	var lines []string
	var doubt Doubt
	if len(f.pieces) > 0 {
		lines = strings.Split(strings.TrimSuffix(f.pieces[0].text, "\n"), "\n")
		doubt = f.pieces[0].doubt
	}
	type change struct {
		at, size int
		with     []string
	}
	var changes []change
	cursor := 0
	for _, h := range hunks {
		for _, c := range h.Context {
			i := seek(lines, []string{c}, cursor, false)
			if i < 0 {
				return false
			}
			cursor = i + 1
		}
		if len(h.Old) == 0 {
			at := len(lines)
			if len(h.Context) > 0 && !h.End {
				return false // agents differ in where they put that
			}
			changes = append(changes, change{at, 0, h.New})
			continue
		}
		old, with := h.Old, h.New
		i := seek(lines, old, cursor, h.End)
		if i < 0 && old[len(old)-1] == "" { // the empty line that ends a file
			old = old[:len(old)-1]
			if n := len(with); n > 0 && with[n-1] == "" {
				with = with[:n-1]
			}
			i = seek(lines, old, cursor, h.End)
		}
		if i < 0 {
			return false
		}
		changes = append(changes, change{i, len(old), with})
		cursor = i + len(old)
	}
	slices.SortStableFunc(changes, func(a, b change) int { return a.at - b.at })
	var out []string
	at := 0
	for _, c := range changes {
		if c.at < at {
			return false
		}
		out = append(append(out, lines[at:c.at]...), c.with...)
		at = c.at + c.size
	}
	out = append(out, lines[at:]...)
	loose := f.loose
	f.Write(call, joined(out))
	f.loose = loose
	if len(f.pieces) > 0 {
		f.pieces[0].doubt = doubt
	}
	return true
}

// seek finds lines among lines from a line on: as they are, else without space at their
// ends, else without any space around them. It is -1 if they are nowhere.
func seek(lines, want []string, from int, end bool) int {
	if end && len(want) <= len(lines) {
		from = max(from, len(lines)-len(want))
	}
	if len(want) == 0 {
		return from
	}
	for _, form := range []func(string) string{
		func(s string) string { return s },
		func(s string) string { return strings.TrimRight(s, " \t\r") },
		strings.TrimSpace,
	} {
		first := form(want[0])
		for i := from; i+len(want) <= len(lines); i++ {
			if form(lines[i]) != first {
				continue
			}
			k := 1
			for k < len(want) && form(lines[i+k]) == form(want[k]) {
				k++
			}
			if k == len(want) {
				return i
			}
		}
	}
	return -1
}
