package summarizer

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/internal/text"
)

// gateSource is what the gate checks a digest against. The gate is a pure function of the
// conversation and the text. It strikes what the conversation does not bear out, and refuses a text that is
// of no use. What it changes it reports.
type gateSource struct {
	source *sourceText
	said   []spoken     // by people
	people map[int]bool // the messages with it
}

// newGateSource takes everything before the end of the digest, what else the summarizer was
// given, and what people said.
func newGateSource(src *Source, o digest.Options) *gateSource {
	n := &sourceText{numbers: make(map[string]bool), refs: max(src.Need.End, src.Calls)}
	n.add(src.Prev) // checked when it was written
	for i := range src.Msgs {
		n.addMessage(src.Msgs[i].Message)
	}
	n.turns = n.text.Len()
	for i := range src.Msgs {
		n.add(src.Msgs[i].Handles...)
	}
	for _, m := range src.View {
		n.addMessage(m)
	}
	n.add(src.System, src.Need.Focus, o.Rules)
	for _, t := range src.Tools {
		n.add(t.Name)
	}
	n.add(src.Pins...)
	for _, note := range src.Notes {
		n.add(note.Key, note.Text)
	}
	g := &gateSource{source: n, people: make(map[int]bool)}
	for _, s := range src.Said {
		if s.Message < src.Need.End {
			g.said = append(g.said, newSpoken(s.Text))
			g.people[s.Message] = true
		}
	}
	return g
}

type gateWants struct {
	room     int    // tokens
	gives    int    // tokens beyond them for which the view gives way
	most     int    // tokens that are cut to the room, not refused; 0: any
	replaces int    // tokens of the turns it stands for
	prev     string // the earlier digest that it takes the place of
	count    func(string) int
}

type gateResult struct {
	text     string
	findings []digest.Finding
	ok       bool
}

// The gate's measures.
const (
	viewGives    = 10 // one that is longer by up to a tenth stays whole where what stands beside it can give way
	cutSlack     = 2  // one that is longer by up to a half is cut; else a shorter one is asked for
	mostInvented = 8  // it is refused if more was invented, and more than one thing in 250 tokens
)

func (g *gateSource) check(txt string, w gateWants) gateResult {
	tokens := w.count(txt)
	var r gateResult
	find := func(kind digest.FindingKind, what string) gateResult {
		r.findings = append(r.findings, digest.Finding{Kind: kind, What: what})
		return r
	}
	tooLong := func(n int) gateResult {
		return find(digest.FoundTooLong, text.Thousands(n)+" tokens, "+text.Thousands(w.room)+" are allowed")
	}
	switch {
	case strings.TrimSpace(txt) == "":
		return find(digest.FoundEmpty, "")
	case !utf8.ValidString(txt):
		return find(digest.FoundEmpty, "it is no text: not UTF-8")
	case w.most > 0 && tokens > w.most:
		return tooLong(tokens)
	}
	var out strings.Builder
	fenced, below := false, false // below the user's name, in a heading or before a colon
	for line := range strings.Lines(txt) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		clean, found := g.line(line, fenced, below)
		heading := strings.HasPrefix(line, "#") && text.ListMark(line) > 0
		if heading || strings.HasSuffix(strings.TrimRight(line, " *"), ":") {
			below = below && !heading || slices.ContainsFunc(plainWords(line), isUser)
		}
		r.findings = append(r.findings, found...)
		if clean != "" || strings.TrimSpace(line) == "" {
			out.WriteString(clean + "\n")
		}
	}
	checked := strings.TrimSpace(out.String())
	bare := w.count(checked)
	r.text = cut(checked, w.room+w.gives, w.count) // quotations may have grown
	left := w.count(r.text)
	invented := 0
	for _, f := range r.findings {
		if f.Kind == digest.FoundInvented || f.Kind == digest.FoundNotSaid {
			invented++
		}
	}
	switch {
	case left == 0 || !strings.ContainsFunc(r.text, text.IsLetterRune):
		return find(digest.FoundEmpty, "nothing is left of it")
	case invented > max(mostInvented, tokens/250):
		return r
	case left > w.room+w.gives:
		return tooLong(left)
	case left >= w.replaces:
		return find(digest.FoundTooLong, "it is longer than the turns it stands for")
	}
	if lacks := g.source.lacks(r.text, 2); lacks != "" {
		return find(digest.FoundEmpty, lacks)
	}
	if bare > left {
		find(digest.FoundTooLong, text.Thousands(bare-left)+" tokens were cut, the oldest of what happened")
	}
	r.ok = true
	if w.prev != "" {
		r.carry(w)
	}
	return r
}

// sections are the headings of a digest: those that the prompt asks for, and the gate's own.
var sections = append(regexp.MustCompile(`(?m)^### .*`).FindAllString(digestTask, -1), carriedTitle)

const (
	stateSection = 1 // of sections
	carriedTitle = "### From the earlier digest"
)

