package annotate

import (
	"slices"
	"strings"
	"sync"

	"github.com/pleat-dev/pleat/internal/client"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// holds is what clients' elements hold by their tags. What is a program's for one client is a program's.
var holds = sync.OnceValue(func() map[string]client.Holds {
	all := make(map[string]client.Holds)
	for _, what := range []client.Holds{client.Whole, client.Typed, client.Program} {
		for tag := range strings.FieldsSeq(client.All().Elements[what]) {
			all[tag] = what
		}
	}
	return all
})

// isForm reports whether a text is one that a client writes.
func isForm(txt string) bool {
	is := func(f client.Form) bool { return f.Is(txt) }
	return slices.Contains(client.All().Texts, txt) || slices.ContainsFunc(client.All().Forms, is)
}

// IsSummary reports whether a text is what a client puts in the place of messages that it compacted away.
func IsSummary(txt string) bool {
	return slices.ContainsFunc(client.All().Forms, func(f client.Form) bool { return f.Summary && f.Is(txt) })
}

// Cleared reports whether a text is what a client writes over an old result.
func Cleared(txt string) bool {
	is := func(f client.Form) bool { return txt == f.Start || f.End != "" && f.Is(txt) }
	return slices.ContainsFunc(client.All().Cleared, is)
}

// Stops reports whether a client says in a message that a person stopped the assistant.
func Stops(m transcript.Message) bool {
	for _, b := range m.Blocks().All() {
		if t, ok := b.(transcript.Text); ok && text.HasAnyPrefix(t.Text.String(), client.All().Stops...) {
			return true
		}
	}
	return false
}

// announces reports whether a text is one line that says what the next block is.
func announces(txt string) bool {
	txt = strings.TrimSpace(txt)
	return !strings.Contains(txt, "\n") &&
		slices.ContainsFunc(client.All().Forms, func(f client.Form) bool { return f.Announces && f.Is(txt) })
}

// quoted reads a text in which a client passes on what a person typed. Who is [Unsure] where a client also puts what
// others wrote, such as a hook, without words before it.
func quoted(txt string, who Who) ([]Span, bool) {
	for _, q := range client.All().Passes {
		if start, end := q.In(txt); start >= 0 {
			return []Span{{End: start}, {Start: start, End: end, Who: who}, {Start: end, End: len(txt)}}, true
		}
	}
	return nil, false
}

// header is the line that a client which calls tools in text puts above a result.
type header struct {
	end  int // of the line's mark
	who  Who // whose the result is: a person's if the tool asks
	next bool
}

// headerOf reads the line that begins a text; nil if it is none.
func headerOf(txt string) *header {
	lead := len(txt) - len(strings.TrimLeft(txt, " \r\n"))
	for _, mark := range client.All().Headers {
		line, rest, _ := strings.Cut(txt[lead:], mark)
		name, called := strings.CutPrefix(line, "[")
		if name, _, _ = strings.Cut(name, " "); !called || line == txt[lead:] || !isTool(name) {
			continue
		}
		h := &header{end: lead + len(line) + len(mark), next: strings.HasSuffix(strings.TrimRight(txt, " \r\n"), mark)}
		inLine := !h.next && !strings.HasPrefix(rest, "\n")
		switch again := strings.Contains(rest, mark); { // a file's name may hold the mark too
		case !client.Known(name), client.Asks(name) && again, inLine && !again:
			h.who = Unsure
		case client.Asks(name):
			h.who = User
		}
		return h
	}
	return nil
}

// isTool reports whether a word is what clients call their tools in text.
func isTool(word string) bool {
	return strings.Contains(word, "_") && strings.Trim(word, "_abcdefghijklmnopqrstuvwxyz") == ""
}

// result reads a text that has the result from a place on.
func (h *header) result(txt string, from int) []Span {
	if h.who != User {
		return spanOf(txt, h.who)
	}
	said, _ := read(txt[from:])
	return append([]Span{{End: from}}, shifted(0, from, said)...)
}

// answered reads the result of a tool.
func answered(tool string, r transcript.ToolResult, named bool) []Span {
	txt := r.Text()
	asks := client.Asks(tool)
	if r.Error {
		p, start, end := client.Refusal(txt)
		if p == nil || start == end {
			return nil
		}
		who := Unsure
		others := []client.Class{client.Agent, client.Poll, client.Look} // give what another program wrote
		if class, own := p.Has(tool); asks || named && own && !slices.Contains(others, class) {
			who = User
		}
		return answers(txt, start, end, who, client.Of(tool) == client.Ask)
	}
	switch {
	case slices.Contains(client.All().NoAnswers, strings.TrimSpace(txt)):
	case asks:
		return spanOf(txt, User)
	case client.Of(tool) == client.Ask: // nearly
		return spanOf(txt, Unsure)
	}
	return nil
}

// Refused reports whether the text of a failed call is what a client writes when a person refused it.
func Refused(txt string) bool {
	p, _, _ := client.Refusal(txt)
	return p != nil
}

// answers returns a person's words in a refusal. Of questions that they wanted to talk about the client lists
// all, of which those with an answer are theirs.
func answers(txt string, start, end int, who Who, asked bool) []Span {
	words := txt[start:end]
	_, list, ok := strings.Cut(words, "\n    Questions asked:\n")
	if !asked || !ok || !strings.HasPrefix(words, "The user wants to clarify these questions.\n") {
		return shifted(0, start, spanOf(words, who))
	}
	var out []Span
	place := end - len("\n"+list)
	for q := range strings.SplitSeq("\n"+list, "\n- \"") {
		if strings.Contains(q, "\"\n  Answer: ") {
			out = append(out, Span{Start: place - len("- \""), End: place + len(q), Who: who})
		}
		place += len(q) + len("\n- \"")
	}
	return out
}

// Output returns a result without the reminders that its client put after it.
func Output(result string) string {
	const most = 20_000 // more is taken for output
	at := len(result)
	for _, tag := range client.All().Result.Reminders {
		open, shut := "<"+tag+">", "</"+tag+">"
		for {
			rest := strings.TrimRight(result[:at], " \r\n")
			first := strings.LastIndex(rest, "\n"+open) + 1
			if !strings.HasPrefix(rest[first:], open) || !strings.HasSuffix(rest, shut) || len(result)-first > most {
				break
			}
			at = len(strings.TrimRight(result[:first], " \r\n"))
		}
	}
	return result[:at]
}

// Forged reports whether a line begins as what only a client writes.
func Forged(line string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(line, "<"), "/")
	return name != line && text.HasAnyPrefix(name, client.All().Result.Reminders...)
}

// spanOf returns one span for a text.
func spanOf(txt string, who Who) []Span { return []Span{{End: len(txt), Who: who}} }

// shifted moves spans to a block and a place in it.
func shifted(block, place int, list []Span) []Span {
	for i := range list {
		list[i].Block += block
		list[i].Start += place
		list[i].End += place
	}
	return list
}

// clipped returns what spans say of a part of their text.
func clipped(list []Span, start, end int) (out []Span) {
	for _, s := range list {
		if s.Start, s.End = max(s.Start, start)-start, min(s.End, end)-start; s.Start < s.End {
			out = append(out, s)
		}
	}
	return out
}

// has reports whether some of the stretches are somebody's.
func has(lists [][]Span, who ...Who) bool {
	return slices.ContainsFunc(lists, func(list []Span) bool {
		return slices.ContainsFunc(list, func(s Span) bool { return slices.Contains(who, s.Who) })
	})
}

// spans reports whether a span covers all of a text but white space.
func spans(s Span, txt string) bool {
	return strings.TrimSpace(txt[:s.Start]) == "" && strings.TrimSpace(txt[s.End:]) == ""
}
