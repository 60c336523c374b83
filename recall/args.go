package recall

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// args are the arguments of a call as they came.
type args map[string]json.RawMessage

// mainArg is what a call with a bare value means.
var mainArg = map[string]string{
	ToolUnfold: "handle", ToolSearch: "queries", ToolLedger: "path", ToolNote: "key", ToolPin: "text", ToolCompact: "focus",
}

func readArgs(tool, input string) (args, error) {
	input = strings.TrimSpace(input)
	a := args{}
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
func (a args) text(name string) string { return strings.Join(a.list(name), ",") }

// list is an argument as a list. A string that holds a list is one; so is one with
// commas where the names of kinds and outcomes are meant.
func (a args) list(name string) []string {
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
		if text := (args{"": e}).text(""); text != "" {
			out = append(out, text)
		}
	}
	return out
}

func (a args) number(name string) int {
	f, err := strconv.ParseFloat(strings.TrimSpace(a.text(name)), 64)
	if err != nil || f < 0 || f > 1<<40 {
		return 0
	}
	return int(f)
}

func (a args) flag(name string) bool {
	on, _ := strconv.ParseBool(strings.ToLower(a.text(name)))
	return on
}

// parseRange reads "120-180", "120-", "-180" and "120", also with ":", "," or ".." in
// between. An end of 0 is open.
func parseRange(s string) (from, to int, err error) {
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
