package recall

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
)

// LedgerText lists the calls that the filter chooses, the newest last, in at most budget tokens
// (0: no bound). It names the call that lists those for which there is no room. Asked for
// files, it names all of those.
func (f *Finder) LedgerText(filter ledger.Filter, budget int) string {
	if filter.Files {
		return fmt.Sprintf("%sledger] %s", mark, f.Ledger().Files(filter.Path))
	}
	list := f.Ledger().SelectNamed(filter, f.Facts())
	if len(list) == 0 {
		return fmt.Sprintf("%sledger: no such call among %d]\n", mark, f.Ledger().Len())
	}
	heading, line := f.Ledger().Listing(list, filter)
	lines := make([]string, len(list))
	first, used := len(list), frame
	for i := len(list) - 1; i >= 0; i-- {
		lines[i] = line(i)
		if budget > 0 {
			if used += f.Tokens().CountText(lines[i]); used > budget && i < len(list)-1 {
				break
			}
		}
		first = i
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%sledger] %s", mark, heading)
	if first > 0 {
		rest := filter
		rest.To = list[first].Seq - 1
		fmt.Fprintf(&b, "[%s before these: %s]\n", text.Plural(first, "call"), f.Call.prefix()+ledgerCall(rest))
	}
	b.WriteString(strings.Join(lines[first:], ""))
	return b.String()
}

// ledgerCall writes the call that asks for a filter.
func ledgerCall(f ledger.Filter) string {
	var args []string
	add := func(name, value string) {
		if value != "" {
			args = append(args, name+"="+strconv.Quote(value))
		}
	}
	add("path", f.Path)
	add("tool", f.Tool)
	var kinds, outcomes []string
	for _, k := range f.Kinds {
		kinds = append(kinds, k.String())
	}
	for _, o := range f.Outcomes {
		outcomes = append(outcomes, o.String())
	}
	add("kind", strings.Join(kinds, ","))
	add("outcome", strings.Join(outcomes, ","))
	add("text", f.Text)
	if f.Effects {
		args = append(args, "effects=true")
	}
	if f.From > 0 {
		args = append(args, "from="+strconv.Itoa(f.From))
	}
	if f.To > 0 {
		args = append(args, "to="+strconv.Itoa(f.To))
	}
	return ToolLedger + "(" + strings.Join(args, ", ") + ")"
}
