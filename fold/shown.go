package fold

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// ShownView is the view in force. Its length and its tokens are always known. Its messages
// are made only when somebody asks for them, because a long session that is read in and
// then folded never shows most of them.
type ShownView struct {
	Count int // of messages in the view
	last  int // of those, how many show the newest message

	made  []transcript.ViewMessage // what was asked for so far
	until int                      // made covers the messages before this one
	spans int                      // number of folded stretches in made
}

// show counts message i, the newest, as a part of the view.
func (s *Folding) show(i int) {
	s.lastParts, s.Shown.last = s.PartsShown(i, s.InUse)
	s.Shown.Count += s.Shown.last
	s.Parts.add(s.lastParts, 1)
}

// Rebuild counts the view from scratch, as after new folds.
func (s *Folding) Rebuild() {
	s.Shown = ShownView{}
	s.Parts, s.Shown.Count = s.RenderedParts(s.InUse)
	if n := s.Transcript.Len(); n > 0 {
		s.lastParts, s.Shown.last = s.PartsShown(n-1, s.InUse)
	}
}

// View returns the view in force.
func (s *Folding) View() []transcript.ViewMessage { return s.Render(&s.Shown, s.InUse) }

// Render returns the view, making what v does not have yet. The result depends on the
// transcript and the folds alone.
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
			stub := transcript.ViewMessage{Source: -1, Made: transcript.User(f.Stub).WithOrigin(transcript.OriginInjected)}
			v.made = slices.Insert(v.made, s.beforeSystem(v.made), stub)
		}
		if f.Ack != "" {
			v.made = append(v.made, transcript.ViewMessage{Source: -1, Made: transcript.Assistant(transcript.Say(f.Ack))})
		}
		if f.Then != "" {
			v.made = append(v.made, transcript.ViewMessage{Source: -1, Made: transcript.User(f.Then).WithOrigin(transcript.OriginInjected)})
		}
		v.until = f.End
		v.spans++
	}
	return v.made[:len(v.made):len(v.made)]
}

// beforeSystem returns the place in a view for a message of pleat's own. What comes next to
// the user must not come between a system message and the answer to it.
func (s *Folding) beforeSystem(made []transcript.ViewMessage) int {
	at := len(made)
	for at > 0 && made[at-1].Source >= s.Prompt() && s.isSystem(made[at-1].Source) {
		at--
	}
	return at
}

// isSystem reports whether message i is a system or developer message.
func (s *Folding) isSystem(i int) bool {
	return s.Facts[i].Role == transcript.RoleSystem || s.Facts[i].Role == transcript.RoleDeveloper
}

// rebuildLast counts the newest message once more.
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

// PartsShown counts what the view shows of message i: its tokens by part, and in how many
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

