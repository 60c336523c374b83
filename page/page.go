// Package page writes the page that stands for folded turns. [Write] writes a whole page,
// [WriteRestored] the files and state that come back beside a summary. Code picks lines and
// quotes them word for word.
package page

import (
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// Page is what stands for folded turns. Code writes what must survive (what the user said,
// pins, tasks, the ledger); the narrative, what the turns found out and decided, is
// written by a model or, without one, by code.
type Page struct {
	Text   string
	By     string // who wrote the narrative: "model" or "code"
	Pins   int    // tokens of pins, what the user said and tasks
	Ledger int    // tokens of what was done
	Total  int    // tokens of all of it
}

// Room is how many tokens a page may take.
type Room struct {
	Total int
	Files int  // for restored files, beyond Total
	Words int  // for what the user typed, if that is more than two fifths of Total
	Plain bool // below plainRoom only what the user said and the ledger
	Most  int  // for a page that does not use the room for files
}

// small reports whether there is room for a few thousand tokens only.
func (r Room) small() bool { return r.Total < conv.SmallPage && r.Total >= plainRoom }

// Restore says what comes back with a page: up to Files files of at most PerFile tokens
// each, and if State is set, what was still going on.
type Restore struct {
	Files   int
	PerFile int
	Total   int
	State   bool
}

// Input is what a page is written from.
type Input struct {
	*Miner         // the conversation
	Start, End int // the messages Start ≤ i < End that the page stands for
	Pins       []string
	Notes      []transcript.Note
	Focus      string
	Narrative  *conv.Narrative            // a model's digest that passed the gate; nil: code writes
	Recall     func(handle string) string // how the model is told to unfold; nil: it cannot
	Handle     string                     // of the whole stretch
	Room       Room
	Restore    Restore
	Thrash     []string // files that were read again after each epoch: they come first

	*stretch
	small     bool     // few tokens: no old files
	beside    bool     // what comes back beside a summary is written, not a page
	elsewhere []string // sections of the page that are written already
	named     string   // text of the page whose names need no line of their own
	told      string   // the section with the model's digest
}

func (in *Input) count(s string) int { return in.Count.CountText(s) }

// Below plainRoom a plain page has no narrative: the ledger needs the room.
const plainRoom = 600

// Write writes a page within its room, as far as the parts that must survive allow. They
// come first; the narrative gets what they, the ledger, the changes and the restored files
// leave.
//
// The page reads like a handoff: what the user wants, what was found out and decided, what
// was done and changed, what the agent was working with, how to get the rest.
func Write(in Input) Page {
	count := in.count
	in.Room.Plain = in.Room.Plain && in.Room.Total < plainRoom
	if in.Room.small() {
		files := in.Room.Files / 8
		if len(in.Thrash) > 0 { // worth it
			files = in.Room.Files
		}
		in.Room.Total, in.Room.Files = in.Room.Total+in.Room.Files-files, files
		in.small = true
	}
	in.told = in.Narrative.Section()
	in.share()
	mined := in.mineAhead()
	defer mined()
	opening := fmt.Sprintf("[pleat: messages %d to %d of this conversation are folded. This page stands for them; it was made by a program, not typed by the user.]\n", in.Start+1, in.End)
	closing := in.closing()
	room := max(in.Room.Total-count(opening)-count(closing)-count(in.told), 0)

	words := in.words(room)
	pins := count(words)
	room = max(room, room*3/5+pins) // what the user typed takes nothing from the rest
	led := in.ledgerPart(room - pins)
	ledger := count(led)
	var files, state, changes, said, lines string
	left := room - pins - ledger
	newest := in.newest(min(left/3, newestRoom))
	left -= count(newest)
	if in.Room.Files > 0 {
		files = in.files(in.Room.Files)
		left = min(left+in.Room.Files-count(files), in.Room.Most)
	}
	if !in.Room.Plain && in.Restore.State {
		state = in.openState(left / 8)
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
	if !in.Room.Plain && left > 40 {
		in.elsewhere, in.named = []string{words, files, changes}, led+in.told
		said, lines = in.story(left)
		left -= count(said) + count(lines)
	}
	if in.small && changes != "" && left > room/20 { // nothing more to say: then to show
		changes = in.changes(min(count(changes)+left, room/2))
	}
	text := text.JoinSections(opening, words, in.told, said, led, changes, state, lines, files, newest, closing)
	by := "code"
	if in.told != "" {
		by = "model"
	}
	return Page{text, by, pins, ledger, count(text)}
}

// words writes what the user said in two fifths of the room, or in what is meant for it if
// that is more, and the task list in an eighth.
func (in *Input) words(room int) string {
	share := room * 2 / 5
	o := userwords.RenderOptions{
		UpTo: in.End, Budget: max(share, in.Room.Words, 1), Pastes: share, Tasks: room / 8, Count: in.count, Pins: in.Pins, Sizes: in.sizes(),
		Skip: func(i int) bool { return i < in.Start },
	}
	if in.Recall != nil {
		o.Handle = in.MessageHandle
	}
	return in.Words.Render(o)
}

func (in *Input) ledgerPart(room int) string {
	share := room/6 + 250 // each file once and the latest outcome of each command
	switch {
	case in.Room.Plain:
		share = room
	case in.told != "": // it says how commands ended
		share = max(room/5, 200)
	case in.small:
		share = room/4 + 300 // what others were told
	}
	o := ledger.RenderOptions{UpTo: in.End, Budget: max(share, 60), Names: max(room/2, share), Count: in.count, Answer: in.answer, Brief: in.small}
	if in.Recall != nil && !in.small && in.Room.Total >= conv.SmallPage { // a small page has better uses for the room
		o.Handle = in.CallHandle
	}
	if in.record == nil {
		in.record = in.Ledger.Record(in.End, in.small)
	}
	text := in.record.Render(o)
	if text == "" {
		return ""
	}
	return "## What was done (tool calls)\n" + text
}

// story writes what the turns found out, decided and produced, and lines that show it. With
// a model's digest it is about the turns after it, or else about what the digest lacks.
func (in *Input) story(room int) (said, lines string) {
	newer := *in
	if n := in.Narrative; n != nil && n.End > in.Start && n.End < in.End {
		newer.Start = n.End
		newer.share()
	}
	return newer.narrate(room)
}

// byNumber reports whether the model can unfold a call by its number.
func (in *Input) byNumber() bool {
	return in.Recall != nil && strings.HasSuffix(in.Recall(in.Handle), conv.UnfoldCall(in.Handle))
}

// closing says how to get back what is folded. It names the recall tools only if the model
// is told to use them.
func (in *Input) closing() string {
	const done = "Side effects above happened; do not repeat them."
	if in.Recall == nil {
		return done
	}
	way := in.Recall(in.Handle)
	if way != conv.UnfoldCall(in.Handle) {
		return done + " Nothing is lost: the whole stretch is " + way + "."
	}
	return done + ` Nothing is lost: search("words") finds folded lines, unfold("handle" or "#call") shows it exactly, ledger() lists every call; the whole stretch is ` + way + "."
}

// restoredState is the least number of tokens for tasks, and for notes and the like, that
// come back beside a summary.
const restoredState = 500

// WriteRestored writes the task list, notes, skills and files that come back beside a
// summary.
func WriteRestored(in Input) string {
	in.beside = true
	in.share()
	tasks, files, state := "", "", ""
	if in.Restore.Files > 0 {
		files = in.files(in.Room.Files)
	}
	if in.Restore.State {
		room := max(in.Room.Total/8, restoredState)
		tasks = in.Words.TaskList(userwords.RenderOptions{UpTo: in.End, Tasks: room, Count: in.count, Handle: in.MessageHandle})
		state = in.openState(room)
	}
	return text.JoinSections(tasks, state, files)
}
