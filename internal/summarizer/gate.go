package summarizer

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// gateSource is what the gate checks a digest against. The gate is a pure function of the
// conversation and the text. It strikes what the conversation does not bear out, sentence
// by sentence, and refuses a text that is of no use.
type gateSource struct {
	names *sourceNames
	said  []spoken // by people
	cover *cover

	msgs   []SourceMessage
	others string // what was said by others, in normal form, once it is asked for
}

// newGateSource takes everything before the end of the digest, what else the summarizer was
// given, and what people said.
func newGateSource(src *Source, o digest.Options) *gateSource {
	n := &sourceNames{numbers: make(map[string]bool), refs: max(src.Need.End, src.Calls)}
	n.add(src.System, src.Need.Focus, o.Rules)
	for _, t := range src.Tools {
		n.add(t.Name)
	}
	n.add(src.Pins...)
	for _, note := range src.Notes {
		n.add(note.Key, note.Text)
	}
	for _, m := range src.View {
		for _, b := range m.Blocks().All() {
			n.add(transcript.BlockText(b))
		}
	}
	g := &gateSource{names: n, cover: newCover(src), msgs: src.Msgs}
	for i := range src.Msgs {
		m := &src.Msgs[i]
		for k, b := range m.Blocks().All() {
			n.add(transcript.BlockText(b))
			if c, ok := b.(transcript.ToolCall); ok {
				n.add(c.Name, unescaped(c.Input.String()))
			}
			n.add(m.Handles[k])
		}
	}
	n.add(src.Prev) // checked when it was written
	for _, s := range src.Said {
		if s.Message < src.Need.End {
			g.said = append(g.said, newSpoken(s))
		}
	}
	return g
}

