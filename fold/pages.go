package fold

import (
	"errors"
	"strconv"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
)

// A Writer writes the pages that stand for folded turns. The session passes one in: this
// package does not know how a page is written.
type Writer interface {
	Page(PageRequest) WrittenPage
	// Restored writes what comes back beside a summary: files, and the state of tasks.
	Restored(PageRequest) string
}

// PageRequest asks for the page that replaces a stretch.
type PageRequest struct {
	Start, End int // messages it speaks for
	Pins       []string
	Notes      []transcript.Note
	Focus      string
	Narrative  *conv.Narrative // a model's, already checked; nil: code writes one
	Recall     func(handle string) string
	Handle     string // of the whole stretch
	Room       PageRoom
	Restore    Restore
	Thrash     []string // files that the agent keeps reading again: they come back first
}

// PageRoom is how many tokens a page may take.
type PageRoom struct {
	Total int
	Files int  // for restored files, beyond Total
	Words int  // for what the user typed, if that is more than two fifths of Total
	Plain bool // user words and ledger only, if there is no room for more

	Untold bool // without a model's digest: there is no room for it
}

// WrittenPage is a page as a fold shows it.
type WrittenPage struct {
	Text  string
	Parts Parts
	By    string // who wrote the narrative: "model" or "code"
}

// Restore says what comes back after a digest.
type Restore struct {
	Files   int  `json:"files,omitempty"`    // newest touched files
	PerFile int  `json:"per_file,omitempty"` // tokens
	Total   int  `json:"total,omitempty"`    // tokens, and never more than a quarter of the window
	State   bool `json:"state,omitempty"`    // notes, loaded skills, calls of sub-agents without a result
}

// Check refuses negative numbers.
func (r Restore) Check() error {
	if r.Files < 0 || r.PerFile < 0 || r.Total < 0 {
		return errors.New("files, per_file and total of restore must not be negative")
	}
	return nil
}

// MaxPage is the most tokens that a page written by code is worth: beyond it the newest
// turns are worth more.
const MaxPage = 12_000

// PageStyle says how a lever wants its page.
type PageStyle struct {
	Room    PageRoom
	Restore Restore
	Words   int    // most words; 0: no such limit
	Stub    string // format around the page: {n}, {summary}, {handle}; empty: the page alone
	Ack     string // assistant message after it; empty: none
	AsIs    bool   // a model's text takes the place of pleat's page
	Fill    bool   // it may take more than the folds that it replaces, up to the goal
}

// FoldPage replaces messages start ≤ i < end by a page, if that makes the view smaller. Beside
// a summary, fewer files come back where all of them would take more than they replace.
func (d *Draft) FoldPage(start, end int, l Lever, reason string, style PageStyle) bool {
	start = d.Widened(start)
	if end = d.Joined(start, end); end <= start {
		return false
	}
	for !d.foldPage(start, end, l, reason, style) {
		if !style.AsIs || style.Room.Files == 0 {
			return false
		}
		if style.Room.Files /= 2; style.Room.Files < 500 {
			style.Room.Files = 0
		}
	}
	d.pageOf, d.style = l, style
	return true
}

// FillPage writes the newest page once more, with what the view has left beside it. A page
// with a model's digest has that already.
func (d *Draft) FillPage() {
	f := d.LastPage()
	if f == nil || f.By == "model" || d.Asked() || d.style.AsIs {
		return
	}
	for part := 1; part <= 2; part++ { // what the user said may take more than was left
		if left := d.Goal - d.total; left >= d.Goal/20 {
			style := d.style
			style.Fill = true
			style.Room.Total += left * 9 / 10 / part
			d.FoldPage(f.Start, f.End, d.pageOf, f.Reason, style)
		}
	}
}

// LastPage returns the newest page of the draft; nil: there is none, or something else has
// taken its place.
func (d *Draft) LastPage() *Fold {
	for _, f := range d.in.spans {
		if d.pageOf != nil && f.Lever == d.pageOf.Name() && f.ID > len(d.s.Folds) {
			return f
		}
	}
	return nil
}

