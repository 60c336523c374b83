package fold

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// A Writer writes the pages that replace folded turns. Sessions have one of their own, unless
// their options give another: this package does not know how a page is written.
type Writer interface {
	Page(ctx context.Context, r PageRequest) (WrittenPage, error)
	// Restored writes what follows a summary: what was typed, if the summary may not tell it, and for the rest the
	// task list, what calls did to the world, the agent's state, and files.
	Restored(ctx context.Context, r PageRequest) (said, rest string, err error)
}

// PageRequest asks for the page that replaces a stretch.
type PageRequest struct {
	Start, End int                        // messages it speaks for
	Pins       []string                   // texts that stand on it verbatim; nil: none
	Notes      []transcript.Note          // the agent's; nil: none
	Focus      string                     // what matters most; empty: nothing in particular
	Narrative  *Narrative                 // a model's, already checked; nil: code writes one
	Recall     func(handle string) string // how the model is told to unfold; nil: it cannot
	Handle     string                     // of the whole stretch
	Room       PageRoom
	Restore    Restore  // what comes back on it; zero: nothing
	Thrash     []string // files that the agent keeps reading again: they come back first
	Said       bool     // for Restored: the summary may not tell what people typed in the stretch
	// Owes reports whether a result behind the stretch was folded as being [OnPage]; nil: none was.
	Owes func(ref transcript.BlockRef) bool
}

// OnPage is why a lever folds what a page shows. The pages after it show it too.
const OnPage = "The page shows it"

// PageRoom is how many tokens a page may take.
type PageRoom struct {
	Total  int  // for the page without restored files
	Files  int  // for restored files, beyond Total; 0: none are restored
	Words  int  // for what the user typed, if that is more than two fifths of Total
	Plain  bool // user words and ledger only, if there is no room for more
	Untold bool // without a model's digest: there is no room for it
	Beside bool // beside a client's own summary: without lines of such summaries and of what programs put in
	Seen   bool // without the newest results: whoever reads it has them

	// Reported is how much the assistant told the user: where that is long, it gets more of the page.
	Reported int
}

// WrittenPage is a page as a fold shows it.
type WrittenPage struct {
	Text  string
	Parts Parts
	By    string // who wrote the narrative: "model", "code" or "notes"
}

// Restore says what comes back after a digest.
type Restore struct {
	Files   int `json:"files,omitempty"`    // newest touched files; 0: none
	PerFile int `json:"per_file,omitempty"` // tokens of each; 0: 5,000
	// Tokens, and never more than a quarter of the window; 0: those of all files.
	Total int `json:"total,omitempty"`
	// State brings back notes, loaded skills, and calls of sub-agents without a result. Beside a summary that has room
	// for files, skills come back with their text and sub-agents with their reports, in what tasks and files leave of Total.
	State bool `json:"state,omitempty"`
}

// filled returns r with what its zero fields mean.
func (r Restore) filled() Restore {
	r.PerFile = cmp.Or(r.PerFile, 5_000)
	r.Total = cmp.Or(r.Total, r.Files*r.PerFile)
	return r
}

// Check refuses numbers that make no sense.
func (r Restore) Check() error {
	return CheckNumbers("files, per_file and total of restore", r.Files, r.PerFile, r.Total)
}

// PageStyle says how a lever wants its page.
type PageStyle struct {
	Room    PageRoom // how much it may take
	Restore Restore  // what comes back on it; zero: nothing
	Words   int      // most words; 0: no such limit
	Stub    string   // format around the page: {n}, {summary}, {handle}; empty: the page alone
	Ack     string   // assistant message after it; empty: none
	AsIs    bool     // a model's text takes the place of pleat's page
	// Notes: from so many tokens on, what the agent has noted since the last summary stands for the turns
	// since; if it has fewer, nothing is folded. 0: notes stand for nothing.
	Notes int
	notes string
	Fill  bool // it may take more than the folds that it replaces, up to the goal
}

// pageState is what a draft remembers of its pages.
type pageState struct {
	need  *Need // the digest that a model should be asked for
	last  *Fold // the page that was written last …
	of    Lever // … by which lever …
	style PageStyle
	said  int // tokens that people typed after the head; 0: not counted yet
}

// Pages writes a draft's pages, for levers that fold turns into one.
type Pages struct{ d *Draft }

