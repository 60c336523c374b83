package pleat

import "fmt"

// shownView is the view in force. How long it is and what it takes is always known; it is
// made as far as somebody has asked for it, because that of a long session that is only
// taken in, and folded then, is never shown.
type shownView struct {
	count int // of messages in the view
	last  int // of those, how many show the newest message

	made  []ViewMessage // what was asked for
	until int           // messages before this one are in it, or folded by it
	spans int           // so many folded stretches are in it
}

// show counts message i, the newest, as a part of the view.
func (s *folding) show(i int) {
	s.lastParts, s.shown.last = s.partsShown(i, s.inUse)
	s.shown.count += s.shown.last
	s.parts.add(s.lastParts, 1)
}

// rebuild counts the view anew, as after new folds.
func (s *folding) rebuild() {
	s.shown = shownView{}
	s.parts, s.shown.count = s.renderedParts(s.inUse)
	if n := s.t.Len(); n > 0 {
		s.lastParts, s.shown.last = s.partsShown(n-1, s.inUse)
	}
}

// view is what the model is to be sent now.
func (s *folding) view() []ViewMessage { return s.render(&s.shown, s.inUse) }

// render is the view, as far as v does not have it yet: a pure function of transcript and
// folds.
func (s *folding) render(v *shownView, in folded) []ViewMessage {
	if v.made == nil {
		v.made = make([]ViewMessage, 0, v.count)
	}
	for v.until < s.t.Len() {
		if v.spans == len(in.spans) || in.spans[v.spans].Start != v.until {
			v.made, _ = s.appendShown(v.made, v.until, in)
			v.until++
			continue
		}
		f := in.spans[v.spans]
		if f.Stub != "" {
			v.made = append(v.made, ViewMessage{Source: -1, Made: User(f.Stub).WithOrigin(OriginInjected)})
		}
		if f.Ack != "" {
			v.made = append(v.made, ViewMessage{Source: -1, Made: Assistant(Say(f.Ack))})
		}
		v.until = f.End
		v.spans++
	}
	return v.made[:len(v.made):len(v.made)]
}

// rebuildLast shows the newest message anew.
func (s *folding) rebuildLast() {
	n := s.t.Len()
	v := &s.shown
	if n == 0 || v.last != 1 || v.until == n && v.made[len(v.made)-1].Source != n-1 { // late results, or nothing shown
		s.rebuild()
		return
	}
	if v.until == n {
		v.made, v.until = v.made[:len(v.made)-1:len(v.made)-1], n-1 // views given out keep theirs
	}
	v.count -= v.last
	s.parts.add(s.lastParts, -1)
	s.show(n - 1)
}

// partsShown is what the view shows of message i, counted only: its parts, and in how many
// messages.
func (s *folding) partsShown(i int, in folded) (Parts, int) {
	f := &s.facts[i]
	var parts Parts
	left := len(f.blocks)
	for b := range f.blocks {
		bf := &f.blocks[b]
		ref := BlockRef{i, b}
		if s.isLate(ref, in) {
			view, parts := s.appendShown(nil, i, in)
			return parts, len(view)
		}
		switch fold := in.blocks[ref]; {
		case bf.kind == KindThinking && i < in.bare:
			left--
		case fold != nil:
			parts.add(fold.Parts, 1)
		default:
			*parts.of(bf.kind, f.role) += int(bf.tokens)
		}
	}
	if left == 0 && len(f.blocks) > 0 {
		return parts, 0
	}
	*parts.of(KindText, f.role) += int(f.extra)
	return parts, 1
}

// renderedParts is what a view takes, and of how many messages it is, without making it.
func (s *folding) renderedParts(in folded) (Parts, int) {
	parts, count := s.head, 0
	span := 0
	for i := 0; i < s.t.Len(); i++ {
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
		p, n := s.partsShown(i, in)
		parts.add(p, 1)
		count += n
	}
	return parts, count
}

// inView reports whether the view in force shows a block as it is.
func (s *folding) inView(ref BlockRef) bool {
	if s.inUse.covered(ref.Message) || s.inUse.blocks[ref] != nil {
		return false
	}
	return s.facts[ref.Message].blocks[ref.Block].kind != KindThinking || ref.Message >= s.inUse.bare
}

// anyFold reports whether the view differs from the transcript.
func (s *folding) anyFold() bool { return len(s.inUse.spans)+len(s.inUse.blocks) > 0 }

// content is the text that a place stands for, checked against every hash on record.
func (s *folding) content(p Place, handle string) (string, error) {
	var text string
	var want Hash
	if p.Block < 0 {
		text = s.renderText(p.Start, p.End)
	} else {
		text = blockText(s.t.Block(BlockRef{p.Start, p.Block}))
		want = s.facts[p.Start].blocks[p.Block].hash
	}
	got := HashOf(text)
	damaged := !want.IsZero() && got != want
	for _, f := range s.folds {
		damaged = damaged || f.Handle == handle && f.Hash != got
	}
	if damaged {
		return "", fmt.Errorf("the content does not have the hash it was folded under: %w", ErrCorrupt)
	}
	return text, nil
}
