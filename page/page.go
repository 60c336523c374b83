package page

import (
	"fmt"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// A page is the text of a digest's message: what stands for folded turns. Code writes
// what must survive (the user's words, rules, pins, tasks, the ledger); what the turns
// found out and decided is the narrative, written by a model or, without one, by code.
type Page struct {
	Text   string
	By     string // who wrote the narrative: "model" or "code"
	Pins   int    // tokens of pins, rules, the user's words and tasks
	Ledger int    // tokens of what was done
	Total  int    // tokens of all of it
}

// roomOfPage is how many tokens a page may take.
type Room struct {
	Total int
	Files int  // for restored files, beyond total
	Plain bool // user words and ledger only, if there is no room for more
	Most  int  // a page that restores few files grows no larger
}

// restoring says what comes back after a digest.
type Restore struct {
	Files   int
	PerFile int
	Total   int
	State   bool
}

// pageInput is what a page is written from.
type Input struct {
	*Miner
	Start, End int // messages it speaks for
	minedStart int // the first of them that lines are taken from
	Pins       []string
	Notes      []transcript.Note
	Focus      string
	Narrative  *conv.Narrative // a model's, already verified; nil: by code
	Recall     func(handle string) string
	Handle     string // of the whole stretch
	Room       Room
	Restore    Restore
	Thrash     []string // files that come back first
	small      bool     // few tokens: no old files
	elsewhere  []string // sections of the page that are written already
	named      string   // the ledger's section: names in it need not be told again
}

// plainRoom is the room below which a plain page has no narrative: one of so few tokens
// says nothing, and the ledger still needs it.
const plainRoom = 600

// smallRoom is the room below which a page spends next to nothing on restored files: one
// read brings a file back as it is now, but nothing brings back in so few tokens what was
// said and what was changed.
const smallRoom = 6_000

// writePage writes a page of at most room tokens, as far as the parts that must survive
// allow: they come first and are cut only by their own published order. What they, the
// ledger, the changes and the restored files leave is the narrative's.
//
// The page reads like a handoff: what the user wants, what was found out and decided, what
// was done and changed, what the agent was working with, how to get at the rest.
func Write(in Input) Page {
	in.minedStart = in.minedFrom(in.Start, in.End)
	count := in.Count.CountText
	in.Room.Plain = in.Room.Plain && in.Room.Total < plainRoom
	if in.Room.small() {
		files := in.Room.Files / 8
		if len(in.Thrash) > 0 { // these are worth it
			files = in.Room.Files
		}
		in.Room.Total, in.Room.Files = in.Room.Total+in.Room.Files-files, files
		in.small = true
	}
	mined := in.mineAhead()
	defer mined()
	opening := fmt.Sprintf("[pleat: messages %d to %d of this conversation are folded. This page stands for them; it was made by a program, not typed by the user.]\n", in.Start+1, in.End)
	closing := in.closing()
	told := in.Narrative.Section()
	room := max(in.Room.Total-count(opening)-count(closing)-count(told), 0)

	words := in.words(room, count)
	pins := count(words)
	led := in.ledgerPart(room-pins, count)
	ledger := count(led)
	files, state, changes := "", "", ""
	left := room - pins - ledger
	newest := in.newest(min(left/3, newestRoom), count)
	left -= count(newest)
	if in.Room.Files > 0 {
		files = in.files(in.Room.Files)
		left = min(left+in.Room.Files-count(files), in.Room.Most)
	}
	if !in.Room.Plain && in.Restore.State {
		state = in.openState(left/8, count)
		left -= count(state)
	}
	if !in.Room.Plain && left > 80 {
		share := min(room/6, left/3)
		if in.small {
			share = min(room/4, left/2)
		}
		mined()
		changes = in.changes(share)
		left -= count(changes)
	}
	said, lines := "", ""
	if !in.Room.Plain && left > 40 {
		in.elsewhere, in.named = []string{words, files, changes}, led+told
		said, lines = in.story(left)
		left -= count(said) + count(lines)
	}
	if in.small && changes != "" && left > room/20 { // nothing more to say: then to show
		changes = in.changes(min(count(changes)+left, room/2))
	}
	text := text.JoinSections(opening, words, told, said, led, changes, state, lines, files, newest, closing)
	total := count(text)
	by := "code"
	if told != "" {
		by = "model"
	}
	return Page{text, by, pins, ledger, total}
}

// small reports whether there is room for a few thousand tokens only.
func (r Room) small() bool { return r.Total < smallRoom && r.Total >= plainRoom }

// words takes two fifths of the page, up to half where there is much to show.
func (in *Input) words(room int, count func(string) int) string {
	o := userwords.Render{
		UpTo: in.End, Budget: room * 2 / 5, Count: count, Pins: in.Pins,
		Skip: func(i int) bool { return i < in.Start },
	}
	if in.Recall != nil {
		o.Handle = in.MessageHandle
	}
	p := in.Words.Page(o)
	if p.Short() {
		o.Budget = room / 2
		p = in.Words.Page(o)
	}
	return p.String()
}

func (in *Input) ledgerPart(room int, count func(string) int) string {
	share := room/8 + 250 // each file once and the latest outcome of each command, no more
	switch {
	case in.Room.Plain:
		share = room
	case in.small:
		share += 100 // what others were told
	}
	text := in.Ledger.RenderWith(ledger.RenderOptions{
		UpTo: in.End, Budget: max(share, 60), Count: count, Answer: in.answer, Brief: in.small,
	})
	if text == "" {
		return ""
	}
	return "## What was done (tool calls)\n" + text
}

// story is what the turns found out, decided and produced, and lines that show it. Beside a
// model's digest, to which code has added what it misses, it is that of newer turns.
func (in *Input) story(room int) (said, lines string) {
	if n := in.Narrative; n != nil && n.End > in.Start {
		if n.End >= in.End {
			return "", ""
		}
		newer := *in
		newer.Start = n.End
		return newer.narrate(room)
	}
	return in.narrate(room)
}

// closing says what the reader can do about what is folded. The recall tools are named only
// where stubs say to use them; a command or a file is a way to the content, and no more.
func (in *Input) closing() string {
	const done = "Side effects above happened; do not repeat them."
	if in.Recall == nil {
		return done
	}
	way := in.Recall(in.Handle)
	if way != conv.UnfoldCall(in.Handle) {
		return done + " Nothing is lost: the whole stretch is " + way + "."
	}
	return done + ` Nothing is lost: search("words") finds lines in what is folded, unfold("handle") shows it exactly, ledger() lists every call; the whole stretch is ` + way + "."
}
