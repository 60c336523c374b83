package recall

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
)

// How many tokens an answer of a recall tool takes at most, in a large window. In a
// small one it is an eighth of the window.
const (
	UnfoldBudget = 4_000
	LedgerBudget = 2_500
)

// ledgerText lists the calls that the filter chooses, within a budget.
func (s *Finder) LedgerText(f ledger.Filter, budget int) string {
	list := s.SelectCalls(f)
	if len(list) == 0 {
		return fmt.Sprintf("%sledger: no such call among %d]\n", Mark, s.Ledger.Len())
	}
	heading, line := s.Ledger.Listing(list, f)
	lines := make([]string, len(list))
	first, used := len(list), Frame
	for i := len(list) - 1; i >= 0; i-- {
		lines[i] = line(i)
		if budget > 0 {
			if used += s.Count.CountText(lines[i]); used > budget && i < len(list)-1 {
				break
			}
		}
		first = i
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%sledger] %s", Mark, heading)
	if first > 0 {
		rest := f
		rest.To = list[first].Seq - 1
		fmt.Fprintf(&b, "[%s before these: %s]\n", text.Plural(first, "call"), ledgerCall(rest))
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

// recallArgs are the arguments of a call as they came.
type Args map[string]json.RawMessage

// mainArg is what a call with a bare value means.
var mainArg = map[string]string{
	ToolUnfold: "handle", ToolSearch: "queries", ToolLedger: "path", ToolNote: "key", ToolPin: "text", ToolCompact: "focus",
}

func ReadArgs(tool, input string) (Args, error) {
	input = strings.TrimSpace(input)
	a := Args{}
	switch {
	case input == "":
	case !json.Valid([]byte(input)):
		quoted, _ := json.Marshal(input)
		a[mainArg[tool]] = quoted
	case input[0] == '{':
		if err := json.Unmarshal([]byte(input), &a); err != nil {
			return nil, fmt.Errorf("read arguments: %w", err)
		}
	default:
		a[mainArg[tool]] = json.RawMessage(input)
	}
	return a, nil
}

// text is an argument as text, whatever its JSON type; a list's elements are separated
// by commas.
func (a Args) Text(name string) string { return strings.Join(a.List(name), ",") }

// list is an argument as a list. A string that holds a list is one; so is one with
// commas where the names of kinds and outcomes are meant.
func (a Args) List(name string) []string {
	raw := a[name]
	var one string
	if json.Unmarshal(raw, &one) == nil {
		if strings.HasPrefix(strings.TrimSpace(one), "[") && json.Valid([]byte(one)) && name == "queries" {
			raw = json.RawMessage(one)
		} else if name == "kind" || name == "outcome" {
			return strings.FieldsFunc(one, func(r rune) bool { return r == ',' || r == ' ' })
		} else if one == "" {
			return nil
		} else {
			return []string{one}
		}
	}
	var many []json.RawMessage
	if json.Unmarshal(raw, &many) != nil {
		if len(raw) == 0 || string(raw) == "null" {
			return nil
		}
		return []string{string(raw)} // a number, a flag
	}
	var out []string
	for _, e := range many {
		if text := (Args{"": e}).Text(""); text != "" {
			out = append(out, text)
		}
	}
	return out
}

func (a Args) Number(name string) int {
	f, err := strconv.ParseFloat(strings.TrimSpace(a.Text(name)), 64)
	if err != nil || f < 0 || f > 1<<40 {
		return 0
	}
	return int(f)
}

func (a Args) Flag(name string) bool {
	on, _ := strconv.ParseBool(strings.ToLower(a.Text(name)))
	return on
}

// parseRange reads "120-180", "120-", "-180" and "120", also with ":", "," or ".." in
// between. An end of 0 is open.
func ParseRange(s string) (from, to int, err error) {
	s = strings.Trim(strings.TrimSpace(s), "[]()L")
	if s == "" {
		return 0, 0, nil
	}
	s = strings.NewReplacer("..", "-", ":", "-", ",", "-", "–", "-", " ", "", "L", "").Replace(s)
	first, last, ranged := strings.Cut(s, "-")
	if first != "" {
		if from, err = strconv.Atoi(first); err != nil {
			return 0, 0, fmt.Errorf("%q is no range: write \"120-180\"", s)
		}
	}
	switch {
	case !ranged:
		to = from
	case last != "":
		if to, err = strconv.Atoi(last); err != nil || to < from {
			return 0, 0, fmt.Errorf("%q is no range: write \"120-180\"", s)
		}
	}
	return from, to, nil
}
