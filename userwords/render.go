package userwords

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/internal/text"
)

// RenderOptions say which of people's words a page shows, and in how much room.
type RenderOptions struct {
	UpTo   int                      // only messages before this one; 0: all
	Budget int                      // tokens; 0: no bound
	Count  func(text string) int    // counts tokens; nil: a quarter of the bytes
	Skip   func(message int) bool   // messages shown in full elsewhere; nil: none
	Handle func(message int) string // address of a message's full text; nil: none
	Pins   []string                 // texts pinned by hand
	// Strict makes the rules in force and the newest message obey the budget too: the
	// oldest rules give way, the message is cut, and the page says so. For the last
	// resort, when nothing else is left to give up.
	Strict bool
}

// Render writes a page of what people said: pins, the rules in force, the rules that were
// taken back and by what, their messages, the task list. Their words are verbatim and
// marked with the message they come from, counted from 1. A message that does not fit
// is cut at its end, with a mark and its handle; what is left out altogether is named.
//
// When room is short it goes, in this order, to the rules in force (always, all), the
// newest message of all (always, whole, if it is one of these), the pins (always, all), the
// task list, the rules that were taken back, messages with rules, other messages from the
// newest to the oldest. Only Strict makes exceptions. So that one long paste does not
// keep out many short messages, older ones first get a share of the room each; what is left
// then goes to those that were cut. It returns "" when there is nothing to show.
func (w *Words) Render(o RenderOptions) string { return w.Page(o).String() }

// Page chooses what there is room for; see [Words.Render].
func (w *Words) Page(o RenderOptions) *Page {
	p := &Page{o: o, room: o.Budget}
	if o.Count == nil {
		p.o.Count = func(s string) int { return (len(s) + 3) / 4 }
	}
	if o.UpTo <= 0 {
		p.o.UpTo = math.MaxInt
	}
	if o.Handle == nil {
		p.o.Handle = func(int) string { return "" }
	}
	p.rules(w)
	said := p.eligible(w)
	if n := len(said); n > 0 {
		newest := said[n-1] == len(w.said)-1 // else newer ones are shown elsewhere
		p.share = o.Budget / lateShares
		p.say(w, said[n-1], newest)
		p.share, said = 0, said[:n-1]
	}
	p.pin()
	p.taskList(w)
	p.withdrawn(w)
	order := byWeight(w, said)
	if p.share = o.Budget / saidShares; p.share > 0 {
		for _, i := range order {
			p.say(w, i, false)
		}
		p.share, p.left = 0, nil
		if o.Budget < fullWords {
			p.share = max(2*o.Budget/saidShares, leastShare)
		}
	}
	for _, i := range order {
		p.say(w, i, false)
	}
	return p
}

// TaskList writes the task list alone, as far as the budget allows.
func (w *Words) TaskList(o RenderOptions) string {
	p := &Page{o: o, room: o.Budget}
	p.taskList(w)
	return p.String()
}

// How the room is shared among older messages.
const (
	saidShares = 12    // each may at first take one part in so many
	lateShares = 3     // the newest of them may take one part in so many
	fullWords  = 4_000 // room from which on a message may be long
	leastShare = 80
)

// Short reports whether some messages did not fit.
func (p *Page) Short() bool { return len(p.left) > 0 }

// Page is a page of what people said, section by section.
type Page struct {
	o        RenderOptions
	room     int
	inForce  []string
	pins     []string
	gone     []string
	tasks    []string
	taskAs   int            // the message that the task list is from
	messages map[int]string // by index into the list of what was said
	cut      map[int]int    // messages that are cut: what they take
	share    int            // tokens that an older message may take; 0: all that is left
	left     []int          // messages that did not fit
}

// fits takes the room that a text needs; without a budget there is always room.
func (p *Page) fits(text string) bool {
	if p.o.Budget <= 0 {
		return true
	}
	n := p.o.Count(text) + 1
	if n > p.room {
		return false
	}
	p.room -= n
	return true
}

// rules are shown whether they fit or not, unless the last resort is reached.
func (p *Page) rules(w *Words) {
	older := 0
	for i := len(w.rules) - 1; i >= 0; i-- {
		c := w.rules[i]
		if c.Message >= p.o.UpTo || !c.InForce() && c.WithdrawnBy < p.o.UpTo {
			continue
		}
		line := ruleLine(c)
		if !p.fits(line) {
			if p.o.Strict {
				older++
				continue
			}
			p.room -= p.o.Count(line) + 1
		}
		p.inForce = append(p.inForce, line)
	}
	slices.Reverse(p.inForce)
	if older > 0 {
		p.inForce = append(p.inForce, fmt.Sprintf("[%d more rules found no room]", older))
	}
}

func ruleLine(c Constraint) string {
	if c.Under != "" {
		return fmt.Sprintf("- message %d, after %q: %s", c.Message+1, text.OneLine(c.Under, 200), verbatim(c.Sentence))
	}
	return fmt.Sprintf("- message %d: %s", c.Message+1, verbatim(c.Sentence))
}

