package fold

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/transcript"
)

// showPins makes the view hold every pin word for word, where they fit. A page has them. Where
// the epoch writes no page, or an older page lacks a newer pin, a message of its own goes
// before the first of the new folds: an empty stretch with a stub.
func (d *Draft) showPins() {
	stripped := d.in.Bare > d.s.InUse.Bare
	if len(d.added) == 0 && !stripped || d.noSpans {
		return
	}
	stub, parts := d.pinned()
	if stub == "" {
		return
	}
	at := d.s.Transcript.Len()
	if stripped { // the view changes from there on
		at = d.s.InUse.Bare
	}
	for _, f := range d.live() {
		at = min(at, f.Start)
	}
	at = d.Back(min(max(at, d.Head()), d.s.Transcript.Len()-1)) // behind the head where there is more
	f := d.span(at, at)
	f.Lever, f.Reason = "pin", "pinned, and not on a page"
	f.Stub, f.Parts, f.After = stub, parts, parts.Total()
	if d.total+f.After > d.Limits.Max {
		return
	}
	d.in.spans = append(d.in.spans, d.add(f))
	slices.SortFunc(d.in.spans, byPlace)
	d.total += f.After
}

// pinned is the message with the pins that the view does not show yet, empty if it shows all.
func (d *Draft) pinned() (stub string, parts Parts) {
	missing := slices.DeleteFunc(slices.Clone(d.s.Pinned), d.shows)
	if len(missing) == 0 {
		return "", Parts{}
	}
	stub = "[pleat: pinned, word for word; put here by a program, not typed by the user]\n" + strings.Join(missing, "\n")
	return stub, Parts{Pins: d.Count(stub), Stubs: d.s.Count.CountMessage(transcript.User(""))}
}

// PinsRoom returns the tokens of the pins that the view does not show yet. They come on top
// of what the levers leave.
func (d *Draft) PinsRoom() int {
	_, parts := d.pinned()
	return parts.Total()
}

// shows reports whether a stub of the view holds a text.
func (d *Draft) shows(text string) bool {
	return slices.ContainsFunc(d.in.spans, func(f *Fold) bool { return strings.Contains(f.Stub, text) })
}

// byPlace orders stretches; an empty one comes before what begins at its place.
func byPlace(a, b *Fold) int {
	if a.Start != b.Start {
		return a.Start - b.Start
	}
	return a.End - b.End
}
