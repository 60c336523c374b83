package pleat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// How many tokens an answer of a recall tool takes at most, in a large window. In a
// small one it is an eighth of the window.
const (
	unfoldBudget = 4_000
	ledgerBudget = 2_500
)

// Recall answers a call to one of the [RecallTools] with the text for the model. handled
// is false if the tool is none of them. Models are sloppy with arguments, so what they
// mean is taken where it is clear: numbers in quotes, one string for a list, the main
// argument alone. What went wrong is told to the model, with what to do instead.
func (s *Session) Recall(ctx context.Context, tool, input string) (text string, isError, handled bool) {
	answer, ok := map[string]func(context.Context, recallArgs) (string, error){
		ToolUnfold: s.answerUnfold, ToolSearch: s.answerSearch, ToolLedger: s.answerLedger,
		ToolNote: s.answerNote, ToolPin: s.answerPin, ToolCompact: s.answerCompact,
	}[tool]
	if !ok {
		return "", false, false
	}
	args, err := readArgs(tool, input)
	if err == nil {
		text, err = answer(ctx, args)
	}
	if err != nil {
		return recallMark + tool + " failed] " + err.Error() + "\n", true, true
	}
	return text, false, true
}

func (s *Session) answerUnfold(ctx context.Context, a recallArgs) (string, error) {
	r := UnfoldRequest{
		Handle: a.text("handle"), Pattern: a.text("pattern"), Column: a.number("column"),
		Raw: a.flag("raw"), Budget: s.room(unfoldBudget),
	}
	if r.Handle == "" {
		return "", errors.New("a handle is needed: stubs, search and ledger name them")
	}
	var err error
	if r.From, r.To, err = parseRange(a.text("lines")); err != nil {
		return "", fmt.Errorf("lines: %w", err)
	}
	from, to, err := parseRange(a.text("bytes"))
	if err != nil {
		return "", fmt.Errorf("bytes: %w", err)
	}
	if r.Offset = from; to > from {
		r.Length = to - from
	}
	u, err := s.Unfold(ctx, r)
	return u.Text(), err
}

func (s *Session) answerSearch(ctx context.Context, a recallArgs) (string, error) {
	queries := a.list("queries")
	if len(queries) == 0 {
		queries = a.list("query")
	}
	if len(queries) == 0 {
		return "", errors.New("queries are needed: words that would stand near the answer")
	}
	res, err := s.Search(ctx, SearchRequest{Queries: queries, Hits: a.number("hits"), Budget: s.room(searchBudget)})
	return res.Text(), err
}

func (s *Session) answerLedger(_ context.Context, a recallArgs) (string, error) {
	f := LedgerFilter{
		Path: a.text("path"), Tool: a.text("tool"), Text: a.text("text"), Effects: a.flag("effects"),
		From: a.number("from"), To: a.number("to"),
	}
	for _, name := range a.list("kind") {
		var k CallKind
		if err := k.UnmarshalText([]byte(strings.ToLower(name))); err != nil {
			return "", err
		}
		f.Kinds = append(f.Kinds, k)
	}
	for _, name := range a.list("outcome") {
		var o Outcome
		if err := o.UnmarshalText([]byte(strings.ToLower(name))); err != nil {
			return "", err
		}
		f.Outcomes = append(f.Outcomes, o)
	}
	return s.LedgerText(f, s.room(ledgerBudget)), nil
}

func (s *Session) answerNote(ctx context.Context, a recallArgs) (string, error) {
	if key := a.text("key"); key != "" {
		if err := s.Note(ctx, key, a.text("text")); err != nil {
			return "", err
		}
	} else if a.text("text") != "" {
		return "", errors.New("a key is needed: a short name for the note")
	}
	notes := s.Notes()
	var b strings.Builder
	fmt.Fprintf(&b, "%snotes: %d]\n", recallMark, len(notes))
	for _, n := range notes {
		fmt.Fprintf(&b, "%s: %s\n", n.Key, n.Text)
	}
	return b.String(), nil
}

func (s *Session) answerPin(ctx context.Context, a recallArgs) (string, error) {
	if a.flag("remove") {
		return recallMark + "pin: removed]\n", s.Unpin(ctx, a.text("text"))
	}
	return recallMark + "pin: kept]\n", s.Pin(ctx, a.text("text"))
}

func (s *Session) answerCompact(ctx context.Context, a recallArgs) (string, error) {
	p, err := s.Compact(ctx, a.text("focus"))
	if err != nil {
		return "", err
	}
	if p.IsEmpty() {
		return recallMark + "compact: nothing can be folded that would make room]\n", nil
	}
	return fmt.Sprintf("%scompact: %s, %s → %s tokens; nothing is lost, search and unfold bring it back]\n",
		recallMark, plural(len(p.Folds), "fold"), thousands(p.Before), thousands(p.After)), nil
}

// room is the budget of an answer in this session's window.
func (s *Session) room(tokens int) int {
	return max(min(tokens, s.o.Budget.Limits().Window/8), 2*recallFrame)
}

// LedgerText lists the calls that the filter chooses in at most budget tokens (0: no
// bound), the newest last. If there is no room for all, the newest are shown and the
// call for the others is named.
func (s *Session) LedgerText(f LedgerFilter, budget int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.st.selectCalls(f)
	w := &ledgerWriter{entries: list, counts: s.st.ledger.Counts(f)}
	if len(list) == 0 {
		return fmt.Sprintf("%sledger: no such call among %d]\n", recallMark, s.st.ledger.Len())
	}
	lines := make([]string, len(list))
	first, used := len(list), recallFrame
	for i := len(list) - 1; i >= 0; i-- {
		var b strings.Builder
		w.line(&b, callGroup{last: i, calls: 1}, maxArgs)
		lines[i] = b.String()
		if budget > 0 {
			if used += s.st.count.CountText(lines[i]); used > budget && i < len(list)-1 {
				break
			}
		}
		first = i
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%sledger] %s", recallMark, w.heading())
	if first > 0 {
		rest := f
		rest.To = list[first].Seq - 1
		fmt.Fprintf(&b, "[%s before these: %s]\n", plural(first, "call"), ledgerCall(rest))
	}
	b.WriteString(strings.Join(lines[first:], ""))
	return b.String()
}

// ledgerCall writes the call that asks for a filter.
func ledgerCall(f LedgerFilter) string {
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
type recallArgs map[string]json.RawMessage

// mainArg is what a call with a bare value means.
var mainArg = map[string]string{
	ToolUnfold: "handle", ToolSearch: "queries", ToolLedger: "path", ToolNote: "key", ToolPin: "text", ToolCompact: "focus",
}

func readArgs(tool, input string) (recallArgs, error) {
	input = strings.TrimSpace(input)
	a := recallArgs{}
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
func (a recallArgs) text(name string) string { return strings.Join(a.list(name), ",") }

// list is an argument as a list. A string that holds a list is one; so is one with
// commas where the names of kinds and outcomes are meant.
func (a recallArgs) list(name string) []string {
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
		if text := (recallArgs{"": e}).text(""); text != "" {
			out = append(out, text)
		}
	}
	return out
}

func (a recallArgs) number(name string) int {
	f, err := strconv.ParseFloat(strings.TrimSpace(a.text(name)), 64)
	if err != nil || f < 0 || f > 1<<40 {
		return 0
	}
	return int(f)
}

func (a recallArgs) flag(name string) bool {
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
