package pleat

import (
	"fmt"
	"strconv"
)

// head is the number of messages that stay verbatim at the start.
func (d *draft) head() int {
	if d.p.Digest.NoHead {
		return d.prompt()
	}
	return d.s.first
}

// prompt is the number of system and developer messages that the conversation begins
// with: on some wires they are the system prompt, which is never touched.
func (d *draft) prompt() int { return d.s.prompt() }

func (s *conversation) prompt() int {
	for i := range s.facts {
		if r := s.facts[i].role; r != RoleSystem && r != RoleDeveloper {
			return i
		}
	}
	return len(s.facts)
}

// maxPage is the most tokens that a page written by code earns: beyond it the newest
// turns are worth more.
const maxPage = 12_000

// pageTokens is the room for a digest's page: about half of a small view.
func (d *draft) pageTokens() int {
	if d.p.Digest.Tokens > 0 {
		return d.p.Digest.Tokens
	}
	goal := d.goal
	if goal == 0 { // as far as the levers go
		goal = d.lim.Target
	}
	free := goal - d.s.head.Total() - d.tokensIn(0, d.head())
	share := free / 2
	if d.digested() { // a model's text beside what code keeps
		share = free * 3 / 5
	}
	room := max(min(share, maxPage), 300)
	if w := d.p.Digest.Words; w > 0 {
		room = min(room, w*4/3) // words of English have about that many tokens
	}
	return room
}

// digest folds the oldest turns into one page. The newest messages stay: at least as
// many as the policy says, more where there is room.
func (d *draft) digest() {
	n := d.s.t.Len()
	start := d.head()
	end := n
	if !d.p.Digest.Whole {
		end = d.digestEnd(start, d.tail(d.p.Digest.Keep), d.pageTokens()+d.restoreRoom())
	}
	if end <= start {
		return // nothing can be folded without cutting a round
	}
	const why = "the oldest turns"
	room := pageRoom{total: d.pageTokens(), files: d.restoreRoom()}
	told := d.s.narrativeFor(end, d.focus)
	if told != nil && told.end > end && told.end <= d.tail(d.p.Digest.Keep) {
		end = d.back(told.end) // what it tells need not be shown as well
	}
	more := d.mark()
	if !d.foldPage(start, end, LeverDigest, why, room) {
		f := d.span(d.widened(start), end, LeverDigest, why)
		f.Before = d.tokensIn(f.Start, f.End)
		d.ask(f, room.total) // code cannot say it in less; a model may
		return
	}
	if d.ask(d.added[len(d.added)-1], room.total); d.need != nil || told != nil || !d.p.Digest.Fill || d.goal-d.total < d.goal/10 {
		return
	}
	// The page needed less than it was given: then more of the newest turns can stay.
	written := d.added[len(d.added)-1].After
	if earlier := more.digestEnd(start, more.tail(d.p.Digest.Keep), written+written/20); earlier > start && earlier < end &&
		more.foldPage(start, earlier, LeverDigest, why, room) && more.total <= d.goal {
		*d = *more
	}
}

// digestEnd picks the place up to which turns are digested: last, or as much earlier as
// the goal allows, so that as many of the newest turns as possible stay beside a page of
// so many tokens.
func (d *draft) digestEnd(start, last, page int) int {
	n := d.s.t.Len()
	if !d.p.Digest.Fill {
		return last
	}
	room := d.goal - d.s.head.Total() - d.tokensIn(0, start) - page
	used := d.tokensIn(last, n)
	for last > start {
		prev := d.back(last - 1)
		if prev < start {
			break
		}
		cost := d.tokensIn(prev, last)
		if used+cost > room {
			break
		}
		used += cost
		last = prev
	}
	if last <= start { // everything would fit: then only the older half goes
		last = d.back(start + (n-start)/2)
	}
	return last
}

func (d *draft) restoreRoom() int {
	r := d.p.Restore
	if r.Files == 0 {
		return 0
	}
	free := d.goal - d.s.head.Total()
	return min(r.Files*r.PerFile, r.Total, d.lim.Window/4, max(free/5, 0))
}

