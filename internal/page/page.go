// Package page writes the page that stands for folded turns. A [Writer] writes whole pages, and
// the files and state that come back beside a summary. Code picks lines and quotes them word
// for word.
package page

import (
	"context"
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// Source is a conversation that pages are written from.
type Source interface {
	fold.Source
	Words() *userwords.Words // what people said, and their tasks
	Message(ctx context.Context, i int) (transcript.Message, error)
}

// NewWriter returns a writer of a conversation's pages.
func NewWriter(src Source) *Writer { return &Writer{Source: src} }

// Page writes the page that a fold shows. Code writes what must survive (what the user said,
// pins, tasks, the ledger); the narrative, what the turns found out and decided, is written by
// a model or, without one, by code.
func (m *Writer) Page(ctx context.Context, r fold.PageRequest) (fold.WrittenPage, error) {
	in := m.input(ctx, r)
	p := in.write()
	if in.Err != nil {
		m.Forget()
		return fold.WrittenPage{}, fmt.Errorf("write page: %w", in.Err)
	}
	return p, nil
}

// Restored writes what comes back beside a summary; see [fold.Writer].
func (m *Writer) Restored(ctx context.Context, r fold.PageRequest) (said, rest string, err error) {
	in := m.input(ctx, r)
	said, rest = in.restored()
	if in.Err != nil {
		m.Forget()
		return "", "", fmt.Errorf("restore: %w", in.Err)
	}
	return said, rest, nil
}

// input is what one page is written from.
type input struct {
	*Writer // of the conversation
	fold.PageRequest
	*conv.Reading
	most int // tokens for a page that does not use the room for files

	*stretch
	small     bool     // few tokens: no old files
	beside    bool     // what comes back beside a summary is written, not a page
	elsewhere []string // sections of the page that are written already
	named     string   // text of the page whose names need no line of their own
	told      string   // the section with the model's digest
	skills    []string // whose text the page has
}

func (m *Writer) input(ctx context.Context, r fold.PageRequest) input {
	return input{
		Writer: m, PageRequest: r, Reading: &conv.Reading{Ctx: ctx, From: m.Source}, most: max(fold.MaxPage, r.Room.Total),
	}
}

func (in *input) count(s string) int { return in.Tokens().CountText(s) }

// Start is what every page begins with.
const Start = "[pleat: messages "

// Below plainRoom a plain page has no narrative: the ledger needs the room.
const plainRoom = 600

// write writes a page within its room, as far as the parts that must survive allow. They
// come first; the narrative gets what they, the ledger, the changes and the restored files
// leave.
//
// The page reads like a handoff: what the user wants, what was found out and decided, what
// was done and changed, what the agent was working with, how to get the rest.
func (in *input) write() fold.WrittenPage {
	count := in.count
	in.divide()
	in.told = in.Narrative.Section()
	in.share()
	const heading = Start + "%d to %d of this conversation are folded. " +
		"This page stands for them; it was made by a program, not typed by the user.]\n"
	opening := fmt.Sprintf(heading, in.Start+1, in.End)
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
		left = min(left+in.Room.Files-count(files), in.most)
	}
	if !in.Room.Plain && in.Restore.State {
		state = in.openState(left / 8)
		left -= count(state)
	}
	if !in.Room.Plain && left > 80 {
		changes = in.changes(in.changesRoom(room, left))
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
	rest := max(count(text)-pins-ledger, 0)
	return fold.WrittenPage{Text: text, Parts: fold.Parts{Pins: pins, Ledger: ledger, Digest: rest}, By: by}
}

// divide decides how plain the page is. Where there is room for a few thousand tokens only, restored
// files leave most of theirs to the rest.
func (in *input) divide() {
	r := &in.Room
	r.Plain = r.Plain && r.Total < plainRoom
	in.small = r.Total >= plainRoom && r.Total < fold.SmallPage
	if in.small && len(in.Thrash) == 0 { // files that are read again after every epoch are worth it
		files := r.Files / 8
		r.Total, r.Files = r.Total+r.Files-files, files
	}
}

// changesRoom is what the changes of files get of the room, of which some is left.
func (in *input) changesRoom(room, left int) int {
	if !in.small {
		return min(room/6, left/3)
	}
	share := min(room/4, left/2)
	return max(min(share, left-in.Room.Reported/2), share/2) // long reports tell what changed, and why
}

// words writes what the user said in two fifths of the room, or in what is meant for it if
// that is more, and the task list in an eighth.
func (in *input) words(room int) string {
	share := room * 2 / 5
	o := userwords.RenderOptions{
		UpTo: in.End, Budget: max(share, in.Room.Words, 1), Pastes: share, Tasks: room / 8,
		Count: in.count, Pins: in.Pins,
		Skip: func(i int) bool { return i < in.Start },
	}
	if in.Recall != nil {
		o.Handle = in.Facts().Longest
	}
	if in.told != "" { // it says what short answers answered
		o.Told = in.Narrative.End
	}
	return in.Words().Render(o)
}

const ledgerTitle = "## What was done (tool calls)\n"

func (in *input) ledgerPart(room int) string {
	share := room/6 + 250 // each file once and the latest outcome of each command
	switch {
	case in.Room.Plain:
		share = room
	case in.told != "": // it says how commands ended
		share = max(room/5, 200)
	case in.small:
		share = room/4 + 300 // what others were told
	}
	o := ledger.RenderOptions{
		UpTo: in.End, Budget: max(share, 60), Names: max(room/2, share), Count: in.count, Answer: in.answer,
		Brief: in.small,
	}
	if in.Recall != nil && !in.small && in.Room.Total >= fold.SmallPage { // a small page has better uses for the room
		o.Facts = in.Facts()
	}
	if in.record == nil {
		in.record = in.Ledger().Record(in.End, in.small)
	}
	text := in.record.Render(o)
	if text == "" {
		return ""
	}
	return ledgerTitle + text
}

// story writes what the turns found out, decided and produced, and lines that show it. With
// a model's digest it is about the turns after it, or else about what the digest lacks.
func (in *input) story(room int) (said, lines string) {
	newer := *in
	if n := in.Narrative; n != nil && n.End > in.Start && n.End < in.End {
		newer.Start = n.End
		newer.share()
	}
	return newer.narrate(room)
}

// byNumber reports whether the model can unfold a call by its number.
func (in *input) byNumber() bool {
	return in.Recall != nil && strings.HasSuffix(in.Recall(in.Handle), fold.UnfoldCall(in.Handle))
}

// closing says how to get back what is folded. It names the recall tools only if the model
// is told to use them, by the names that it has for them.
func (in *input) closing() string {
	const done = "Side effects above happened; do not repeat them."
	if in.Recall == nil {
		return done
	}
	way := in.Recall(in.Handle)
	prefix, ok := strings.CutSuffix(way, fold.UnfoldCall(in.Handle))
	if !ok || strings.ContainsAny(prefix, " \n") {
		return done + " Nothing is lost: the whole stretch is " + way + "."
	}
	var tools []string
	for _, t := range []struct{ name, use string }{
		{"search", `("words") finds folded lines`},
		{"unfold", `("handle" or "#call") shows it exactly`},
		{"ledger", "() lists every call"},
	} {
		if in.Named == nil || in.Named(t.name) == prefix+t.name {
			tools = append(tools, prefix+t.name+t.use)
		}
	}
	all := done + " Nothing is lost: " + strings.Join(tools, ", ")
	if in.Handle == "" {
		return all + "."
	}
	return all + "; the whole stretch is " + way + "."
}

// restoredState is the least number of tokens for tasks, for what calls did, and for notes and the like, that
// come back beside a summary.
const restoredState = 500

// restored writes what comes back beside a summary: what people typed, and the rest.
func (in *input) restored() (said, rest string) {
	in.beside = true
	in.share()
	room := max(min(max(in.Room.Total/8, restoredState), in.Room.Total), 1)
	total := in.Room.Files + in.others()
	o := userwords.RenderOptions{
		UpTo: in.End, Budget: max(room, total), Pastes: room, Tasks: max(room, total), Whole: true, Count: in.count,
		Handle: in.Facts().Longest,
		Skip:   func(i int) bool { return !in.Said || i < in.Start },
	}
	tasks, files, loaded, state := "", "", "", ""
	switch {
	case in.Said:
		o.Budget = max(in.Room.Words, room)
		said = in.Words().Render(o) // and the task list
	case in.Restore.State:
		tasks = in.Words().Render(o)
	}
	if in.Restore.Files > 0 {
		total -= in.count(tasks)
		files = in.files(min(in.Room.Files, total))
	}
	if in.Restore.State {
		loaded = in.loaded(total - in.count(files))
		state = in.openState(room)
	}
	did := in.Ledger().Render(ledger.RenderOptions{UpTo: in.End, Budget: room, Count: in.count, Effects: true})
	if did != "" {
		did = ledgerTitle + did
	}
	return said, text.JoinSections(tasks, did, state, loaded, files)
}