func (d *Draft) foldPage(start, end int, l Lever, reason string, style PageStyle) bool {
	f := d.Span(start, end, l, reason)
	pg := d.page(f, style)
	f.Stub, f.Parts, f.By = pg.Text, pg.Parts, pg.By
	if style.Stub != "" {
		f.Stub = Expand(style.Stub, "{n}", strconv.Itoa(f.End-f.Start), "{summary}", pg.Text, "{handle}", f.Handle)
		f.Parts.Digest += d.Count(f.Stub) - d.Count(pg.Text)
	}
	if style.Ack != "" && !d.behindSystem(start) && (end == d.Len() || !d.s.isSystem(end)) {
		f.Ack = style.Ack
		if end == d.Len() {
			f.Then = goOn
		}
		f.Parts.Digest += d.Count(f.Ack) + d.Count(f.Then)
	}
	f.Parts.Stubs += d.s.Count.CountMessage(transcript.User("")) // the message around it
	return d.foldSpan(f, style.Fill)
}

// goOn follows an acknowledgement that the conversation would end on.
const goOn = "Continue."

// Page writes the page for a stretch into its fold.
func (d *Draft) Page(f *Fold, style PageStyle) {
	pg := d.page(f, style)
	f.Stub, f.Parts, f.By = pg.Text, pg.Parts, pg.By
}

func (d *Draft) page(f *Fold, style PageStyle) WrittenPage {
	r := PageRequest{
		Start: f.Start, End: f.End, Pins: d.s.Pinned, Notes: d.s.Notes, Focus: d.Focus, Recall: d.s.Recall, Handle: f.Handle,
		Room: style.Room, Restore: style.Restore, Thrash: d.reread,
	}
	if n := d.Told(f.End); style.AsIs && n != nil && n.End == f.End {
		whole := n.Text
		if style.Words > 0 {
			whole = text.FirstWords(whole, style.Words)
		}
		whole = text.JoinSections(whole, d.s.pages.Restored(r))
		return WrittenPage{whole, Parts{Digest: d.Count(whole)}, "model"}
	}
	r.Narrative = d.narrative(f, style)
	pg := d.s.pages.Page(r)
	if style.Words > 0 {
		if short := text.FirstWords(pg.Text, style.Words); short != pg.Text {
			pg = WrittenPage{short, Parts{Digest: d.Count(short)}, pg.By}
		}
	}
	return pg
}

// narrative is the model's digest for the page of a stretch, if there is one, the page has
// room for it, and it is shorter than what the view shows of the stretch.
func (d *Draft) narrative(f *Fold, style PageStyle) *conv.Narrative {
	n := d.Told(f.End)
	if n == nil || style.AsIs || style.Room.Untold || n.Tokens > style.Room.Total*6/5 || n.Tokens > d.TokensIn(f.Start, f.End)*9/10 {
		return nil
	}
	return n
}

// PageSize returns how many tokens a page may come to in so much room: what the user typed
// may take more than two fifths of it, or of what a model's digest leaves.
func (d *Draft) PageSize(r PageRoom) int {
	told, words := 0, d.saidTokens()
	if n := d.Told(d.Len()); n != nil {
		told = n.Tokens
	} else if d.model {
		told = d.narrativeRoom(r.Total, Ask{})
	}
	rest := r.Total - told
	if told > 0 {
		words = d.shownWords()
		if r.Total < conv.SmallPage {
			rest += r.Files
		}
	}
	return r.Total + r.Files + max(min(words, r.Words)-max(rest, 0)*2/5, 0) - min(rest, 0)
}

// PageLeft returns the room of a page that stands for messages start ≤ i < end: with a model's
// digest, what the digest needs and all that the view has left; else the room as given.
func (d *Draft) PageLeft(r PageRoom, start, end int) PageRoom {
	n := d.Told(end)
	if n == nil {
		return r
	}
	const around = 400 // the page's first and last lines, and the least that the ledger takes
	words := min(d.shownWords(), r.Words)
	rest := max(d.goal()-d.Overhead()-d.TokensIn(0, start)-d.TokensIn(end, d.Len())-n.Tokens-words-around, 0)
	r.Files = min(r.Files, rest)
	rest -= r.Files
	r.Total = n.Tokens + min(rest+words, rest*5/3, MaxPage) // words may take more than two fifths of it
	return r
}

// shownWords is about how many tokens what people typed takes on a page, with its marks.
func (d *Draft) shownWords() int { return d.saidTokens() * 4 / 3 }

