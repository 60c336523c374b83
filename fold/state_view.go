package fold

import (
	"fmt"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// shownView is the view in force. How long it is and what it takes is always known; it is
// made as far as somebody has asked for it, because that of a long session that is only
// taken in, and folded then, is never shown.
type ShownView struct {
	Count int // of messages in the view
	last  int // of those, how many show the newest message

	made  []transcript.ViewMessage // what was asked for
	until int                      // messages before this one are in it, or folded by it
	spans int                      // so many folded stretches are in it
}

// show counts message i, the newest, as a part of the view.
func (s *Folding) show(i int) {
	s.lastParts, s.Shown.last = s.PartsShown(i, s.InUse)
	s.Shown.Count += s.Shown.last
	s.Parts.add(s.lastParts, 1)
}

// rebuild counts the view anew, as after new folds.
func (s *Folding) Rebuild() {
	s.Shown = ShownView{}
	s.Parts, s.Shown.Count = s.RenderedParts(s.InUse)
	if n := s.Transcript.Len(); n > 0 {
		s.lastParts, s.Shown.last = s.PartsShown(n-1, s.InUse)
	}
}

// view is what the model is to be sent now.
func (s *Folding) View() []transcript.ViewMessage { return s.Render(&s.Shown, s.InUse) }

// render is the view, as far as v does not have it yet: a pure function of transcript and
// folds.
func (s *Folding) Render(v *ShownView, in Folded) []transcript.ViewMessage {
	if v.made == nil {
		v.made = make([]transcript.ViewMessage, 0, v.Count)
	}
	for v.until < s.Transcript.Len() {
		if v.spans == len(in.spans) || in.spans[v.spans].Start != v.until {
			v.made, _ = s.appendShown(v.made, v.until, in)
			v.until++
			continue
		}
		f := in.spans[v.spans]
		if f.Stub != "" {
			v.made = append(v.made, transcript.ViewMessage{Source: -1, Made: transcript.User(f.Stub).WithOrigin(transcript.OriginInjected)})
		}
		if f.Ack != "" {
			v.made = append(v.made, transcript.ViewMessage{Source: -1, Made: transcript.Assistant(transcript.Say(f.Ack))})
		}
		v.until = f.End
		v.spans++
	}
	return v.made[:len(v.made):len(v.made)]
}

// rebuildLast shows the newest message anew.
func (s *Folding) rebuildLast() {
	n := s.Transcript.Len()
	v := &s.Shown
	if n == 0 || v.last != 1 || v.until == n && v.made[len(v.made)-1].Source != n-1 { // late results, or nothing shown
		s.Rebuild()
		return
	}
	if v.until == n {
		v.made, v.until = v.made[:len(v.made)-1:len(v.made)-1], n-1 // views given out keep theirs
	}
	v.Count -= v.last
	s.Parts.add(s.lastParts, -1)
	s.show(n - 1)
}

// partsShown is what the view shows of message i, counted only: its parts, and in how many
// messages.
func (s *Folding) PartsShown(i int, in Folded) (Parts, int) {
	f := &s.Facts[i]
	var parts Parts
	left := len(f.Blocks)
	for b := range f.Blocks {
		bf := &f.Blocks[b]
		ref := transcript.BlockRef{Message: i, Block: b}
		if s.isLate(ref, in) {
			view, parts := s.appendShown(nil, i, in)
			return parts, len(view)
		}
		switch fold := in.blocks[ref]; {
		case bf.Kind == transcript.KindThinking && i < in.Bare:
			left--
		case fold != nil:
			parts.add(fold.Parts, 1)
		default:
			*parts.of(bf.Kind, f.Role) += int(bf.Tokens)
		}
	}
	if left == 0 && len(f.Blocks) > 0 {
		return parts, 0
	}
	*parts.of(transcript.KindText, f.Role) += int(f.Extra)
	return parts, 1
}

// renderedParts is what a view takes, and of how many messages it is, without making it.
func (s *Folding) RenderedParts(in Folded) (Parts, int) {
	parts, count := s.Head, 0
	span := 0
	for i := 0; i < s.Transcript.Len(); i++ {
		if span < len(in.spans) && in.spans[span].Start == i {
			f := in.spans[span]
			span++
			if f.Stub != "" {
				count++
			}
			if f.Ack != "" {
				count++
			}
			parts.add(f.Parts, 1)
			i = f.End - 1
			continue
		}
		p, n := s.PartsShown(i, in)
		parts.add(p, 1)
		count += n
	}
	return parts, count
}

// inView reports whether the view in force shows a block as it is.
func (s *Folding) InView(ref transcript.BlockRef) bool {
	if s.InUse.covered(ref.Message) || s.InUse.blocks[ref] != nil {
		return false
	}
	return s.Facts[ref.Message].Blocks[ref.Block].Kind != transcript.KindThinking || ref.Message >= s.InUse.Bare
}

// anyFold reports whether the view differs from the transcript.
func (s *Folding) AnyFold() bool { return len(s.InUse.spans)+len(s.InUse.blocks) > 0 }

// content is the text that a place stands for, checked against every hash on record.
func (s *Folding) Content(p transcript.Place, handle string) (string, error) {
	var text string
	var want transcript.Hash
	if p.Block < 0 {
		text = s.RenderText(p.Start, p.End)
	} else {
		text = transcript.BlockText(s.Transcript.Block(transcript.BlockRef{Message: p.Start, Block: p.Block}))
		want = s.Facts[p.Start].Blocks[p.Block].Hash
	}
	got := transcript.HashOf(text)
	damaged := !want.IsZero() && got != want
	for _, f := range s.Folds {
		damaged = damaged || f.Handle == handle && f.Hash != got
	}
	if damaged {
		return "", fmt.Errorf("the content does not have the hash it was folded under: %w", store.ErrCorrupt)
	}
	return text, nil
}
