package pleat

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A page is the text of a digest's message: what stands for folded turns. Code writes
// what must survive (the user's words, rules, pins, tasks, the ledger); what the turns
// found out and decided is the narrative, written by a model or, without one, by code.
type page struct {
	Text   string
	By     string // who wrote the narrative: "model" or "code"
	Pins   int    // tokens of pins, rules, the user's words and tasks
	Ledger int    // tokens of what was done
	Total  int    // tokens of all of it
}

// roomOfPage is how many tokens a page may take.
type roomOfPage struct {
	total int
	files int  // for restored files, beyond total
	plain bool // user words and ledger only, if there is no room for more
	most  int  // a page that restores few files grows no larger
}

// restoring says what comes back after a digest.
type restoring struct {
	Files   int
	PerFile int
	Total   int
	State   bool
}

// pageInput is what a page is written from.
type pageInput struct {
	s          *miner
	start, end int // messages it speaks for
	mined      int // the first of them that lines are taken from
	pins       []string
	notes      []Note
	focus      string
	narrative  *narrative // a model's, already verified; nil: by code
	recall     func(handle string) string
	handle     string // of the whole stretch
	room       roomOfPage
	restore    restoring
	thrash     []string // files that come back first
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
func writePage(in pageInput) page {
	in.mined = in.s.minedFrom(in.start, in.end)
	count := in.s.count.CountText
	in.room.plain = in.room.plain && in.room.total < plainRoom
	if in.room.small() {
		files := in.room.files / 8
		if len(in.thrash) > 0 { // these are worth it
			files = in.room.files
		}
		in.room.total, in.room.files = in.room.total+in.room.files-files, files
		in.small = true
	}
	mined := in.mineAhead()
	defer mined()
	opening := fmt.Sprintf("[pleat: messages %d to %d of this conversation are folded. This page stands for them; it was made by a program, not typed by the user.]\n", in.start+1, in.end)
	closing := in.closing()
	told := in.narrative.section()
	room := max(in.room.total-count(opening)-count(closing)-count(told), 0)

	words := in.words(room, count)
	pins := count(words)
	led := in.ledgerPart(room-pins, count)
	ledger := count(led)
	files, state, changes := "", "", ""
	left := room - pins - ledger
	newest := in.newest(min(left/3, newestRoom), count)
	left -= count(newest)
	if in.room.files > 0 {
		files = in.files(in.room.files)
		left = min(left+in.room.files-count(files), in.room.most)
	}
	if !in.room.plain && in.restore.State {
		state = in.openState(left/8, count)
		left -= count(state)
	}
	if !in.room.plain && left > 80 {
		share := min(room/6, left/3)
		if in.small {
			share = min(room/4, left/2)
		}
		mined()
		changes = in.changes(share)
		left -= count(changes)
	}
	said, lines := "", ""
	if !in.room.plain && left > 40 {
		in.elsewhere, in.named = []string{words, files, changes}, led+told
		said, lines = in.story(left)
		left -= count(said) + count(lines)
	}
	if in.small && changes != "" && left > room/20 { // nothing more to say: then to show
		changes = in.changes(min(count(changes)+left, room/2))
	}
	text := joinSections(opening, words, told, said, led, changes, state, lines, files, newest, closing)
	total := count(text)
	by := "code"
	if told != "" {
		by = "model"
	}
	return page{text, by, pins, ledger, total}
}

// small reports whether there is room for a few thousand tokens only.
func (r roomOfPage) small() bool { return r.total < smallRoom && r.total >= plainRoom }

func joinSections(sections ...string) string {
	var b strings.Builder
	for _, s := range sections {
		if s = strings.TrimRight(s, "\n"); s != "" {
			if b.Len() > 0 {
				b.WriteString("\n\n")
			}
			b.WriteString(s)
		}
	}
	return b.String()
}

// words takes two fifths of the page, up to half where there is much to show.
func (in *pageInput) words(room int, count func(string) int) string {
	o := WordsRender{
		UpTo: in.end, Budget: room * 2 / 5, Count: count, Pins: in.pins,
		Skip: func(i int) bool { return i < in.start },
	}
	if in.recall != nil {
		o.Handle = in.s.messageHandle
	}
	p := in.s.words.page(o)
	if p.short() {
		o.Budget = room / 2
		p = in.s.words.page(o)
	}
	return p.String()
}

func (in *pageInput) ledgerPart(room int, count func(string) int) string {
	share := room/8 + 250 // each file once and the latest outcome of each command, no more
	switch {
	case in.room.plain:
		share = room
	case in.small:
		share += 100 // what others were told
	}
	text := in.s.ledger.render(ledgerRender{
		upTo: in.end, budget: max(share, 60), count: count, answer: in.answer, brief: in.small,
	})
	if text == "" {
		return ""
	}
	return "## What was done (tool calls)\n" + text
}

// story is what the turns found out, decided and produced, and lines that show it. Beside a
// model's digest, to which code has added what it misses, it is that of newer turns.
func (in *pageInput) story(room int) (said, lines string) {
	if n := in.narrative; n != nil && n.end > in.start {
		if n.end >= in.end {
			return "", ""
		}
		newer := *in
		newer.start = n.end
		return newer.narrate(room)
	}
	return in.narrate(room)
}

// closing says what the reader can do about what is folded. The recall tools are named only
// where stubs say to use them; a command or a file is a way to the content, and no more.
func (in *pageInput) closing() string {
	const done = "Side effects above happened; do not repeat them."
	if in.recall == nil {
		return done
	}
	way := in.recall(in.handle)
	if way != UnfoldCall(in.handle) {
		return done + " Nothing is lost: the whole stretch is " + way + "."
	}
	return done + ` Nothing is lost: search("words") finds lines in what is folded, unfold("handle") shows it exactly, ledger() lists every call; the whole stretch is ` + way + "."
}

// messageHandle is the address of a message's longest block, which for what a person
// typed is the message.
func (s *conversation) messageHandle(i int) string {
	best := -1
	for b, bf := range s.facts[i].blocks {
		if bf.name != 0 && (best < 0 || int(bf.bytes) > int(s.facts[i].blocks[best].bytes)) {
			best = b
		}
	}
	if best < 0 {
		return ""
	}
	return s.facts[i].blocks[best].name.String()
}

// renderText writes messages start ≤ i < end as text: what unfolding a stretch shows.
// It is a pure function of the messages, so the hash in the fold checks it.
func (s *conversation) renderText(start, end int) string {
	var b strings.Builder
	size := 0
	for i := start; i < end; i++ {
		size += 40
		for _, bf := range s.facts[i].blocks {
			size += int(bf.bytes) + 80
		}
	}
	b.Grow(size)
	s.renderTo(&b, start, end)
	return b.String()
}

// renderTo writes what renderText returns, message by message.
func (s *conversation) renderTo(w io.StringWriter, start, end int) {
	for i := start; i < end; i++ {
		renderMessage(w, i, s.t.At(i))
	}
}

func renderMessage(w io.StringWriter, i int, m Message) {
	w.WriteString("--- message " + strconv.Itoa(i+1) + ", " + string(m.Role()) + "\n")
	for _, blk := range m.Blocks().All() {
		renderBlock(w, blk)
	}
}

func renderBlock(b io.StringWriter, blk Block) {
	switch blk := blk.(type) {
	case Text:
		b.WriteString(blk.Text.String())
	case Thinking:
		if blk.Text.IsEmpty() {
			return
		}
		b.WriteString("(thinking) ")
		b.WriteString(blk.Text.String())
	case ToolCall:
		b.WriteString("(call " + blk.ID + ") " + blk.Name + " ")
		b.WriteString(blk.Input.String())
	case ToolResult:
		word := "result"
		if blk.Error {
			word = "error"
		}
		b.WriteString("(" + word + " of " + blk.CallID + ")\n")
		b.WriteString(blk.Text())
		for _, p := range blk.Parts.All() {
			if p.Kind() != KindText {
				b.WriteString("\n(" + p.Kind().String() + ")")
			}
		}
	case Image:
		b.WriteString("(image " + blk.MediaType + ")")
	case Opaque:
		b.WriteString("(" + blk.Type + ") ")
		b.WriteString(blk.Raw)
	}
	b.WriteString("\n")
}
