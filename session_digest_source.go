package pleat

import (
	"errors"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// digestSource copies what a need is about. The lock is held.
func (s *Session) digestSource(want fold.Need) (*digest.Source, error) {
	st := s.st
	src := &digest.Source{
		Need: digest.Need{Start: want.Start, End: want.End, Room: want.Room, Focus: want.Focus}, Hash: st.SourceHash(want.Start, want.End), System: s.o.System, Tools: s.o.Tools,
		Calls: st.Ledger.Len(), Pins: st.Pinned, Notes: append([]transcript.Note(nil), st.Notes...),
		Said: append([]userwords.Said(nil), st.Words.Said()...),
	}
	for n := len(st.Told) - 1; n >= 0; n-- {
		if t := st.Told[n]; t.End <= want.End && t.Start <= want.Start {
			src.Prev, src.First = t.Text, t.End
			break
		}
	}
	safe := st.Safe(fold.Folded{})
	for i := src.First; i < want.End; i++ {
		m := digest.SourceMessage{Message: st.Transcript.At(i), Cut: safe[i]}
		for b := range st.Facts[i].Blocks {
			bf := &st.Facts[i].Blocks[b]
			superseded := bf.Kind == transcript.KindToolResult && bf.Call > 0 && st.Ledger.Entry(int(bf.Call)).SupersededBy > 0
			m.Handles, m.Superseded = append(m.Handles, bf.Name.String()), append(m.Superseded, superseded)
		}
		src.Msgs = append(src.Msgs, m)
	}
	var err error
	v := transcript.View{}
	for _, vm := range st.View() {
		if vm.Source >= want.End {
			break
		}
		v.Messages = append(v.Messages, vm)
		if vm.Source >= 0 && vm.Source < want.Start {
			src.ViewHead = len(v.Messages)
		}
	}
	src.View, err = v.Resolve(st.Transcript.At)
	for _, m := range src.View {
		src.ViewTokens += st.Count.CountMessage(m)
	}
	for i := want.Start; i < want.End; i++ {
		for b := range st.Facts[i].Blocks {
			src.Replaces += int(st.Facts[i].Blocks[b].Tokens)
		}
	}
	return src, errors.Join(err, st.Contents.Fault())
}
