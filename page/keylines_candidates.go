package page

import (
	"math"

	"github.com/pleat-dev/pleat/internal/text"
)

// addProse adds the sentences of a source to the candidates.
func (p *picker) addProse(k int) {
	s := &p.srcs[k]
	for i := range s.lines {
		l := &s.lines[i]
		un := &s.units[l.unit]
		c := keyLine{src: k, line: i}
		c.base, c.scale = p.proseWorth(s, un, l.cues)
		if s.answers >= 0 && (un.Para <= 2 || int(l.unit) == len(s.units)-1) {
			c.base += s.weight // how an answer begins and ends says what it comes to
		}
		if c.base += p.focused(s.wordsOf(i)); c.base > 0 && p.fresh(l.hash) {
			p.add(c)
		}
	}
}

// proseWorth returns what a sentence is worth for what it says, and how much its names count.
func (p *picker) proseWorth(s *source, un *text.ProseUnit, cues float32) (base, scale float32) {
	base, scale = s.weight*(1+cues), s.weight
	switch {
	case s.kind == fromThinking:
		base, scale = s.weight*(cues-3), s.weight/2 // reasons only
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
func (p *picker) focused(words []uint64) float32 {
	n := float32(0)
	for _, h := range words {
		if p.needs.focus[h] {
			n += needFocus
		}
	}
	return n
}

// addLines adds the best lines of a file or an output to the candidates.
func (p *picker) addLines(k int) {
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
			score += p.needs.weight[h]
		}
		switch {
		case score == 0:
		case l.lead == leadDefinition:
			base = 2
			score *= 1.5
		case l.lead == leadComment:
			score *= 0.5
		case p.in.small && s.label != "" && s.kind == fromResult:
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
		if p.fresh(s.lines[b.line].hash) {
			p.add(keyLine{src: k, line: b.line, base: b.base * s.weight, scale: s.weight})
		}
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