// foldPage folds messages start ≤ i < end into a page.
func (d *draft) foldPage(start, end int, lever Lever, reason string, room pageRoom) bool {
	start = d.widened(start)
	f := d.span(start, end, lever, reason)
	pg := d.page(f, room)
	f.Stub, f.Parts, f.By = pg.text, pg.parts, pg.by
	if format := d.p.Digest.Format; format != "" {
		f.Stub = expand(format, "{n}", strconv.Itoa(end-start), "{summary}", pg.text, "{handle}", f.Handle)
		f.Parts.Digest += d.count(f.Stub) - d.count(pg.text)
	}
	if d.p.Digest.Ack != "" && end < d.s.t.Len() { // a conversation must not end on it
		f.Ack = d.p.Digest.Ack
		f.Parts.Digest += d.count(f.Ack)
	}
	f.Parts.Stubs += d.s.count.CountMessage(User("")) // the message around it
	return d.foldSpan(f)
}

// pageRequest asks for the page that stands for a stretch.
type pageRequest struct {
	start, end int // messages it speaks for
	pins       []string
	notes      []Note
	focus      string
	narrative  *narrative // a model's, already verified; nil: by code
	recall     func(handle string) string
	handle     string // of the whole stretch
	room       pageRoom
	restore    Restore
	thrash     []string // files that come back first
}

// pageRoom is how many tokens a page may take.
type pageRoom struct {
	total int
	files int  // for restored files, beyond total
	plain bool // user words and ledger only, if there is no room for more
}

// writtenPage is a page as a fold shows it.
type writtenPage struct {
	text  string
	parts Parts
	by    string // who wrote the narrative: "model" or "code"
}

// pageWriter writes pages.
type pageWriter interface {
	// write writes a page.
	write(pageRequest) writtenPage
	// restored writes what comes back beside a summary that a model wrote: files, and the
	// state of tasks.
	restored(pageRequest) string
}

// page writes the page for a stretch.
func (d *draft) page(f *Fold, room pageRoom) writtenPage {
	r := pageRequest{
		start: f.Start, end: f.End, pins: d.s.pins(), notes: d.s.notes,
		focus: d.focus, recall: d.recall, handle: f.Handle,
		room: room, restore: d.p.Restore, thrash: d.thrash,
	}
	if n := d.s.narrativeFor(f.End, d.focus); d.p.Digest.Trust && n != nil && n.end == f.End {
		return d.summary(n, r)
	}
	r.narrative = d.narrative(f, room)
	pg := d.s.pages.write(r)
	if w := d.p.Digest.Words; w > 0 {
		if text := firstWords(pg.text, w); text != pg.text {
			pg = writtenPage{text, Parts{Digest: d.count(text)}, pg.by}
		}
	}
	return pg
}

// summary is a model's text as it came, with what the policy restores beside it.
func (d *draft) summary(n *narrative, r pageRequest) writtenPage {
	text := n.text
	if w := d.p.Digest.Words; w > 0 {
		text = firstWords(text, w)
	}
	text = joinSections(text, d.s.pages.restored(r))
	return writtenPage{text, Parts{Digest: d.count(text)}, "model"}
}

// narrative is the model's digest for the page of a stretch, if there is one, the page has
// room for it, and it is shorter than what the view shows of the stretch.
func (d *draft) narrative(f *Fold, room pageRoom) *narrative {
	n := d.s.narrativeFor(f.End, d.focus)
	if n == nil || d.p.Digest.Trust || n.tokens > room.total*5/6 || n.tokens > d.tokensIn(f.Start, f.End)*3/4 {
		return nil
	}
	return n
}

// section is a model's digest as it stands on a page.
func (n *narrative) section() string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf("## Messages %d to %d in short (written by a model; names and numbers checked against them)\n%s", n.start+1, n.end, n.text)
}