// Pages returns what writes the draft's pages.
func (d *Draft) Pages() Pages { return Pages{d} }

// Allot shares out the view: so many tokens for the page (0: as many as are worth it), at most
// so many words (0: no such limit), and files that come back.
func (p Pages) Allot(tokens, words int, r Restore) Allotment {
	d := p.d
	n := demand{
		Limits: d.Limits, Goal: d.Goal, Overhead: d.o.Head.Total(), Fixed: d.Fixed(), Said: p.said(),
		Reported: p.reported(),
		Kept:     d.TokensIn(d.Marks().Newest, d.len()), Model: d.o.Model, Page: tokens, Words: words,
		Restore: r.filled(),
	}
	if told := p.Told(d.len()); told != nil {
		n.Told = told.Tokens
	}
	for i := range d.head {
		if d.facts[i].Typed {
			n.Typed += d.TokensIn(i, i+1)
		}
	}
	return allot(n)
}

// said counts what people typed after the head, as pages show it: with a model's digest,
// which tells what they answered, without that.
func (p Pages) said() int {
	d := p.d
	if d.pages.said > 0 {
		return d.pages.said
	}
	const around = 8 // the number of the message
	told := d.o.Model || p.Told(d.len()) != nil
	for _, s := range d.Source.Said() {
		if s.Message < d.head {
			continue
		}
		d.pages.said += d.Count(s.Brief("")) + around
		if !told {
			d.pages.said += d.Count(s.Question)
		}
	}
	return d.pages.said
}

// reported counts what the assistant said to people after the head: its text outside of rounds.
func (p Pages) reported() (n int) {
	rounds := p.d.Source.Rounds()
	for at := p.d.head; at < p.d.len(); at++ {
		for len(rounds) > 0 && rounds[0].End <= at {
			rounds = rounds[1:]
		}
		if len(rounds) > 0 && rounds[0].Start <= at {
			at = rounds[0].End - 1
			continue
		}
		for _, b := range p.d.facts[at].Blocks {
			if b.Kind == transcript.KindText && p.d.facts[at].Role == transcript.RoleAssistant {
				n += int(b.Tokens)
			}
		}
	}
	return n
}

// Beside returns the room of a page that stands for messages start ≤ i < end: with a model's
// digest, what the digest needs and all that the view has left; else the room as given.
func (p Pages) Beside(a Allotment, r PageRoom, start, end int) PageRoom {
	n := p.Told(end)
	if n == nil {
		return r
	}
	return a.beside(r, n.Tokens, p.d.TokensIn(0, start)+p.d.TokensIn(end, p.d.len()))
}

// Fold replaces messages start ≤ i < end by a page, if that makes the view smaller, and returns
// the fold, else nil. Beside a summary, fewer files and less else come back where all of it would take more
// than it replaces; a page in a summary's place becomes shorter.
func (p Pages) Fold(ctx context.Context, start, end int, l Lever, reason string, style PageStyle) (*Fold, error) {
	const leastFiles = 500 // tokens
	d := p.d
	if style.Notes > 0 {
		var since int
		if style.notes, since = p.notes(end, style.Notes); style.notes == "" {
			return nil, nil
		}
		start = max(start, since)
	}
	if start, end = d.Fit(start, end); end <= start {
		return nil, nil
	}
	for {
		f, err := p.fold(ctx, start, end, l, reason, style)
		if err != nil {
			return nil, err
		}
		if f != nil {
			d.pages.last, d.pages.of, d.pages.style = f, l, style
			return f, nil
		}
		switch {
		case !style.AsIs:
			return nil, nil
		case style.Room.Files > 0:
			if style.Room.Files /= 2; style.Room.Files < leastFiles {
				style.Room.Files = 0
			}
		case style.Room.Total == 0:
			return nil, nil
		default:
			if style.Room.Total = min(style.Room.Total, d.TokensIn(start, end)) / 2; style.Room.Total < leastPage {
				style.Room.Total = 0
			}
			if style.Room.Total == 0 && p.summary(end, style) == nil {
				return nil, nil
			}
		}
	}
}

