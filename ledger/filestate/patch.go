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
		before, after := toolcall.JoinLines(h.Old), toolcall.JoinLines(h.New)
		if before == after {
			continue
		}
		switch found := f.locate(before, true); {
		case before == "" || len(found) > 1:
			f.Lose(Doubt{Call: call, Why: "its patch fits several places", hard: true})
			f.ended = false
		case len(found) == 1:
			f.replaceAt(call, found[0], before, after)
		default:
			f.unseen(call, before, after, false)
			if n := len(f.pieces); n > 0 && f.pieces[n-1].text.String() == after {
				f.pieces[n-1].ragged = false // whole lines
			}
		}
		f.settle()
	}
	f.seen = call
}

// patchWhole applies hunks to a file that is wholly known, the way apply_patch does: each
// is looked for from where the last one ended. It reports whether all have a place.
func (f *File) patchWhole(call int, hunks []toolcall.Hunk) bool {
	var now piece
	if len(f.pieces) > 0 {
		now = f.pieces[0]
	}
	type change struct {
		at, size int
		with     string
	}
	var changes []change
	cursor := 0
	for _, h := range hunks {
		for _, c := range h.Context {
			at, size := now.text.seek([]string{c}, cursor, false)
			if at < 0 {
				return false
			}
			cursor = at + size
		}
		if len(h.Old) == 0 {
			if len(h.Context) > 0 && !h.End {
				return false // agents differ in where they put that
			}
			changes = append(changes, change{now.text.size, 0, plain(toolcall.JoinLines(h.New))})
			continue
		}
		old, with := h.Old, h.New
		at, size := now.text.seek(old, cursor, h.End)
		if at < 0 && old[len(old)-1] == "" { // the empty line that ends a file
			old = old[:len(old)-1]
			if n := len(with); n > 0 && with[n-1] == "" {
				with = with[:n-1]
			}
			at, size = now.text.seek(old, cursor, h.End)
		}
		if at < 0 {
			return false
		}
		changes = append(changes, change{at, size, plain(toolcall.JoinLines(with))})
		cursor = at + size
	}
	slices.SortStableFunc(changes, func(a, b change) int { return a.at - b.at })
	for i := len(changes) - 1; i >= 0; i-- {
		c := changes[i]
		if i > 0 && changes[i-1].at+changes[i-1].size > c.at {
			return false
		}
		now.text = now.text.replace(c.at, c.size, c.with)
	}
	*f = File{total: now.text.lines, ended: true, loose: f.loose, seen: call}
	if now.text.size > 0 {
		f.pieces = []piece{{at: 1, text: now.text, call: call, doubt: now.doubt}}
	}
	return true
}

// seek finds lines from a place on: as they are, else without space at their ends, else
// without any space around them. at is -1 if they are nowhere.
func (b body) seek(want []string, from int, end bool) (at, size int) {
	if end && len(want) <= b.lines {
		before, _ := b.split(b.lines - len(want))
		from = max(from, before.size)
	}
	if len(want) == 0 {
		return from, 0
	}
	exact := toolcall.JoinLines(want)
	if at := b.search(exact).next(from, true); at >= 0 {
		return at, len(exact)
	}
	rest := b.String()[from:]
	lines := strings.SplitAfter(rest, "\n")
	lines = lines[:len(lines)-1] // what is after the last line feed
	for _, form := range []func(string) string{
		func(s string) string { return strings.TrimRight(s, " \t\r\n") },
		strings.TrimSpace,
	} {
		first := form(want[0])
		for i := 0; i+len(want) <= len(lines); i++ {
			if form(lines[i]) != first {
				continue
			}
			k := 1
			for k < len(want) && form(lines[i+k]) == form(want[k]) {
				k++
			}
			if k == len(want) {
				return from + offset(rest, i), offset(rest[offset(rest, i):], k)
			}
		}
	}
	return -1, 0
}
