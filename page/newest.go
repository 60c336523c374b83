package page

import (
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// newestRounds is how many rounds a page shows the end of that stands for the newest too.
const newestRounds = 3

// newestRoom is the most tokens that are spent on that: enough to see how they went.
const newestRoom = 900

// newest shows what the newest calls answered, where the page stands for them too: the
// model has not seen the last of those answers yet, and without them it would make the
// same calls again.
func (in *Input) newest(room int, count func(string) int) string {
	t := &in.Transcript
	n := t.Rounds()
	if in.End != t.Len() || n == 0 || room < 60 || t.Round(n-1).End != in.End {
		return ""
	}
	var refs []transcript.BlockRef
	for r := max(n-newestRounds, 0); r < n; r++ {
		for i := max(t.Round(r).Start, in.Start); i < t.Round(r).End; i++ {
			for b := range in.Facts[i].Blocks {
				if in.Facts[i].Blocks[b].Kind == transcript.KindToolResult {
					refs = append(refs, transcript.BlockRef{Message: i, Block: b})
				}
			}
		}
	}
	if len(refs) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("## What the newest calls answered\n")
	each := max((room-count(out.String()))/len(refs), 40)
	for _, ref := range refs {
		out.WriteString(in.newestResult(ref, each, count))
	}
	return out.String()
}

// newestResult shows one result in about so many tokens: its beginning, and more of its
// end, which says how it went.
func (in *Input) newestResult(ref transcript.BlockRef, room int, count func(string) int) string {
	bf := &in.Facts[ref.Message].Blocks[ref.Block]
	what := "call"
	if bf.Call > 0 {
		e := in.Ledger.Entry(int(bf.Call))
		what = strings.TrimSpace(e.Tool + " " + text.Clip(e.Args, 80))
	}
	txt := strings.TrimRight(transcript.BlockText(in.Transcript.At(ref.Message).Blocks().At(ref.Block)), "\n")
	if int(bf.Tokens) > room {
		n := len(txt) * room / max(int(bf.Tokens), 1)
		txt = text.CutText(txt, n/3) + "\n[…]\n" + text.CutEnd(txt, n*2/3)
	}
	back := ""
	if in.Recall != nil && bf.Name != 0 {
		back = " (" + in.Recall(bf.Name.String()) + ")"
	}
	return fmt.Sprintf("%s%s:\n%s\n", what, back, txt)
}
