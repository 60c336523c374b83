package fold

type part struct{ of, in int }

func (p part) take(n int) int { return n * p.of / p.in }

// How a view is shared out. Free is what the goal leaves beside the system prompt, the tools
// and the head.
var (
	codePage   = part{1, 2}   // of what is free: a page by code; the newest turns have the rest
	longPage   = part{2, 3}   // the same, where what the assistant reported would fill that
	digestPage = part{19, 20} // of what is free: a page with a model's digest
	digestHalf = part{1, 2}   // of the view without system prompt and tools: what a digest may have at least

	saidOfView = part{2, 5}   // of the goal: what people typed; a third, and a fifth more for numbers and questions …
	saidOfRest = part{2, 3}   // … but no more than this of what system prompt and tools leave
	saidBeside = part{1, 3}   // of the goal: what people typed, the head included, beside a digest
	saidLeast  = part{1, 16}  // of the goal: what they have in any case
	saidOfPage = part{2, 5}   // of a page: what they have without taking from the rest
	saidMarks  = part{21, 20} // of what was typed: what it takes with its marks
	saidInside = part{5, 3}   // of what is left beside people's words: the page that has both

	filesOfView   = part{1, 5} // of the goal without system prompt and tools: restored files
	filesOfWindow = part{1, 4} // of the window: the same
	tokensOfWords = part{4, 3} // English words have about so many tokens
)

const (
	// MaxPage is the most tokens that a page written by code is worth: beyond it the newest
	// turns are worth more.
	MaxPage = 12_000
	// SmallPage is the number of tokens below which a page is small: it spends next to nothing
	// on restored files, because one call reads a file, but nothing brings back in so few
	// tokens what was said and changed.
	SmallPage = 6_000

	leastPage   = 300    // tokens: with less, a page says nothing
	mostDigest  = 10_000 // tokens: no more is asked of a model
	leastDigest = 200    // tokens: no less is
	aroundPage  = 350    // tokens of a page's first and last lines, and the least that the ledger takes
)

// demand is what wants a share of a view, in tokens.
type demand struct {
	Limits   Limits
	Goal     int  // that the view should have; 0: as little as can be, and a page as for the target
	Overhead int  // of the system prompt and the tools
	Fixed    int  // of these and the head
	Kept     int  // of the newest round, which stays
	Typed    int  // of what people typed in the head
	Said     int  // of what they typed after it, as pages show it
	Reported int  // of what the assistant said to them
	Told     int  // of a model's digest that is there; 0: none
	Model    bool // a model can be asked for one
	Page     int  // of the page, if the lever's settings say so; 0: they do not
	Words    int  // most words of the page; 0: no such limit
	Restore  Restore
}

// Allotment is who gets how much of a page.
type Allotment struct {
	Page PageRoom // the room of the page itself
	d    demand
	goal int
}

func allot(d demand) Allotment {
	a := Allotment{d: d, goal: d.Goal}
	if d.Goal == 0 {
		a.goal = d.Limits.Target
	}
	a.Page = PageRoom{Total: a.total(), Files: a.files(), Words: a.words(), Reported: a.d.Reported}
	return a
}

// total is what a page may take, files aside.
func (a *Allotment) total() int {
	if a.d.Page > 0 {
		return a.d.Page
	}
	free := a.goal - a.d.Fixed
	share := codePage.take(free)
	switch {
	case a.ByModel():
		share = digestPage.take(free)
	case a.d.Reported > share:
		words := min(a.d.Said, a.words())
		beside := max(free-a.d.Kept-a.files()-words, 0) // a larger page would not fit, and only be written in vain
		share = max(share, min(longPage.take(free), saidInside.take(beside), beside+words))
	}
	n := max(min(share, MaxPage), leastPage)
	if a.d.Words > 0 {
		n = min(n, tokensOfWords.take(a.d.Words))
	}
	return n
}

func (a *Allotment) files() int {
	r := a.d.Restore
	if r.Files == 0 {
		return 0
	}
	free := max(filesOfView.take(a.d.Goal-a.d.Overhead), 0)
	return min(r.Files*r.PerFile, r.Total, filesOfWindow.take(a.d.Limits.Window), free)
}

// words is what people's typed words may take. Beside a model's digest, what they typed in the
// head is part of it, and the fifth for numbers and questions is there only if the digest has
// half of the view without it.
func (a *Allotment) words() int {
	most := min(saidOfView.take(a.goal), saidOfRest.take(max(a.goal-a.d.Overhead, 0)))
	if !a.ByModel() {
		return most
	}
	half := min(digestHalf.take(a.goal-a.d.Overhead), mostDigest)
	beside := min(most, saidBeside.take(a.goal)) - a.d.Typed
	return max(beside, min(most-a.d.Typed, a.afford()-half), saidLeast.take(a.goal))
}

// ByModel reports whether the page has a model's digest, or one is asked for.
func (a *Allotment) ByModel() bool { return a.d.Model || a.d.Told > 0 }

// afford is what a model's digest and people's words may have between them.
func (a *Allotment) afford() int { return a.goal - a.d.Fixed }

// shown is about what people's words take on a page, with their marks.
func (a *Allotment) shown() int { return saidMarks.take(a.d.Said) }

// digest is how many tokens a model's digest may have on a page of so many: as many as the
// page, which has files and people's words beyond them, but no more than these words and the
// newest round leave. Long words leave it half of that.
func (a *Allotment) digest(page int) int {
	words := min(a.shown(), a.words())
	left := a.goal - a.d.Fixed - a.d.Kept - aroundPage
	return max(min(page, mostDigest, a.afford()-words, left-words), min(page, left)/2, leastDigest)
}

// beyond is how much longer than so many tokens a model's digest may be with only the newest round and
// people's words beside it.
func (a *Allotment) beyond(digest int) int {
	return a.goal - a.d.Fixed - a.d.Kept - aroundPage - min(a.shown(), a.words()) - digest
}

// Size is how many tokens a page may come to in so much room: people's words may take more
// than their part of it, or of what a model's digest leaves.
func (a *Allotment) Size(r PageRoom) int {
	told, words := a.d.Told, a.d.Said
	if told == 0 && a.d.Model {
		told = a.digest(r.Total)
	}
	rest := r.Total - told
	if told > 0 {
		words = a.shown()
		if r.Total < SmallPage {
			rest += r.Files
		}
	}
	return r.Total + r.Files + max(min(words, r.Words)-saidOfPage.take(max(rest, 0)), 0) - min(rest, 0)
}

// beside is the room of a page with a model's digest of so many tokens, where the view spends
// others on what stands beside the page: what the digest needs and all that is left.
func (a *Allotment) beside(r PageRoom, told, others int) PageRoom {
	words := min(a.shown(), r.Words)
	rest := max(a.goal-a.d.Overhead-others-told-words-aroundPage, 0)
	r.Files = min(r.Files, rest)
	rest -= r.Files
	r.Total = told + min(rest+words, saidInside.take(rest), MaxPage)
	return r
}
