package page

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// answer is what a call got back by which others see the work: the commit's hash, what was
// pushed, the address of a comment. It is empty if nothing of the kind can be told.
func (in *Input) answer(e *ledger.Entry) string {
	txt := userwords.WithoutReminder(transcript.BlockText(in.Transcript.Block(e.Result)))
	txt = strings.TrimSpace(txt[:min(len(txt), maxAnswer)])
	if strings.HasPrefix(txt, "{") {
		return longestURL(txt)
	}
	var found []string
	first, n := "", 0
	for line := range strings.Lines(txt) {
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
			found = append(found, text.ClipAround(line, 0, 90))
		case strings.Contains(line, " -> "): // a push
			found = append(found, text.ClipAround(line, 0, 40))
		case strings.Contains(line, "https://"):
			found = append(found, text.ClipAround(line, 0, 100))
		}
	}
	if len(found) == 0 && !strings.Contains(e.Command, "git ") {
		found = append(found, text.ClipAround(first, 0, 60))
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
