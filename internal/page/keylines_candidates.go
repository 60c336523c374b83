package page

import (
	"math"

	"github.com/pleat-dev/pleat/internal/text"
)

// pool is what the lines of a page are picked from. A plan writes several pages of one
// stretch; the pool is the same for all of them.
type pool struct {
	srcs   []source
	needs  *needs
	root   string    // directory that all files of the sources are in
	list   []keyLine // of equal lines the newest
	groups [][]int   // places in the list by group

	// while it is filled:
	in  *input
	has map[uint64]bool // lines in the list
}

// candidates returns the pool for a page.
func (in *input) candidates() *pool {
	if in.pool != nil {
		return in.pool
	}
	p := &pool{in: in, srcs: in.sources(), has: make(map[uint64]bool)}
	p.group()
	p.needs = in.needsOf(p.srcs)
	for k := len(p.srcs) - 1; k >= 0; k-- {
		switch kind := p.srcs[k].kind; {
		case kind.prose():
			p.addProse(k)
		case !kind.change():
			p.addLines(k)
		}
	}
	p.root = commonRoot(p.srcs, func(s *source) string { return s.about })
	p.in, p.has = nil, nil
	in.pool = p
	return p
}

// group numbers the groups of the sources: those whose lines are shown together, the reads of
// a file or the runs of a command, and what was said in one block.
func (p *pool) group() {
	ids := make(map[string]int)
	for k := range p.srcs {
		s := &p.srcs[k]
		about := s.about
		if s.kind.prose() || s.kind == fromProgram {
			about = ""
			if s.handle != 0 {
				s.group = len(p.groups)
				p.groups = append(p.groups, nil)
				continue
			}
		}
		id, ok := ids[about]
		if !ok {
			id = len(p.groups)
			ids[about] = id
			p.groups = append(p.groups, nil)
		}
		s.group = id
	}
}

// add adds a line, if it does not say the same as one that is there.
func (p *pool) add(c keyLine) {
	s := &p.srcs[c.src]
	hash := s.lines[c.line].hash
	if p.has[hash] && hash != 0 {
		return
	}
	p.has[hash] = true
	p.groups[s.group] = append(p.groups[s.group], len(p.list))
	p.list = append(p.list, c)
}

// addProse adds the sentences of a source to the candidates.
func (p *pool) addProse(k int) {
	s := &p.srcs[k]
	for i := range s.lines {
		l := &s.lines[i]
		un := &s.units[l.unit]
		c := keyLine{src: k, line: i}
		c.base, c.scale = p.proseWorth(s, un, l.cues)
		if s.answers >= 0 && p.in.told == "" && (un.Para <= 2 || int(l.unit) == len(s.units)-1) {
			c.base += s.weight // how an answer begins and ends says what it comes to
		}
		if c.base += p.focused(s.wordsOf(i)); c.base > 0 {
			p.add(c)
		}
	}
}

// proseWorth returns what a sentence is worth for what it says, and how much its names count.
func (p *pool) proseWorth(s *source, un *text.ProseUnit, cues float32) (base, scale float32) {
	base, scale = s.weight*(1+cues), s.weight
	switch {
	case p.in.told != "":
		base = s.weight * (cues - 1) // a model's digest says the rest
	case s.answers < 0 && s.kind == fromAssistant:
		base = s.weight * (0.5 + cues) // what announces counts nothing once it is past
	}
	switch un.Kind {
	case text.UnitCode:
		base, scale = 0.01, scale/4 // examples
	case text.UnitHeading:
		base *= 0.4
	case text.UnitLead:
		base *= 0.2 // says nothing without what it introduces, and comes along with that
	}
	return base, scale
}

// focused returns what words add that the focus mentions.
func (p *pool) focused(words []uint64) float32 {
	n := float32(0)
	for _, h := range words {
		if p.needs.focus[h] {
			n += needFocus
		}
	}
	return n
}

// addLines adds the best lines of a file or an output to the candidates.
func (p *pool) addLines(k int) {
	s := &p.srcs[k]
	best := lineShortlist{limit: 8 + min(len(s.lines)/15, 24)}
	txt := ""
	if p.needs.focus != nil {
		txt = p.in.text(s)
	}
	for i := range s.lines {
		l := &s.lines[i]
		score, base := float32(0), float32(0)
		for _, h := range s.namesOf(i) {
			score += p.needs.of(h)
		}
		switch {
		case score == 0:
		case l.lead == leadDefinition:
			base = 2
		case l.lead == leadComment:
			score *= 0.5
		case p.in.small && s.about != "" && s.kind == fromResult:
			score *= 0.5
		}
		if txt != "" {
			_, words := text.CueScore(txt[l.start:min(l.end, l.start+scannedLine)], nil)
			base += p.focused(words)
		}
		if score += base; score > 0 {
			best.offer(shortLine{i, base, score / float32(math.Sqrt(float64(l.end-l.start+20)))})
		}
	}
	for _, b := range best.list {
		p.add(keyLine{src: k, line: b.line, base: b.base * s.weight, scale: s.weight})
	}
}

// shortLine is a line on the short list of its source.
type shortLine struct {
	line        int
	base, score float32
}

// lineShortlist keeps the best lines of a source.
type lineShortlist struct {
	limit int
	list  []shortLine
	worst int // index of the least one, once the list is full
}

func (s *lineShortlist) offer(l shortLine) {
	switch {
	case len(s.list) < s.limit:
		s.list = append(s.list, l)
	case l.score > s.list[s.worst].score:
		s.list[s.worst] = l
	default:
		return
	}
	if len(s.list) == s.limit {
		for i := range s.list {
			if s.list[i].score < s.list[s.worst].score {
				s.worst = i
			}
		}
	}
}