func (p *Page) withdrawn(w *Words) {
	for _, c := range w.rules {
		if c.Message >= p.o.UpTo || c.InForce() || c.WithdrawnBy >= p.o.UpTo {
			continue
		}
		line := fmt.Sprintf("- message %d: %s\n  taken back in message %d: %s", c.Message+1, verbatim(c.Sentence), c.WithdrawnBy+1, verbatim(c.WithdrawnText))
		if p.fits(line) {
			p.gone = append(p.gone, line)
		}
	}
}

func (p *Page) pin() {
	for _, pin := range p.o.Pins { // pins are shown even if they do not fit
		line := "- " + verbatim(pin)
		p.room -= p.o.Count(line) + 1
		p.pins = append(p.pins, line)
	}
}

// eligible lists what was said in the folded part and is not shown elsewhere. Words that
// were typed again, with more after them, are shown once.
func (p *Page) eligible(w *Words) []int {
	var list []int
	for i, s := range w.said {
		if s.Message >= p.o.UpTo || p.o.Skip != nil && p.o.Skip(s.Message) {
			continue
		}
		if i+1 < len(w.said) && w.said[i+1].Message < p.o.UpTo && len(s.Text) > 20 && strings.HasPrefix(w.said[i+1].Text, s.Text) {
			continue
		}
		list = append(list, i)
	}
	return list
}

// byWeight orders messages by what to show first: those with rules, then the newest.
func byWeight(w *Words, list []int) []int {
	var bearing, others []int
	for _, i := range slices.Backward(list) {
		if len(w.said[i].Constraints) > 0 {
			bearing = append(bearing, i)
		} else {
			others = append(others, i)
		}
	}
	return append(bearing, others...)
}

// say shows a message, cut at its end if it does not fit.
func (p *Page) say(w *Words, i int, always bool) {
	if p.messages == nil {
		p.messages, p.cut = make(map[int]string), make(map[int]int)
	}
	taken, again := p.cut[i]
	if _, done := p.messages[i]; done && !again {
		return
	}
	p.room += taken
	delete(p.cut, i)
	if p.share > 0 && !always { // what it may not take is kept for others
		kept := max(p.room-p.share, 0)
		p.room -= kept
		defer func() { p.room += kept }()
	}
	if p.o.Budget <= 0 || len(w.said[i].Text) <= p.room*maxTokenBytes {
		if text := p.saidText(w.said[i], w.said[i].Text, ""); p.fits(text) {
			p.messages[i] = text
			return
		}
	}
	if always && !p.o.Strict { // the newest words are not given up for want of room
		text := p.saidText(w.said[i], w.said[i].Text, "")
		p.room -= p.o.Count(text) + 1
		p.messages[i] = text
		return
	}
	keep := p.cutTo(w.said[i])
	if keep < minKept && !always {
		p.left = append(p.left, w.said[i].Message)
		return
	}
	text := p.saidText(w.said[i], w.said[i].Text[:keep], p.cutMark(w.said[i], keep))
	n := p.o.Count(text) + 1
	p.room -= n
	p.messages[i], p.cut[i] = text, n
}

// minKept is the smallest beginning of a message that is worth showing.
const minKept = 60

