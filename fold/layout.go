package fold

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// Layout is a conversation under a set of folds: what a view shows of each message, and what
// that takes. It depends on the conversation and the folds alone.
type Layout struct {
	Source
	In     Set                        // the folds
	Head   Parts                      // system prompt and tools
	Recall func(handle string) string // how stubs say to get content back; nil: they do not
	// ThinkFirst says that a turn with open calls must begin with thinking: no cut inside one
	// may leave it without.
	ThinkFirst bool
}

func (l *Layout) count() int { return len(l.Facts()) }

// Shown is a view as far as it was made. Its messages are made only when somebody asks for
// them, because a long session that is read in and then folded never shows most of them.
type Shown struct {
	made  []transcript.ViewMessage
	until int // made covers the messages before this one
	spans int // number of folded stretches in made
}

// Render returns the view, making what v does not have yet.
func (l *Layout) Render(v *Shown) []transcript.ViewMessage {
	n := l.count()
	if v.made == nil {
		v.made = make([]transcript.ViewMessage, 0, n-l.In.hidden()+3*len(l.In.spans))
	}
	for v.until < n {
		if v.spans == len(l.In.spans) || l.In.spans[v.spans].Start != v.until {
			v.made, _ = l.appendShown(v.made, v.until)
			v.until++
			continue
		}
		f := l.In.spans[v.spans]
		v.made = l.appendStanding(v.made, f, false)
		if !text.Blank(f.Stub) {
			v.made = slices.Insert(v.made, l.beforeSystem(v.made), insert(f.Stub))
		}
		v.made = l.appendStanding(v.made, f, true)
		if !text.Blank(f.Ack) {
			v.made = append(v.made,
				transcript.ViewMessage{Source: -1, Made: transcript.Assistant(transcript.Say(f.Ack))})
		}
		if !text.Blank(f.Then) {
			v.made = append(v.made, insert(f.Then))
		}
		v.until = f.End
		v.spans++
	}
	return v.made[:len(v.made):len(v.made)]
}

// insert makes a message of pleat's own.
func insert(text string) transcript.ViewMessage {
	return transcript.ViewMessage{Source: -1, Made: transcript.User(text).WithOrigin(transcript.OriginInjected)}
}

// beforeSystem returns the place in a view for a message of pleat's own. What comes next to
// the user must not come between a system message and the answer to it.
func (l *Layout) beforeSystem(made []transcript.ViewMessage) int {
	facts := l.Facts()
	at := len(made)
	for at > 0 && made[at-1].Source >= facts.Prompt() && facts.System(made[at-1].Source) {
		at--
	}
	return at
}

// Shows reports whether the view shows a block as it is.
func (l *Layout) Shows(ref transcript.BlockRef) bool {
	if l.In.covered(ref.Message) || l.In.Block(ref) != nil {
		return false
	}
	return !l.bare(ref.Message, l.Facts().Block(ref))
}

// bare reports whether a block of message i is thinking that the view leaves out.
func (l *Layout) bare(i int, bf *transcript.BlockFacts) bool {
	return i < l.In.Bare && bf.Kind == transcript.KindThinking && !bf.Stays
}

// Parts returns the view's tokens and its number of messages, without making it.
func (l *Layout) Parts() (Parts, int) {
	parts, count := l.Head, 0
	span := 0
	for i, n := 0, l.count(); i < n; i++ {
		if span < len(l.In.spans) && l.In.spans[span].Start == i {
			f := l.In.spans[span]
			span++
			for _, s := range []string{f.Stub, f.Ack, f.Then} {
				if !text.Blank(s) {
					count++
				}
			}
			parts.Add(f.Parts)
			count += len(f.Stands)
			i = f.End - 1
			continue
		}
		p, n := l.PartsOf(i)
		parts.Add(p)
		count += n
	}
	return parts, count
}

// PartsOf counts what the view shows of message i, which is not part of a folded stretch: its
// tokens by part, and in how many messages.
func (l *Layout) PartsOf(i int) (Parts, int) {
	var room [2]transcript.ViewMessage // stays on the stack
	view, parts := l.appendShown(room[:0], i)
	return parts, len(view)
}