// RenderedParts returns a view's tokens and its number of messages, without making it.
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
			if f.Then != "" {
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

// InView reports whether the view in force shows a block as it is.
func (s *Folding) InView(ref transcript.BlockRef) bool {
	if s.InUse.covered(ref.Message) || s.InUse.blocks[ref] != nil {
		return false
	}
	return s.Facts[ref.Message].Blocks[ref.Block].Kind != transcript.KindThinking || ref.Message >= s.InUse.Bare
}

// AnyFold reports whether any fold is in force.
func (s *Folding) AnyFold() bool { return len(s.InUse.spans)+len(s.InUse.blocks) > 0 }

// Content returns the text at a place, checked against every hash on record.
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

// appendShown appends what the view shows of message i, which is not part of a folded
// stretch. Nothing is left of a message whose only blocks are dropped thinking. A result
// that arrives when its call is already folded cannot stand alone: a message that pleat
// inserts says that it came.
func (s *Folding) appendShown(view []transcript.ViewMessage, i int, in Folded) ([]transcript.ViewMessage, Parts) {
	f := &s.Facts[i]
	vm := transcript.ViewMessage{Source: i}
	var parts Parts
	var late []string
	left := len(f.Blocks)
	drop := func(b int) {
		vm.Edits = append(vm.Edits, transcript.BlockEdit{Block: b, Drop: true})
		left--
	}
	for b := range f.Blocks {
		bf := &f.Blocks[b]
		ref := transcript.BlockRef{Message: i, Block: b}
		switch fold := in.blocks[ref]; {
		case bf.Kind == transcript.KindThinking && i < in.Bare:
			drop(b)
		case s.isLate(ref, in):
			drop(b)
			late = append(late, s.lateStub(ref))
		case fold != nil:
			vm.Edits = append(vm.Edits, transcript.BlockEdit{Block: b, Text: fold.Stub})
			parts.add(fold.Parts, 1)
		default:
			*parts.of(bf.Kind, f.Role) += int(bf.Tokens)
		}
	}
	if left > 0 || len(f.Blocks) == 0 {
		*parts.of(transcript.KindText, f.Role) += int(f.Extra)
		view = append(view, vm)
	}
	if len(late) > 0 {
		m := transcript.User(strings.Join(late, "\n")).WithOrigin(transcript.OriginInjected)
		parts.Stubs += s.Count.CountMessage(m)
		view = append(view, transcript.ViewMessage{Source: -1, Made: m})
	}
	return view, parts
}

// isLate reports whether a block is a result whose call is part of a folded stretch.
func (s *Folding) isLate(ref transcript.BlockRef, in Folded) bool {
	bf := &s.Facts[ref.Message].Blocks[ref.Block]
	if bf.Kind != transcript.KindToolResult || bf.Call == 0 || len(in.spans) == 0 {
		return false
	}
	return in.covered(s.Ledger.Entry(int(bf.Call)).Call.Message)
}

// lateStub is the text in place of a late result. It is made from facts alone, so that it
// is the same bytes whenever it is made.
func (s *Folding) lateStub(ref transcript.BlockRef) string {
	bf := &s.Facts[ref.Message].Blocks[ref.Block]
	e := s.Ledger.Entry(int(bf.Call))
	how := ""
	if s.Recall != nil {
		how = ". " + s.Recall(bf.Name.String())
	}
	return fmt.Sprintf("[pleat: the result of call %d (%s %s), whose call is folded above, came now: %s, %s%s. Put here by a program, not typed by the user]", e.Seq, e.Tool,
		text.Clip(e.Args, 60), text.Plural(int(bf.Lines), "line"), text.Plural(int(bf.Bytes), "byte"), how)
}

// Safe reports, for each place between messages, whether cutting there leaves every round
// whole; element i is the place before message i. Rounds whose calls are folded already do
// not count: results that still come are late.
func (s *Folding) Safe(in Folded) []bool {
	n := s.Transcript.Len()
	inside := make([]int, n+2) // rounds opened less rounds closed, at each place
	for r := range s.Transcript.AllRounds() {
		start := in.past(r.Start) // an answer may have begun in a stretch that was folded before its calls came
		if r.End > start+1 && !in.covered(r.Calls[0].Call.Message) {
			inside[start+1]++
			inside[r.End]--
		}
	}
	ok := make([]bool, n+1)
	depth, open := 0, n
	if s.ThinkFirst {
		open = s.openTurn()
	}
	for i := range ok {
		depth += inside[i]
		ok[i] = depth == 0 && (i <= open || i == n || s.beginsWithThinking(i))
	}
	return ok
}

// Answers reports whether message i is an answer that may begin a turn.
func (s *Folding) Answers(i int) bool {
	return s.Facts[i].Role == transcript.RoleAssistant && (!s.ThinkFirst || s.beginsWithThinking(i))
}

func (s *Folding) beginsWithThinking(i int) bool {
	b := s.Facts[i].Blocks
	return len(b) > 0 && b[0].Kind == transcript.KindThinking
}

// openTurn returns where the turn begins that the newest results belong to; the end of the
// conversation if it does not end with results. Nobody but the model and its tools has
// spoken since, except beside results.
func (s *Folding) openTurn() int {
	n := s.Transcript.Len()
	for end := n; end > 0; {
		start, results := end, false
		for ; start > 0 && s.Facts[start-1].Role != transcript.RoleAssistant; start-- {
			for b := range s.Facts[start-1].Blocks {
				results = results || s.Facts[start-1].Blocks[b].Kind == transcript.KindToolResult
			}
		}
		if !results {
			return end
		}
		for end = start; end > 0 && s.Facts[end-1].Role == transcript.RoleAssistant; {
			end--
		}
	}
	return 0
}
