package digester

import (
	"context"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/internal/summarizer"
	"github.com/pleat-dev/pleat/transcript"
)

// source copies what a need is about. The lock is held.
func (d *Digester) source(ctx context.Context, want fold.Need) (*summarizer.Source, error) {
	st := d.o.Journal.State()
	system, tools := d.o.Head()
	src := &summarizer.Source{
		Need: summarizer.Need{
			Start: want.Start, End: want.End, Room: want.Room, Spare: want.Spare, Focus: want.Focus,
		},
		Hash: st.SourceHash(want.Start, want.End), System: system, Tools: tools,
		Calls: st.Ledger().Len(), Pins: st.Pins, Notes: append([]transcript.Note(nil), st.Notes...),
		Said: st.Said(),
	}
	if t := st.ToldBefore(want.Start, want.End); t != nil {
		src.Prev, src.First = t.Text, t.End
	}
	unfolded := st.Layout
	unfolded.In = fold.Set{}
	safe, facts := unfolded.Safe(), st.Facts()
	for i := src.First; i < want.End; i++ {
		msg, err := st.Message(ctx, i)
		if err != nil {
			return nil, err
		}
		m := summarizer.SourceMessage{Message: msg, Cut: safe[i], Whole: i < want.Start && !want.In.Overlaps(i, i+1)}
		for b := range facts[i].Blocks {
			bf := &facts[i].Blocks[b]
			superseded := bf.Kind == transcript.KindToolResult && bf.Call > 0 &&
				st.Ledger().Entry(int(bf.Call)).SupersededBy > 0
			m.Handles, m.Superseded = append(m.Handles, bf.Handle.String()), append(m.Superseded, superseded)
		}
		src.Msgs = append(src.Msgs, m)
	}
	for i := want.Start; i < want.End; i++ {
		for b := range facts[i].Blocks {
			src.Replaces += int(facts[i].Blocks[b].Tokens)
		}
	}
	shown := st.View()
	if want.Ask.AsIs {
		shown = st.ViewOf(want.In)
	}
	return src, showTo(ctx, st, src, shown, want.Ask.AsIs)
}

// showTo copies what a view shows of the messages of a digest, and who speaks in it if the digest is
// taken as it comes.
func showTo(
	ctx context.Context, st *epoch.State, src *summarizer.Source, shown []transcript.ViewMessage, asIs bool,
) error {
	v := transcript.View{}
	for _, vm := range shown {
		if vm.Source >= src.Need.End {
			break
		}
		v.Messages = append(v.Messages, vm)
		if vm.Source >= 0 && vm.Source < src.Need.Start {
			src.ViewHead = len(v.Messages)
		}
	}
	for _, vm := range v.Messages[src.ViewHead:] {
		if vm.Source >= 0 {
			break
		}
		src.Summed++
	}
	err := st.Reading(ctx, func(t *transcript.Transcript) (err error) {
		if src.View, err = v.Resolve(t); err == nil && asIs {
			at := func(i int) (transcript.Message, error) { return t.At(i), nil }
			src.Spoken, err = annotate.AttributedView(v, src.View, at)
		}
		return err
	})
	for _, m := range src.View {
		src.ViewTokens += st.Tokens().CountMessage(m)
	}
	return err
}
