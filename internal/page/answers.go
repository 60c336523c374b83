package page

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
)

const (
	newestRounds = 3   // rounds of which a page shows the results, if it stands for the newest
	newestRoom   = 900 // most tokens for that
	newestText   = 40  // least tokens of one
	newestLeast  = 80  // the same with what stands around it
)

// newest shows the newest results if the page stands for them: the model has not seen the
// last of them, and would make the same calls again.
func (in *input) newest(room int) string {
	rounds := in.Rounds()
	n := len(rounds)
	if in.Room.Seen || in.End != len(in.Facts()) || n == 0 || room < 60 || rounds[n-1].End != in.End {
		return ""
	}
	var refs []transcript.BlockRef
	for r := max(n-newestRounds, 0); r < n; r++ {
		for i := max(rounds[r].Start, in.Start); i < rounds[r].End; i++ {
			for b := range in.Facts()[i].Blocks {
				if in.Facts()[i].Blocks[b].Kind == transcript.KindToolResult {
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
	if more := len(refs) - max(room/newestLeast, newestRounds); more > 0 {
		fmt.Fprintf(&out, "%s right before these are left out.\n", text.Plural(more, "answer"))
		refs = refs[more:]
	}
	each := max((room-in.count(out.String()))/len(refs), newestText)
	for _, ref := range refs {
		out.WriteString(in.newestResult(ref, each))
	}
	return out.String()
}

// newestResult shows one result in about room tokens: its beginning, and more of its end,
// which says how it went.
func (in *input) newestResult(ref transcript.BlockRef, room int) string {
	bf := in.Facts().Block(ref)
	what := "call"
	if bf.Call > 0 {
		e := in.Ledger().Entry(int(bf.Call))
		what = fence.Line(strings.TrimSpace(fmt.Sprintf("#%d %s %s", bf.Call, e.Tool, text.Clip(e.Args, 80))))
	}
	txt := strings.TrimRight(transcript.BlockText(in.Block(ref)), "\n")
	if int(bf.Tokens) > room {
		n := len(txt) * room / int(bf.Tokens)
		txt = text.CutText(txt, n/3) + "\n[…]\n" + text.CutEnd(txt, n*2/3)
	}
	back := ""
	if in.Recall != nil && bf.Handle != 0 {
		back = " (" + in.Recall(bf.Handle.String()) + ")"
	}
	return what + back + ":\n" + fence.Block("result", txt) + "\n"
}

// answer returns what a call that others see got back: the commit's hash, what was pushed,
// the address of a comment; empty if there is nothing of the kind.
func (in *input) answer(e *ledger.Entry) string {
	txt := annotate.Output(transcript.BlockText(in.Block(e.Result)))
	if !ledger.Publishes(e) {
		return totals(text.CutEnd(txt, countedEnd))
	}
	txt = strings.TrimSpace(text.CutText(txt, 16<<10))
	var found []string
	first := ""
	for line := range strings.Lines(txt) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if len(found) == 2 {
			break
		}
		if first == "" {
			first = line
		}
		switch {
		case isCommit(line):
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
	return fence.Line(strings.TrimPrefix(strings.Join(found, "; "), "…"))
}

// isCommit reports whether a line is what git says of a new commit: "[branch 4dc9e56] Title".
func isCommit(line string) bool {
	where, _, ok := strings.Cut(line, "] ")
	at := strings.LastIndexByte(where, ' ')
	return ok && line[0] == '[' && at > 0 && len(where)-at > 7 && text.IsHex(where[at+1:])
}

// countedEnd is how many bytes of the end of an output are looked at: details of failures may follow its counts.
const countedEnd = 8 << 10

// countPattern finds what runs of tests, linters and compilers count.
var countPattern = regexp.MustCompile(
	`(?i)\b\d+ (?:tests? )?(?:passed|passing|failed|failing|skipped|errors?|warnings?|problems?|issues?)\b`)

// totals are what the end of an output counts last, each kind once.
func totals(end string) string {
	var found []string
	kinds := make(map[string]bool)
	for _, c := range slices.Backward(countPattern.FindAllString(end, -1)) {
		if _, kind, _ := strings.Cut(c, " "); !kinds[kind] && len(found) < 4 {
			kinds[kind] = true
			found = append(found, c)
		}
	}
	slices.Reverse(found)
	return strings.Join(found, ", ")
}
