package pleat

import "strings"

// answer is what a call got back by which others see the work: the commit's hash, what was
// pushed, the address of a comment. It is empty if nothing of the kind can be told.
func (in *pageInput) answer(e *LedgerEntry) string {
	text := withoutReminder(blockText(in.s.t.Block(e.Result)))
	text = strings.TrimSpace(text[:min(len(text), maxAnswer)])
	if strings.HasPrefix(text, "{") {
		return longestURL(text)
	}
	var found []string
	first, n := "", 0
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if n++; n > 40 || len(found) == 2 {
			break
		}
		if first == "" {
			first = line
		}
		switch {
		case line[0] == '[' && strings.Contains(line, "] "): // a commit
			found = append(found, clipAround(line, 0, 90))
		case strings.Contains(line, " -> "): // a push
			found = append(found, clipAround(line, 0, 40))
		case strings.Contains(line, "https://"):
			found = append(found, clipAround(line, 0, 100))
		}
	}
	if len(found) == 0 && !strings.Contains(e.Command, "git ") {
		found = append(found, clipAround(first, 0, 60))
	}
	return strings.TrimPrefix(strings.Join(found, "; "), "…")
}

// maxAnswer bounds how much of a result is looked at.
const maxAnswer = 16 << 10

// longestURL is the longest address of a page in a JSON text: that of the thing itself is
// longer than those of its author and its place.
func longestURL(text string) string {
	const mark = `"html_url":`
	best := ""
	for {
		_, rest, ok := strings.Cut(text, mark)
		if !ok {
			return best
		}
		url, _, _ := strings.Cut(strings.TrimLeft(rest, ` "`), `"`)
		if len(url) > len(best) && len(url) <= 120 {
			best = url
		}
		text = rest
	}
}