// appendShown appends what the view shows of message i, which is not part of a folded
// stretch. Nothing is left of a message whose only blocks are dropped thinking. A result
// that arrives when its call is already folded cannot stand alone: a message that pleat
// inserts says that it came.
func (l *Layout) appendShown(view []transcript.ViewMessage, i int) ([]transcript.ViewMessage, Parts) {
	f := &l.Facts()[i]
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
		switch fold := l.In.Block(ref); {
		case l.bare(i, bf):
			drop(b)
		case l.late(ref):
			drop(b)
			late = append(late, l.lateStub(bf))
		case fold != nil:
			vm.Edits = append(vm.Edits, transcript.BlockEdit{Block: b, Text: fold.Stub})
			parts.Add(fold.Parts)
		default:
			*parts.of(bf.Kind, f.Role) += int(bf.Tokens)
		}
	}
	if left > 0 || len(f.Blocks) == 0 {
		*parts.of(transcript.KindText, f.Role) += int(f.Extra)
		view = append(view, vm)
	}
	if len(late) > 0 {
		m := insert(strings.Join(late, "\n"))
		parts.Stubs += l.Tokens().CountMessage(m.Made)
		view = append(view, m)
	}
	return view, parts
}

// late reports whether a block is a result whose call is part of a folded stretch.
func (l *Layout) late(ref transcript.BlockRef) bool {
	if len(l.In.spans) == 0 {
		return false
	}
	bf := l.Facts().Block(ref)
	if bf.Kind != transcript.KindToolResult || bf.Call == 0 {
		return false
	}
	return l.In.covered(l.Ledger().Entries[bf.Call-1].Call.Message)
}

// lateStub is the text in place of a late result. It is made from facts alone, so that it
// is the same bytes whenever it is made.
func (l *Layout) lateStub(bf *transcript.BlockFacts) string {
	e := l.Ledger().Entry(int(bf.Call))
	how := ""
	if l.Recall != nil {
		how = ". " + l.Recall(bf.Handle.String())
	}
	const format = "[pleat: the result of call %d (%s %s), whose call is folded above, came now: %s, %s%s. " +
		"Put here by a program, not typed by the user]"
	return fmt.Sprintf(format, e.Seq, e.Tool,
		text.Clip(e.Args, 60), text.Plural(int(bf.Lines), "line"), text.Plural(int(bf.Bytes), "byte"), how)
}

// Safe reports, for each place between messages, whether cutting there leaves every round and what else
// is tied together whole; element i is the place before message i. Rounds whose calls are folded already do
// not count: results that still come are late.
func (l *Layout) Safe() []bool {
	n := l.count()
	inside := make([]int, n+2) // rounds opened less rounds closed, at each place
	for _, r := range l.Rounds() {
		start := l.In.past(r.Start) // an answer may have begun in a stretch that was folded before its calls came
		if r.End > start+1 && !l.In.covered(r.Calls[0].Call.Message) {
			inside[start+1]++
			inside[r.End]--
		}
	}
	ok := make([]bool, n+1)
	depth, open := 0, n
	if l.ThinkFirst {
		open = l.openTurn()
	}
	for i := range ok {
		depth += inside[i]
		tied := i < n && l.Facts()[i].Tied
		ok[i] = depth == 0 && !tied && (i <= open || i == n || l.beginsWithThinking(i))
	}
	return ok
}

// Answers reports whether message i is an answer that may begin a turn.
func (l *Layout) Answers(i int) bool {
	return l.Facts()[i].Role == transcript.RoleAssistant && (!l.ThinkFirst || l.beginsWithThinking(i))
}

func (l *Layout) beginsWithThinking(i int) bool {
	b := l.Facts()[i].Blocks
	return len(b) > 0 && b[0].Kind == transcript.KindThinking
}

// openTurn returns where the turn begins that the newest results belong to; the end of the
// conversation if it does not end with results. Nobody but the model and its tools has
// spoken since, except beside results.
func (l *Layout) openTurn() int {
	facts := l.Facts()
	for end := len(facts); end > 0; {
		start, results := end, false
		for ; start > 0 && facts[start-1].Role != transcript.RoleAssistant; start-- {
			results = results || facts.Has(start-1, transcript.KindToolResult)
		}
		if !results {
			return end
		}
		for end = start; end > 0 && facts[end-1].Role == transcript.RoleAssistant; {
			end--
		}
	}
	return 0
}
