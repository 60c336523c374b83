package fold

import (
	"context"
	"errors"
	"slices"

	"github.com/pleat-dev/pleat/internal/fault"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// Span describes messages start ≤ i < end for folding: their handle, and how large they are.
// The caller moves the ends to where a stretch can be folded with [Draft.Fit], sets the stub,
// and folds the stretch with [Draft.FoldSpan], which takes no other ends.
func (d *Draft) Span(ctx context.Context, start, end int, l Lever, reason string) (*Fold, error) {
	if fault.IsNil(l) {
		return nil, errors.New("describe messages: " + noLever)
	}
	f, err := d.span(ctx, start, end)
	if err != nil {
		return nil, err
	}
	f.Lever, f.Reason = l.Name(), reason
	_, f.Digest = l.(Asker)
	return f, nil
}

func (d *Draft) span(ctx context.Context, start, end int) (*Fold, error) {
	start, end = d.within(start, end)
	p := transcript.Place{Start: start, End: end, Block: -1}
	f, known := d.spans[p] // levers try the same stretch with pages of different sizes
	if !known {
		f = Fold{Start: start, End: end, Block: -1}
		var err error
		if f.Hash, f.Bytes, f.Lines, err = d.Source.Measure(ctx, start, end); err != nil {
			return nil, err
		}
		f.Handle = d.Source.Handle(f.Hash, p).String()
		d.spans[p] = f
	}
	return &f, nil
}

// FoldSpan replaces whole messages, described by [Draft.Span], if that makes the view smaller,
// and reports whether it did. Folds inside the stretch end with it. It does nothing if the stretch
// cuts a round or has the system prompt in it, see [Draft.Back] and [Draft.Fit], if the view would
// be illegal for it, or would lack a result that no model has seen. Whether people's words, fixed
// blocks and results in Keep may go with their messages is for the lever to say.
func (d *Draft) FoldSpan(f *Fold) bool {
	if f == nil {
		return false
	}
	of, known := d.spans[transcript.Place{Start: f.Start, End: f.End, Block: -1}]
	if !known || f.Handle != of.Handle || f.Hash != of.Hash {
		d.refuse(f.Lever, "begin with the fold that Draft.Span returns for these messages", f.Start)
		return false
	}
	f.Bytes, f.Lines = of.Bytes, of.Lines
	tok, parts := d.Source.Tokens(), Parts{}
	for _, m := range []struct {
		text string
		of   transcript.Message
	}{
		{f.Stub, transcript.User(f.Stub)},
		{f.Ack, transcript.Assistant(transcript.Say(f.Ack))},
		{f.Then, transcript.User(f.Then)},
	} {
		if m.text != "" {
			parts.Stubs += tok.CountMessage(m.of)
		}
	}
	return d.foldSpan(f, parts, false)
}

// foldSpan does that, with the parts of what stands for the stretch. With fill, a stretch of which
// other folds show little may take more than they do, up to the goal.
func (d *Draft) foldSpan(f *Fold, parts Parts, fill bool) bool {
	why := d.barsSpan(f.Start, f.End, f.Stub != "")
	for _, s := range []string{f.Stub, f.Ack, f.Then} {
		if s != "" && text.Blank(s) {
			why = "the stub is blank"
		}
	}
	if why == "" && d.beginsWithAnswer(f) {
		why = "the view would begin with an answer"
	}
	if why != "" {
		d.refuse(f.Lever, why, f.Start)
		return false
	}
	stands := slices.Collect(d.standing(f.Start, f.End))
	slices.Reverse(stands)
	parts.Add(d.shown(slices.Values(stands)))
	ack := f.Ack
	if next := d.lay.In.past(f.End); ack == "" && d.endInSystem(stands) && d.speaks(next) {
		ack = acknowledged
		parts.Stubs += d.Source.Tokens().CountMessage(transcript.Assistant(transcript.Say(ack)))
	}
	before, after := d.TokensIn(f.Start, f.End), parts.Total()
	grow := after - before
	if grow >= 0 {
		for in := range d.lay.In.In(f.Start, f.End) {
			before += in.Before - in.After
		}
		if !fill || after >= before || d.total+grow > d.Goal {
			return false
		}
	}
	f.Block, f.Stands, f.Ack, f.Before, f.After, f.Parts = -1, stands, ack, before, after, parts
	d.lay.In.Replace(d.add(f))
	d.seal(f)
	d.total += grow
	if !d.whole[f.End] { // a result behind the stretch has just become late
		parts, _ := d.lay.Parts()
		d.total = parts.Total()
	}
	return true
}

// seal forbids cuts inside a folded stretch: it becomes part of a larger one as a whole or
// not at all.
func (d *Draft) seal(f *Fold) {
	for i := f.Start + 1; i < f.End; i++ {
		d.safe[i] = false
	}
}