func (p Pages) fold(ctx context.Context, start, end int, l Lever, reason string, style PageStyle) (*Fold, error) {
	d := p.d
	f, err := d.Span(ctx, start, end, l, reason)
	if err != nil {
		return nil, err
	}
	pg, said, rest, err := p.write(ctx, f, style)
	if err != nil {
		return nil, err
	}
	f.Stub, f.Parts, f.By = pg.Text, pg.Parts, pg.By
	if style.Stub != "" {
		f.Stub = Expand(style.Stub, "{n}", strconv.Itoa(f.End-f.Start), "{summary}", pg.Text, "{handle}", f.Handle)
	}
	if said != "" {
		f.Stub = text.JoinSections(f.Stub, said)
	}
	if rest != "" {
		f.Own, f.Stub = len(f.Stub), text.JoinSections(f.Stub, rest)
	}
	f.Parts.Digest += d.Count(f.Stub) - d.Count(pg.Text)
	if style.Ack != "" && !d.behindSystem(start) && (end == d.len() || !d.facts.System(end)) {
		f.Ack = style.Ack
		if next := d.lay.In.past(f.End); next == d.len() || d.facts[next].Role == transcript.RoleAssistant {
			f.Then = goOn
		}
		f.Parts.Digest += d.Count(f.Ack) + d.Count(f.Then)
	}
	f.Parts.Stubs += d.Source.Tokens().CountMessage(transcript.User("")) // the message around it
	if !d.foldSpan(f, f.Parts, style.Fill) {
		return nil, nil
	}
	return f, nil
}

// goOn follows an acknowledgement where nobody but the assistant would speak next.
const goOn = "Continue."

// Fill writes the newest page once more, with what the view has left beside it.
func (p Pages) Fill(ctx context.Context) error {
	var (
		worth = part{1, 20} // of the goal: less room is not worth another page
		most  = part{9, 10} // of what is left
	)
	tries := 2 // what the user said may take more than was left
	d := p.d
	f, of := d.pages.last, d.pages.of
	if f == nil || !d.lay.In.has(f) || d.pages.need != nil || d.pages.style.AsIs {
		return nil
	}
	if f.By == "model" {
		worth, tries = part{1, 50}, 6 // not all that is given is used, but the digest gave way to it
	}
	for try := 1; try <= tries; try++ {
		if left := d.Goal - d.total; left >= worth.take(d.Goal) {
			style := d.pages.style
			style.Fill = true
			style.Room.Total += most.take(left) / try
			if _, err := p.Fold(ctx, f.Start, f.End, of, f.Reason, style); err != nil {
				return err
			}
		}
	}
	return nil
}

// summary is the text that stands for a stretch as it came, by a model or by the agent's notes; nil: there is none.
func (p Pages) summary(end int, style PageStyle) *Narrative {
	if style.notes != "" {
		return &Narrative{Text: style.notes, Partial: true}
	}
	if n := p.Told(end); style.AsIs && n != nil && n.End == end {
		return n
	}
	return nil
}

// write writes the page of a fold, and what follows it if it is a summary.
func (p Pages) write(ctx context.Context, f *Fold, style PageStyle) (pg WrittenPage, said, rest string, err error) {
	d := p.d
	r := PageRequest{
		Start: f.Start, End: f.End, Pins: d.o.Pins, Notes: d.o.Notes, Focus: d.Focus, Recall: d.o.Recall,
		Handle: f.Handle, Room: style.Room, Restore: style.Restore.filled(), Thrash: d.Reread,
		Owes: func(ref transcript.BlockRef) bool {
			f := d.lay.In.Block(ref)
			return f != nil && f.Reason == OnPage
		},
	}
	if n := p.summary(f.End, style); n != nil {
		by := "model"
		if style.notes != "" {
			r.Notes, by = nil, "notes"
		}
		r.Said = n.Partial
		said, rest, err = d.o.Pages.Restored(ctx, r)
		return WrittenPage{n.Text, Parts{Digest: d.Count(n.Text)}, by}, said, rest, err
	}
	r.Narrative = p.narrative(f, style)
	pg, err = d.o.Pages.Page(ctx, r)
	if style.Words > 0 {
		if short := firstWords(pg.Text, style.Words); short != pg.Text {
			pg = WrittenPage{short, Parts{Digest: d.Count(short)}, pg.By}
		}
	}
	return pg, "", "", err
}

// firstWords cuts a page after its first n words. A heading with nothing under it goes too: half of
// one is not a heading of ours.
func firstWords(page string, n int) string {
	short := text.FirstWords(page, n)
	if i := strings.LastIndex(short, "\n## "); short != page && i >= 0 && !strings.Contains(short[i+1:], "\n") {
		return strings.TrimRight(short[:i], "\n") + "\n…"
	}
	return short
}

