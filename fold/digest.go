package fold

import (
	"strconv"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// head is the number of messages that stay verbatim at the start.
func (d *Draft) head() int {
	if d.p.Digest.NoHead {
		return d.prompt()
	}
	return d.s.First
}

// prompt is the number of system and developer messages that the conversation begins
// with: on some wires they are the system prompt, which is never touched.
func (d *Draft) prompt() int { return d.s.Prompt() }

// maxPage is the most tokens that a page written by code earns: beyond it the newest
// turns are worth more.
const MaxPage = 12_000

// pageTokens is the room for a digest's page: about half of a small view.
func (d *Draft) pageTokens() int {
	if d.p.Digest.Tokens > 0 {
		return d.p.Digest.Tokens
	}
	goal := d.goal
	if goal == 0 { // as far as the levers go
		goal = d.lim.Target
	}
	free := goal - d.s.Head.Total() - d.tokensIn(0, d.head())
	share := free / 2
	if d.digested() { // a model's text beside what code keeps
		share = free * 3 / 5
	}
	room := max(min(share, MaxPage), 300)
	if w := d.p.Digest.Words; w > 0 {
		room = min(room, w*4/3) // words of English have about that many tokens
	}
	return room
}

// digest folds the oldest turns into one page. The newest messages stay: at least as
// many as the policy says, more where there is room.
func (d *Draft) digest() {
	n := d.s.Transcript.Len()
	start := d.head()
	end := n
	if !d.p.Digest.Whole {
		end = d.digestEnd(start, d.tail(d.p.Digest.Keep), d.pageTokens()+d.restoreRoom())
	}
	if end <= start {
		return // nothing can be folded without cutting a round
	}
	const why = "the oldest turns"
	room := PageRoom{Total: d.pageTokens(), Files: d.restoreRoom()}
	told := d.s.narrativeFor(end, d.focus)
	if told != nil && told.End > end && told.End <= d.tail(d.p.Digest.Keep) {
		end = d.back(told.End) // what it tells need not be shown as well
	}
	more := d.mark()
	if !d.foldPage(start, end, LeverDigest, why, room) {
		f := d.span(d.widened(start), end, LeverDigest, why)
		f.Before = d.tokensIn(f.Start, f.End)
		d.ask(f, room.Total) // code cannot say it in less; a model may
		return
	}
	if d.ask(d.added[len(d.added)-1], room.Total); d.need != nil || told != nil || !d.p.Digest.Fill || d.goal-d.total < d.goal/10 {
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
func (d *Draft) digestEnd(start, last, page int) int {
	n := d.s.Transcript.Len()
	if !d.p.Digest.Fill {
		return last
	}
	room := d.goal - d.s.Head.Total() - d.tokensIn(0, start) - page
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

func (d *Draft) restoreRoom() int {
	r := d.p.Restore
	if r.Files == 0 {
		return 0
	}
	free := d.goal - d.s.Head.Total()
	return min(r.Files*r.PerFile, r.Total, d.lim.Window/4, max(free/5, 0))
}

// foldPage folds messages start ≤ i < end into a page.
func (d *Draft) foldPage(start, end int, lever Lever, reason string, room PageRoom) bool {
	start = d.widened(start)
	f := d.span(start, end, lever, reason)
	pg := d.page(f, room)
	f.Stub, f.Parts, f.By = pg.Text, pg.Parts, pg.By
	if format := d.p.Digest.Format; format != "" {
		f.Stub = expand(format, "{n}", strconv.Itoa(end-start), "{summary}", pg.Text, "{handle}", f.Handle)
		f.Parts.Digest += d.count(f.Stub) - d.count(pg.Text)
	}
	if d.p.Digest.Ack != "" && end < d.s.Transcript.Len() { // a conversation must not end on it
		f.Ack = d.p.Digest.Ack
		f.Parts.Digest += d.count(f.Ack)
	}
	f.Parts.Stubs += d.s.Count.CountMessage(transcript.User("")) // the message around it
	return d.foldSpan(f)
}

// pageRequest asks for the page that stands for a stretch.
type PageRequest struct {
	Start, End int // messages it speaks for
	Pins       []string
	Notes      []transcript.Note
	Focus      string
	Narrative  *conv.Narrative // a model's, already verified; nil: by code
	Recall     func(handle string) string
	Handle     string // of the whole stretch
	Room       PageRoom
	Restore    Restore
	Thrash     []string // files that come back first
}

// pageRoom is how many tokens a page may take.
type PageRoom struct {
	Total int
	Files int  // for restored files, beyond total
	Plain bool // user words and ledger only, if there is no room for more
}

// writtenPage is a page as a fold shows it.
type WrittenPage struct {
	Text  string
	Parts Parts
	By    string // who wrote the narrative: "model" or "code"
}

// pageWriter writes pages.
type Writer interface {
	// write writes a page.
	Page(PageRequest) WrittenPage
	// restored writes what comes back beside a summary that a model wrote: files, and the
	// state of tasks.
	Restored(PageRequest) string
}

// page writes the page for a stretch.
func (d *Draft) page(f *Fold, room PageRoom) WrittenPage {
	r := PageRequest{
		Start: f.Start, End: f.End, Pins: d.s.Pins(), Notes: d.s.Notes,
		Focus: d.focus, Recall: d.recall, Handle: f.Handle,
		Room: room, Restore: d.p.Restore, Thrash: d.thrash,
	}
	if n := d.s.narrativeFor(f.End, d.focus); d.p.Digest.Trust && n != nil && n.End == f.End {
		return d.summary(n, r)
	}
	r.Narrative = d.narrative(f, room)
	pg := d.s.pages.Page(r)
	if w := d.p.Digest.Words; w > 0 {
		if text := text.FirstWords(pg.Text, w); text != pg.Text {
			pg = WrittenPage{text, Parts{Digest: d.count(text)}, pg.By}
		}
	}
	return pg
}

// summary is a model's text as it came, with what the policy restores beside it.
func (d *Draft) summary(n *conv.Narrative, r PageRequest) WrittenPage {
	txt := n.Text
	if w := d.p.Digest.Words; w > 0 {
		txt = text.FirstWords(txt, w)
	}
	txt = text.JoinSections(txt, d.s.pages.Restored(r))
	return WrittenPage{txt, Parts{Digest: d.count(txt)}, "model"}
}

// narrative is the model's digest for the page of a stretch, if there is one, the page has
// room for it, and it is shorter than what the view shows of the stretch.
func (d *Draft) narrative(f *Fold, room PageRoom) *conv.Narrative {
	n := d.s.narrativeFor(f.End, d.focus)
	if n == nil || d.p.Digest.Trust || n.Tokens > room.Total*5/6 || n.Tokens > d.tokensIn(f.Start, f.End)*3/4 {
		return nil
	}
	return n
}