// WordsRoom returns how many tokens a page may spend on what the user typed: a third of the
// view, and a fifth more for the numbers of the messages and the questions they answer. No
// more than two thirds of what the system prompt and the tools leave. Beside a model's
// digest, what they typed in the head is part of the third, and the fifth is there only if
// the digest has half of the view without it.
func (d *Draft) WordsRoom() int {
	goal := d.goal()
	most := min(goal*2/5, max(goal-d.Overhead(), 0)*2/3)
	if !d.ByModel() {
		return most
	}
	typed := 0
	for i := range d.Head() {
		if d.Message(i).Typed {
			typed += d.TokensIn(i, i+1)
		}
	}
	return max(min(most, goal/3)-typed, min(most-typed, d.afford()-d.halfView()), goal/16)
}

// halfView is what a model's digest may have of a view at least: half of what the system
// prompt and the tools leave, but no more than models write.
func (d *Draft) halfView() int { return min((d.goal()-d.Overhead())/2, mostDigest) }

// mostDigest is the most tokens that a model is asked for.
const mostDigest = 10_000

// afford is how many tokens a model's digest and what people typed may have between them:
// five sixths of what is free, since the digest may become a fifth longer than it should.
func (d *Draft) afford() int { return (d.goal() - d.Fixed()) * 5 / 6 }

// saidTokens counts what people typed after the head, as pages show it.
func (d *Draft) saidTokens() int {
	if d.said > 0 {
		return d.said
	}
	const around = 8 // the number of the message
	for _, s := range d.s.Words.Said() {
		if s.Message >= d.Head() {
			d.said += d.Count(s.Brief("")) + d.Count(s.Question) + around
		}
	}
	return d.said
}

// RestoreRoom returns how many tokens restored files may take.
func (d *Draft) RestoreRoom(r Restore) int {
	if r.Files == 0 {
		return 0
	}
	free := d.Goal - d.s.Head.Total()
	return min(r.Files*r.PerFile, r.Total, d.Limits.Window/4, max(free/5, 0))
}

// A plan that would be better with a model's digest has a [Need] beside the page that code
// wrote. The session asks a model, checks and stores the text, and plans again; then the
// draft finds the text with Told. A plan whose need nobody answers is complete as it is.

// Narrated adds a stored digest by a model. It ignores one that was written for other
// messages than these.
func (s *Folding) Narrated(n conv.Narrative) {
	if n.Text == "" || n.Start < 0 || n.End > s.Transcript.Len() || n.Start >= n.End || s.SourceHash(n.Start, n.End) != n.Source {
		return
	}
	s.Told = append(s.Told, n)
	if len(s.Told) > keptNarratives {
		s.Told = s.Told[1:]
	}
}

// keptNarratives is how many digests are remembered: the newest is used, the one before
// it may be the last that fits a focus.
const keptNarratives = 4

// Told returns the newest digest by a model that a page of messages before end can use; nil
// if there is none. One that was written with a focus is used with that focus only.
func (d *Draft) Told(end int) *conv.Narrative {
	for i := len(d.s.Told) - 1; i >= 0; i-- {
		if n := &d.s.Told[i]; n.Focus == d.Focus && n.Start < end && n.End <= d.Len() {
			return n
		}
	}
	return nil
}

// ByModel reports whether there is a digest by a model, or a model can be asked for one.
func (d *Draft) ByModel() bool { return d.model || d.Told(d.Len()) != nil }

// leastUpdate is the least number of tokens of new turns for which a digest is asked.
const leastUpdate = 1_000

// fresh reports whether a digest makes another one unnecessary: it was written since the
// last epoch, or covers nearly everything. Code tells what came after it.
func (d *Draft) fresh(n *conv.Narrative, end int, ask Ask) bool {
	if n == nil || ask.AsIs {
		return n != nil && n.End == end
	}
	if n.End >= end || n.Seq > d.s.EpochSeq {
		return true
	}
	missing := 0
	for i := n.End; i < end; i++ {
		for b := range d.s.Facts[i].Blocks {
			missing += int(d.s.Facts[i].Blocks[b].Tokens)
		}
	}
	return missing < leastUpdate
}