// cutTo finds how many bytes of a message fit, by bisection, at a character.
func (p *Page) cutTo(s Said) int {
	low, high := 0, min(len(s.Text), max(p.room, 0)*maxTokenBytes)
	for low < high {
		mid := (low + high + 1) / 2
		n := text.RuneStart(s.Text, mid)
		if p.o.Count(p.saidText(s, s.Text[:n], p.cutMark(s, n)))+1 <= p.room {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return text.RuneStart(s.Text, low)
}

// maxTokenBytes bounds the bytes of a token on average: what is longer cannot fit anyway.
const maxTokenBytes = 16

func (p *Page) cutMark(s Said, keep int) string {
	return p.restAt(s.Message, fmt.Sprintf("[cut here: %d of %d characters shown", utf8.RuneCountInString(s.Text[:keep]), utf8.RuneCountInString(s.Text)))
}

// restAt ends a mark with the handle under which the rest of a message is found.
func (p *Page) restAt(message int, mark string) string {
	if h := p.o.Handle(message); h != "" {
		mark += "; the rest: " + h
	}
	return mark + "]"
}

// saidText writes one message of the page.
func (p *Page) saidText(s Said, text, mark string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- message %d", s.Message+1)
	if s.Via != "" {
		fmt.Fprintf(&b, " (answer to %s)", s.Via)
	}
	if s.Question != "" {
		q := s.Question
		if p.o.Budget > 0 && p.o.Budget < fullQuestions {
			q = shortQuestion(q)
		}
		fmt.Fprintf(&b, ", answering the assistant's:\n  > %s\n  user", strings.ReplaceAll(q, "\n", "\n  > "))
	}
	fmt.Fprintf(&b, ": %s", verbatim(text))
	if mark != "" {
		fmt.Fprintf(&b, "\n  %s", mark)
	}
	if s.RevisedBy >= 0 && s.RevisedBy < p.o.UpTo {
		fmt.Fprintf(&b, "\n  [taken back, at least in part, in message %d]", s.RevisedBy+1)
	}
	return b.String()
}

// Bounds of a question where room is short.
const (
	fullQuestions    = 6_000 // room for words from which on questions are shown as they are
	questionLine     = 140
	shortQuestionMax = 420
)

// shortQuestion clips a question to what an answer needs: the options that it names, which
// come first, and the question itself, which comes last.
func shortQuestion(q string) string {
	if len(q) <= questionLine {
		return q
	}
	var lines []string
	for line := range strings.Lines(q) {
		if line = strings.TrimSpace(line); strings.Trim(line, "-|: ") != "" {
			lines = append(lines, line)
		}
	}
	size := 0
	for i, line := range lines {
		if len(line) > questionLine && i == len(lines)-1 && line[len(line)-1] == '?' {
			from := text.BetweenWords(line, len(line)-questionLine, +1)
			lines[i] = "…" + strings.TrimSpace(line[from:])
		} else {
			lines[i] = text.ClipAround(line, 0, questionLine)
		}
		size += len(lines[i])
	}
	for size > shortQuestionMax && len(lines) > 2 {
		n := len(lines) - 2
		size -= len(lines[n])
		lines = append(lines[:n], lines[n+1])
	}
	return strings.Join(lines, "\n")
}

// verbatim puts a text into a list item without touching it: words of several lines
// go between tags, because indenting them would change them.
func verbatim(text string) string {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "\n") {
		return text
	}
	return "\n<said>\n" + text + "\n</said>"
}

// taskList shows what is open and in progress, and as much of what is done as fits.
func (p *Page) taskList(w *Words) {
	t := w.tasks.state
	if t.Tool != "" && t.Message < p.o.UpTo {
		p.taskAs = t.Message + 1
		for _, status := range [...]TaskStatus{TaskInProgress, TaskOpen, TaskDone, TaskCancelled} {
			for _, it := range t.Items {
				if it.Status != status {
					continue
				}
				if line := "- " + taskWord[status] + ": " + verbatim(it.Text); p.fits(line) {
					p.tasks = append(p.tasks, line)
				}
			}
		}
	}
	if t.Plan != "" && t.PlanMessage < p.o.UpTo {
		p.plan(w, t)
	}
}

// plan shows the beginning of a plan: a fifth of the room, less if the conversation has
// gone on since.
func (p *Page) plan(w *Words, t TaskState) {
	txt, mark, limit := t.Plan, "", maxPlanBytes
	if p.o.Budget > 0 {
		share := 5
		if w.saidSince(t.PlanMessage, p.o.UpTo) > pastPlan {
			share = 15
		}
		limit = min(limit, max(p.o.Budget/share, 60)*4)
	}
	if len(txt) > limit {
		txt, mark = text.CutText(txt, limit), p.restAt(t.PlanMessage, "\n  [cut here")
	}
	if line := fmt.Sprintf("- plan put before the user in message %d: %s%s", t.PlanMessage+1, verbatim(txt), mark); p.fits(line) {
		p.tasks = append(p.tasks, line)
	}
}

// saidSince counts what people said after a message and before another.
func (w *Words) saidSince(from, to int) int {
	n := 0
	for _, s := range w.said {
		if s.Message > from && s.Message < to {
			n++
		}
	}
	return n
}

const (
	maxPlanBytes = 4000
	pastPlan     = 8 // messages of the user after which a plan is history
)

var taskWord = map[TaskStatus]string{
	TaskInProgress: "in progress", TaskOpen: "open", TaskDone: "done", TaskCancelled: "cancelled",
}

// String puts the page together.
func (p *Page) String() string {
	var sections []string
	section := func(title string, lines []string) {
		if len(lines) > 0 {
			sections = append(sections, title+"\n"+strings.Join(lines, "\n")+"\n")
		}
	}
	section("## Pinned", p.pins)
	section("## Rules of the user, in force (verbatim)", p.inForce)
	section("## Rules that the user took back (no longer in force)", p.gone)
	said := make([]string, 0, len(p.messages)+1)
	for _, i := range slices.Sorted(maps.Keys(p.messages)) {
		said = append(said, p.messages[i])
	}
	if len(p.left) > 0 {
		slices.Sort(p.left)
		said = append(said, p.leftOut())
	}
	section("## What the user said (verbatim, oldest first)", said)
	title := "## Task list (the agent's own)"
	if p.taskAs > 0 {
		title = fmt.Sprintf("## Task list (the agent's own, as of message %d; what came later may have finished more)", p.taskAs)
	}
	section(title, p.tasks)
	return strings.Join(sections, "\n")
}

// leftOut names the messages that did not fit: at most a dozen with their handles.
func (p *Page) leftOut() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[not shown for want of room: %d more of the user's messages:", len(p.left))
	for k, m := range p.left {
		if k == 12 {
			fmt.Fprintf(&b, " …")
			break
		}
		fmt.Fprintf(&b, " %d", m+1)
		if h := p.o.Handle(m); h != "" {
			fmt.Fprintf(&b, " (%s)", h)
		}
	}
	b.WriteByte(']')
	return b.String()
}