// narrative is the model's digest for the page of a stretch, if there is one, the page has
// room for it, and it is shorter than what the view shows of the stretch.
func (p Pages) narrative(f *Fold, style PageStyle) *Narrative {
	var (
		longer  = part{6, 5}  // than the page that it was asked for
		shorter = part{9, 10} // than what it replaces
	)
	n, shown := p.Told(f.End), p.d.TokensIn(f.Start, f.End)
	if page := p.d.pages.last; page != nil && p.d.lay.In.has(page) && f.Start <= page.Start && page.End <= f.End {
		shown += page.Before - page.After // it is written once more: what it replaces, not itself
	}
	if n == nil || style.AsIs || style.Room.Untold || n.Tokens > longer.take(style.Room.Total) ||
		n.Tokens > shorter.take(shown) {
		return nil
	}
	return n
}

// A plan that would be better with a model's digest has a [Need] beside the page that code
// wrote. The session asks a model, checks and stores the text, and plans again; then the
// draft finds the text with Told. A plan whose need nobody answers is complete as it is.

// Told returns the newest digest by a model that a page of messages before end can use; nil
// if there is none. One that was written with a focus is used with that focus only.
func (p Pages) Told(end int) *Narrative {
	d := p.d
	for i := len(d.o.Told) - 1; i >= 0; i-- {
		if n := &d.o.Told[i]; n.Focus == d.Focus && n.Start < end && n.End <= d.len() {
			return n
		}
	}
	return nil
}

// notes returns what the agent has noted since the last summary, and where that ends; no text if less than so many
// tokens of it were noted after what people asked last before end: of that it says nothing.
func (p Pages) notes(end, least int) (txt string, since int) {
	for f := range p.d.Folds().In(0, p.d.len()) {
		if f.Digest {
			since = max(since, f.End)
		}
	}
	asked, newer := p.d.lastTyped(end), 0
	for _, n := range p.d.o.Notes {
		if n.At < since {
			continue
		}
		line := n.Key + ": " + n.Text + "\n"
		if txt += line; n.At > asked {
			newer += p.d.Count(line)
		}
	}
	if newer < least {
		return "", since
	}
	return txt, since
}

// leastUpdate is the least number of tokens of new turns for which a digest is asked.
const leastUpdate = 1_000

// leastSummed is the least number of tokens of turns that a summary is shorter than.
const leastSummed = 30

// fresh reports whether a digest makes another one unnecessary: it was written since the
// last epoch, or covers nearly everything. Code tells what came after it.
func (p Pages) fresh(n *Narrative, end int, ask Ask) bool {
	if n == nil || ask.AsIs {
		return n != nil && n.End == end
	}
	if n.End >= end || !n.Old {
		return true
	}
	missing := 0
	for i := n.End; i < end; i++ {
		for b := range p.d.facts[i].Blocks {
			missing += int(p.d.facts[i].Blocks[b].Tokens)
		}
	}
	return missing < leastUpdate
}

// Ask records that a model should write the digest of messages start ≤ i < end, on which the
// view spends so many tokens, for a page of the Allotment. It does nothing if no model can be
// asked or a recent digest will do. It reports whether a model is to be asked.
func (p Pages) Ask(a Allotment, start, end, shown int, ask Ask) bool {
	d := p.d
	start, end = d.within(start, end)
	if !d.o.Model || end <= start || p.fresh(p.Told(end), end, ask) || shown < leastUpdate && !ask.AsIs {
		return d.pages.need != nil // turns of less than leastUpdate are as short as a digest
	}
	if ask.AsIs && (shown < leastSummed || d.barsSpan(start, end, true) != "") {
		return false // it would be paid for and thrown away
	}
	room := a.Page.Total
	if ask.AsIs && a.d.Page == 0 {
		room = 0 // a summary is as long as the model makes it
	}
	spare := 0
	if !ask.AsIs {
		shorter := part{3, 5} // than what it replaces
		most := shorter.take(shown)
		room = min(a.digest(room), most)
		spare = max(min(a.beyond(room), most-room), 0)
	}
	in := d.lay.In.clone()
	if ask.AsIs {
		in = d.lay.In.own()
	}
	d.pages.need = &Need{start, end, room, spare, d.Focus, ask, in}
	return true
}
