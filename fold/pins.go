package fold

import (
	"context"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/transcript"
)

// showPins makes the view hold every pin word for word, where they fit. A page has them. Where
// the epoch writes no page, or an older page lacks a newer pin, a message of its own goes
// before the first of the new folds: an empty stretch with a stub.
func (d *Draft) showPins(ctx context.Context, was *Set) error {
	stripped := d.lay.In.Bare > was.Bare
	if len(d.added) == 0 && !stripped || d.o.NoSpans {
		return nil
	}
	stub, parts := d.missingPins()
	if stub == "" {
		return nil
	}
	at := d.len()
	if stripped { // the view changes from there on
		at = was.Bare
	}
	for _, f := range d.live() {
		at = min(at, f.Start)
	}
	at = d.Back(min(max(at, d.head), d.len()-1)) // behind the head where there is more
	f, err := d.span(ctx, at, at)
	if err != nil {
		return err
	}
	f.Lever, f.Reason, f.Final = "pin", "pinned, and not on a page", true
	f.Stub, f.Parts, f.After = stub, parts, parts.Total()
	if d.total+f.After <= d.Limits.Max {
		d.lay.In.Replace(d.add(f))
		d.total += f.After
	}
	return nil
}

// missingPins is the message with the pins that the view does not show yet, empty if it shows
// all.
func (d *Draft) missingPins() (stub string, parts Parts) {
	const heading = "[pleat: pinned, word for word; put here by a program, not typed by the user]"
	stub = heading
	for _, pin := range d.o.Pins {
		if item := "\n" + fence.Item("pin", pin); !d.shows(item) {
			stub += item
		}
	}
	if stub == heading {
		return "", Parts{}
	}
	return stub, Parts{Pins: d.Count(stub), Stubs: d.Source.Tokens().CountMessage(transcript.User(""))}
}

// shows reports whether a stub of the view has an item of a list.
func (d *Draft) shows(item string) bool {
	return slices.ContainsFunc(d.lay.In.spans, func(f *Fold) bool { return strings.Contains(f.Stub+"\n", item+"\n") })
}
