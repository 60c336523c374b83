package pleat

import (
	"fmt"
	"strings"
)

// newestRounds is how many rounds a page shows the end of that stands for the newest too.
const newestRounds = 3

// newestRoom is the most tokens that are spent on that: enough to see how they went.
const newestRoom = 900

// newest shows what the newest calls answered, where the page stands for them too: the
// model has not seen the last of those answers yet, and without them it would make the
// same calls again.
func (in *pageInput) newest(room int, count func(string) int) string {
	t := &in.s.t
	n := t.Rounds()
	if in.end != t.Len() || n == 0 || room < 60 || t.Round(n-1).End != in.end {
		return ""
	}
	var refs []BlockRef
	for r := max(n-newestRounds, 0); r < n; r++ {
		for i := max(t.Round(r).Start, in.start); i < t.Round(r).End; i++ {
			for b := range in.s.facts[i].blocks {
				if in.s.facts[i].blocks[b].kind == KindToolResult {
					refs = append(refs, BlockRef{i, b})
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
func (in *pageInput) newestResult(ref BlockRef, room int, count func(string) int) string {
	bf := &in.s.facts[ref.Message].blocks[ref.Block]
	what := "call"
	if bf.call > 0 {
		e := in.s.ledger.Entry(int(bf.call))
		what = strings.TrimSpace(e.Tool + " " + clip(e.Args, 80))
	}
	text := strings.TrimRight(blockText(in.s.t.At(ref.Message).Blocks().At(ref.Block)), "\n")
	if int(bf.tokens) > room {
		n := len(text) * room / max(int(bf.tokens), 1)
		text = cutText(text, n/3) + "\n[…]\n" + cutEnd(text, n*2/3)
	}
	back := ""
	if in.recall != nil && bf.name != 0 {
		back = " (" + in.recall(bf.name.String()) + ")"
	}
	return fmt.Sprintf("%s%s:\n%s\n", what, back, text)
}