// section returns which of the sections a line is the heading of, -1 if none: it has one to six # and
// a space, and a title or its beginning. All other lines are text, such as "#1391 is fixed".
func section(line string) int {
	n := text.ListMark(line)
	title := strings.ToLower(strings.Trim(line[n:], "*: \r\n"))
	if n < len("# ") || n > len("###### ") || line[0] != '#' || title == "" {
		return -1
	}
	return slices.IndexFunc(sections, func(s string) bool { return strings.HasPrefix(strings.ToLower(s), "### "+title) })
}

// cut takes the oldest sentences off a digest, which is in the order of time, until it fits its room. Headings and
// the state stay, also where it alone is too long.
func cut(txt string, room int, count func(string) int) string {
	for over := count(txt) - room; over > 0; over = count(txt) - room {
		var b strings.Builder
		at := -1
		for line := range strings.Lines(txt) {
			heading := section(line)
			if heading >= 0 {
				at = heading
			}
			for heading < 0 && at != stateSection && over > 0 && line != "" {
				rest := strings.TrimLeft(line[sentenceEnd(line):], " \n")
				over -= max(count(line[:len(line)-len(rest)]), 1)
				line = rest
			}
			b.WriteString(line)
		}
		if b.Len() == len(txt) {
			break
		}
		txt = b.String()
	}
	return txt
}

// line checks one line of a digest, sentence by sentence.
func (g *gateSource) line(line string, fenced, below bool) (string, []digest.Finding) {
	trimmed := strings.TrimSpace(line)
	if trimmed == "" {
		return "", nil
	}
	if forged(trimmed) {
		return "", []digest.Finding{{Kind: digest.FoundForged, What: text.Clip(trimmed, 80)}}
	}
	if section(trimmed) >= 0 { // the page's are of the second level
		return "### " + strings.TrimLeft(trimmed, "# "), nil
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	mark := text.ListMark(trimmed)
	body := trimmed[mark:]
	var kept strings.Builder
	var found []digest.Finding
	for body != "" {
		n := len(body)
		if !fenced {
			n = sentenceEnd(body)
		}
		s, f := g.sentence(body[:n], below)
		found = append(found, f...)
		kept.WriteString(s)
		body = body[n:]
	}
	txt := strings.TrimSpace(kept.String())
	says := strings.ContainsFunc(txt, func(r rune) bool { return text.IsLetterRune(r) || r >= '0' && r <= '9' })
	if !says && len(found) > 0 {
		return "", found
	}
	return indent + trimmed[:mark] + txt, found
}

// sentenceEnd is where the first sentence of a text ends: not inside a quotation.
func sentenceEnd(s string) int {
	n := text.SentenceEnd(s)
	for _, q := range quotations(s) {
		if q.start < n && n < q.end {
			if n = q.end; strings.IndexByte(".!?", s[n-q.mark-1]) < 0 {
				n += text.SentenceEnd(s[n:])
			}
		}
	}
	return n
}

// forged reports whether a line looks like one that only pleat writes.
func forged(line string) bool {
	return slices.ContainsFunc([]string{
		"[pleat:", "[folded:", "<turns", "</turns", "<earlier_digest", "</earlier_digest",
	}, func(p string) bool { return strings.HasPrefix(line, p) }) || annotate.Forged(line)
}

// struckMark stands where something was struck.
const struckMark = "[struck]"

// sentence checks one sentence. What is invented is struck, the rest stays.
func (g *gateSource) sentence(s string, below bool) (string, []digest.Finding) {
	s, found := g.quotes(s, below)
	var b strings.Builder
	done := 0
	for _, l := range literalsIn(s) {
		if g.source.has(l) {
			continue
		}
		found = append(found, digest.Finding{Kind: digest.FoundInvented, What: text.Clip(l.text, 100)})
		if l.start >= done { // two lines of a file are one token
			b.WriteString(s[done:l.start] + struckMark)
			done = l.end
		}
	}
	out := b.String() + s[done:]
	unknown := func(l literal) bool { return !g.source.has(l) } // made of what was beside it
	if done > 0 && slices.ContainsFunc(literalsIn(out), unknown) {
		return "", found
	}
	return out, found
}

// carry puts back facts of the earlier digest whose names the new one dropped. They get
// what room is left, at most a quarter.
func (r *gateResult) carry(w gateWants) {
	room := min(w.room-w.count(r.text), w.room/4) - w.count(carriedTitle)
	has, title := distinct(text.Anchors(r.text)), "\n"+carriedTitle
	for line := range strings.Lines(w.prev) {
		line = strings.TrimRight(line, "\r\n")
		names := distinct(text.Anchors(line))
		gone := 0
		for name := range names {
			if !has[name] {
				gone++
			}
		}
		n := w.count(line) + 1
		if gone == 0 || gone*2 < len(names) || n > room {
			continue
		}
		room -= n
		maps.Copy(has, names)
		r.text += title + "\n" + line
		title = ""
		what := text.Clip(strings.TrimSpace(line), 100)
		r.findings = append(r.findings, digest.Finding{Kind: digest.FoundCarried, What: what})
	}
}