// Ask records that a model should write the digest of a stretch whose page has so many
// tokens. It does nothing if no model can be asked or a recent digest will do.
func (d *Draft) Ask(f *Fold, page int, ask Ask) {
	if !d.model || d.fresh(d.Told(f.End), f.End, ask) || f.Before < leastUpdate && !ask.AsIs {
		return // turns of less than leastUpdate are as short as a digest
	}
	d.need = &Need{f.Start, f.End, d.narrativeRoom(page, ask), d.Focus, ask}
	if !ask.AsIs {
		d.need.Room = min(d.need.Room, f.Before*3/5)
	}
}

// Asked reports whether a model should be asked for a digest.
func (d *Draft) Asked() bool { return d.need != nil }

// NeedOf returns the need for a digest of messages start ≤ i < end on a page of so many
// tokens; nil if a recent digest will do.
func (d *Draft) NeedOf(start, end, page int, ask Ask) *Need {
	if end <= start || d.fresh(d.Told(end), end, ask) {
		return nil
	}
	return &Need{Start: start, End: end, Room: d.narrativeRoom(page, ask), Ask: ask}
}

// narrativeRoom is how many tokens a model's digest may have on a page: as many as the page,
// which has files and the user's words beyond them, but no more than models write, and no
// more than these words leave.
func (d *Draft) narrativeRoom(page int, ask Ask) int {
	if ask.AsIs {
		return page
	}
	words := min(d.shownWords(), d.WordsRoom())
	return max(min(page, mostDigest, d.afford()-words), page/2, 200)
}

// goal is how many tokens the view should have.
func (d *Draft) goal() int {
	if d.Goal == 0 { // as far as the levers go
		return d.Limits.Target
	}
	return d.Goal
}

// NeedAhead returns the digest that the next epoch will need when it comes at red; nil if
// it will need none.
func (s *Folding) NeedAhead(p *Policy, o PlanOptions) *Need {
	o.Trigger = TriggerRed
	d := newDraft(s, p, o)
	ahead := max(o.Limits.Red-d.total, 0)
	for _, l := range p.AtRed {
		a, ok := l.(Asker)
		switch {
		case d.done:
			return nil
		case !ok:
			goal := d.Goal
			d.Goal = 0 // as far as it goes
			if l.Pull(d); d.Goal == 0 {
				d.Goal = goal
			}
		default:
			return a.Ahead(d, ahead)
		}
	}
	return nil
}

// EnoughAhead reports whether what is folded so far will be enough once the view has so many
// more tokens, which shrink as much, and will not hide more than one part in so many of the
// goal; 0: any amount.
func (d *Draft) EnoughAhead(tokens, part int) bool {
	before := d.s.Parts.Total()
	return d.total+tokens*d.total/max(before, 1) <= d.Goal && (part == 0 || before+tokens-d.Goal <= d.Goal/part)
}

// NotesSayEnough reports whether the agent's notes, the user's words and the ledger name
// nearly everything that the assistant spoke of more than once in a stretch: then a
// summary would only repeat them.
func (s *Folding) NotesSayEnough(start, end int) bool {
	if len(s.Notes) == 0 {
		return false
	}
	told := make(map[uint64]bool)
	tell := func(txt string) {
		for _, a := range text.AppendAnchors(nil, txt) {
			told[a.Hash] = true
		}
	}
	size := 0
	for _, n := range s.Notes {
		tell(n.Text)
		size += len(n.Text)
	}
	for _, w := range s.Words.Said() {
		tell(w.Text)
	}
	tell(s.Ledger.Render(ledger.RenderOptions{UpTo: end, Budget: 2_000, Count: s.Count.CountText}))
	spoken := make(map[uint64]int)
	for i := start; i < end; i++ {
		if s.Facts[i].Role == transcript.RoleAssistant {
			for _, a := range text.AppendAnchors(nil, s.Transcript.At(i).Text()) {
				spoken[a.Hash]++
			}
		}
	}
	names, known := 0, 0
	for h, n := range spoken {
		if n > 1 {
			names++
			if told[h] {
				known++
			}
		}
	}
	return size >= leastNotes && known*10 >= names*9
}

// leastNotes is the least number of bytes of notes that can stand for a digest.
const leastNotes = 400
