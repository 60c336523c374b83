package summarizer

import (
	"regexp"
	"strings"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// answerText returns the digest in a summarizer's answer, and what is wrong with it; no text: it
// cannot be used.
func answerText(r model.Reply, trust bool) (string, []digest.Finding) {
	var b strings.Builder
	for _, m := range r.Messages {
		for _, blk := range m.Blocks().All() {
			switch blk := blk.(type) {
			case transcript.ToolCall:
				return "", []digest.Finding{{Kind: digest.FoundToolCall, What: blk.Name}}
			case transcript.Text:
				b.WriteString(blk.Text.String())
			}
		}
	}
	raw := b.String()
	txt, tagged, closed := digestPart(raw)
	switch {
	case r.Stop == model.StopToolUse:
		return "", []digest.Finding{{Kind: digest.FoundToolCall, What: ""}}
	case r.Stop == model.StopRefusal:
		return "", []digest.Finding{{Kind: digest.FoundRefused, What: text.Clip(raw, 120)}}
	case !trust && !tagged && txt != "" && len(txt) < leastUntagged:
		return "", []digest.Finding{{
			Kind: digest.FoundRefused, What: "short, and without <digest> tags: " + text.Clip(raw, 120),
		}}
	case r.Stop == model.StopMaxTokens || r.Stop == model.StopWindow:
		if !trust { // a summary that was cut is used all the same, and told about
			txt = ""
		}
		return txt, []digest.Finding{{Kind: digest.FoundTruncated, What: "it ended at the limit of " + r.Stop.String()}}
	case trust && txt != "":
		return txt, nil
	case !closed:
		return "", []digest.Finding{{Kind: digest.FoundTruncated, What: "a tag is not closed"}}
	case txt == "":
		return "", []digest.Finding{{Kind: digest.FoundEmpty, What: ""}}
	}
	return txt, nil
}

// leastUntagged is the least number of bytes of a digest without its tags: what is shorter
// says that there will be none.
const leastUntagged = 600

// digestPart returns what is in the digest tags, or all but the analysis if there are none,
// and whether every tag is closed.
func digestPart(raw string) (txt string, tagged, closed bool) {
	txt, _, open := strings.Cut(analysis.ReplaceAllString(raw, ""), "<analysis>")
	closed = !open
	for _, tag := range []string{"digest", "summary"} {
		if _, in, ok := strings.Cut(txt, "<"+tag+">"); ok {
			in, _, ok = text.CutLast(in, "</"+tag+">")
			return strings.TrimSpace(in), true, closed && ok
		}
	}
	return strings.TrimSpace(txt), false, closed
}

var analysis = regexp.MustCompile(`(?s)<analysis>.*?</analysis>`)