// unescaped undoes the commonest escapes of JSON strings, so that what a call wrote into a
// file is found as it is in the file.
func unescaped(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\"`, `"`, `\/`, "/").Replace(s)
}

type gateWants struct {
	room     int    // tokens
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
	trimSlack    = 2 // one that is longer by up to a half is trimmed; else a shorter one is asked for
	mostStruck   = 4 // it is refused if more than a quarter was struck
	mostInvented = 8 // or if more was invented, and more than one thing in 250 tokens
)

func (g *gateSource) check(txt string, w gateWants) gateResult {
	tokens := w.count(txt)
	refuse := func(kind digest.FindingKind, what string) gateResult {
		return gateResult{findings: []digest.Finding{{Kind: kind, What: what}}}
	}
	switch {
	case strings.TrimSpace(txt) == "":
		return refuse(digest.FoundEmpty, "")
	case !utf8.ValidString(txt):
		return refuse(digest.FoundEmpty, "it is no text: not UTF-8")
	case tokens > w.room:
		return refuse(digest.FoundTooLong, text.Thousands(tokens)+" tokens, "+text.Thousands(w.room)+" are allowed")
	case tokens >= w.replaces:
		return refuse(digest.FoundTooLong, "it is longer than the turns it stands for")
	}
	var r gateResult
	var out strings.Builder
	fenced, below := false, false // below the user's name, in a heading or before a colon
	for line := range strings.Lines(txt) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		clean, found := g.line(line, fenced, below)
		if heading := strings.HasPrefix(line, "#"); heading || strings.HasSuffix(strings.TrimRight(line, " *"), ":") {
			below = below && !heading || namesUser(line)
		}
		r.findings = append(r.findings, found...)
		if clean != "" || strings.TrimSpace(line) == "" {
			out.WriteString(clean + "\n")
		}
	}
	r.text = trimmed(withoutEmptySections(out.String()), w.room, w.count) // quotations may have grown
	invented := 0
	for _, f := range r.findings {
		if f.Kind == digest.FoundInvented || f.Kind == digest.FoundNotSaid {
			invented++
		}
	}
	left := w.count(r.text)
	switch {
	case left == 0 || !strings.ContainsFunc(r.text, text.IsLetterRune):
		r.findings = append(r.findings, digest.Finding{Kind: digest.FoundEmpty, What: "nothing is left of it"})
		return r
	case invented > max(mostInvented, tokens/250) || (tokens-left)*mostStruck > tokens && invented > 1:
		return r
	}
	if lacks := g.cover.lacks(r.text); lacks != "" {
		r.findings = append(r.findings, digest.Finding{Kind: digest.FoundEmpty, What: lacks})
		return r
	}
	r.ok = true
	if w.prev != "" {
		r.carry(w)
	}
	return r
}

// trimmed takes sentences off the ends of the largest sections of a digest until it fits its room.
// What matters most comes first.
func trimmed(txt string, room int, count func(string) int) string {
	over := count(txt) - room
	if over <= 0 {
		return txt
	}
	var sections [][]string // their sentences
	var sizes []int
	for line := range strings.Lines(txt) {
		if sections == nil || strings.HasPrefix(line, "#") {
			sections, sizes = append(sections, nil), append(sizes, 0)
		}
		last := len(sections) - 1
		sizes[last] += count(line)
		for n := 0; line != ""; line = line[n:] {
			n = sentenceEnd(line)
			sections[last] = append(sections[last], line[:n])
		}
	}
	for ; over > 0 && txt != ""; over = count(txt) - room {
		for over > 0 {
			largest := slices.Index(sizes, slices.Max(sizes))
			s := sections[largest]
			if len(s) == 0 {
				break
			}
			n := max(count(s[len(s)-1]), 1)
			over, sizes[largest] = over-n, max(sizes[largest]-n, 0)
			if s = s[:len(s)-1]; len(s) == 0 {
				sizes[largest] = -1
			} else if rest := s[len(s)-1]; !strings.HasSuffix(rest, "\n") {
				s[len(s)-1] = rest + "\n"
			}
			sections[largest] = s
		}
		txt = strings.Join(slices.Concat(sections...), "")
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
	if strings.HasPrefix(trimmed, "#") { // a heading: ours are of the second level
		return "### " + strings.TrimSpace(strings.TrimLeft(trimmed, "#")), nil
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
	if txt == "" || !says && len(found) > 0 {
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
		"<system-reminder", "</system-reminder",
	}, func(p string) bool { return strings.HasPrefix(line, p) })
}

// sentence checks one sentence. One invented name among several true ones is struck and the
// sentence stays; otherwise the sentence goes.
func (g *gateSource) sentence(s string, below bool) (string, []digest.Finding) {
	s, found := g.quotes(s, below)
	if slices.ContainsFunc(found, func(f digest.Finding) bool { return f.Kind == digest.FoundNotSaid }) {
		return "", found
	}
	var bad []gateName
	good := 0
	for _, n := range namesIn(s) {
		if g.names.has(n) {
			good++
		} else {
			bad = append(bad, n)
		}
	}
	if len(bad) == 0 {
		return s, found
	}
	for _, n := range bad {
		found = append(found, digest.Finding{Kind: digest.FoundInvented, What: text.Clip(n.text, 100)})
	}
	if len(bad) > 1 || good < 3 {
		return "", found
	}
	n := bad[0]
	return s[:n.start] + "[struck: not in the conversation]" + s[n.end:], found
}

// withoutEmptySections removes headings that have nothing under them any more.
func withoutEmptySections(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	var out []string
	for i, l := range lines {
		if strings.HasPrefix(l, "### ") {
			next := i + 1
			for next < len(lines) && strings.TrimSpace(lines[next]) == "" {
				next++
			}
			if next == len(lines) || strings.HasPrefix(lines[next], "### ") {
				continue
			}
		}
		out = append(out, l)
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

// carry puts back facts of the earlier digest whose names the new one dropped. They get
// what room is left, at most a quarter.
func (r *gateResult) carry(w gateWants) {
	const title = "### From the earlier digest\n"
	room := min(w.room-w.count(r.text), w.room/4) - w.count(title)
	has := make(map[uint64]bool)
	for _, a := range text.AppendAnchors(nil, r.text) {
		has[a.Hash] = true
	}
	var back []string
	for line := range strings.Lines(w.prev) {
		line = strings.TrimRight(line, "\r\n")
		names := text.AppendAnchors(nil, line)
		gone := 0
		for _, a := range names {
			if !has[a.Hash] {
				gone++
			}
		}
		if strings.HasPrefix(line, "#") || gone == 0 || gone*2 < len(names) {
			continue
		}
		n := w.count(line) + 1
		if n > room {
			continue
		}
		room -= n
		for _, a := range names {
			has[a.Hash] = true
		}
		back = append(back, line)
		what := text.Clip(strings.TrimSpace(line), 100)
		r.findings = append(r.findings, digest.Finding{Kind: digest.FoundCarried, What: what})
	}
	if len(back) > 0 {
		r.text += "\n" + title + strings.Join(back, "\n")
	}
}
