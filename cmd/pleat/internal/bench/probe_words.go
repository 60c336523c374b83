package bench

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/clue"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// literal finds what has one right spelling: URLs, pull requests, versions, digests, flags,
// ports.
var literal = regexp.MustCompile(
	`https?://[^\s"'<>)\]` + "`" +
		`]+|\B#\d{2,6}\b|\bv?\d+\.\d+\.\d+(?:-[\w.]+)?\b|\b[0-9a-f]{7,40}\b|\B--[a-z][a-z0-9-]{2,}\b|\blocalhost:\d{2,5}\b`,
)

// literals asks for the exact strings that the agent or a person used in words before the
// cut, and for the first error line of every command that failed last.
func literals(s *Session, sp span) []probe {
	lines := make(map[string][]string)
	queries := make(map[string]string)
	var order []string
	for _, m := range s.Messages[:sp.cut] {
		for _, b := range m.Blocks().All() {
			t, ok := b.(transcript.Text)
			if !ok || m.Role() != transcript.RoleAssistant && m.Role() != transcript.RoleUser ||
				m.Origin() == transcript.OriginInjected {
				continue
			}
			units := sentences(t.Text.String())
			for i, u := range units {
				for _, lit := range literal.FindAllString(u, -1) {
					lit = strings.TrimRight(lit, ".,;:*_")
					if shaToken.MatchString(lit) && !isDigest(lit) {
						continue
					}
					if lines[lit] == nil {
						order = append(order, lit)
						queries[lit] = clue.Query(units, i, lit)
					}
					lines[lit] = append(lines[lit], splitLines(u)...)
				}
			}
		}
	}
	var out []probe
	for _, lit := range order {
		out = append(out, lineProbe(Literals, lit, queries[lit], lines[lit]))
	}
	for _, o := range newestOutcomes(s.Messages[:sp.cut]) {
		if o.first != "" {
			out = append(out, sentenceProbe(Literals, o.first, o.command))
		}
	}
	return out
}

// sentenceProbe is a target of many words: it is stated where nine tenths of them stand
// within one window.
func sentenceProbe(f Family, text, query string) probe {
	words := wordSet(text)
	return probe{family: f, what: text, query: query, look: func(s *seen) verdict {
		if s.covers(words, 0.9) {
			return stated
		}
		return absent
	}}
}

// pasted is from how many characters on a message is taken for a paste: of that, only
// the first sentences are a person's words.
const (
	pasted     = 1_500
	fromPasted = 5
)

// humanWords asks for every sentence that a person typed.
func humanWords(s *Session, sp span) (out []probe) {
	for _, m := range s.Messages[:sp.cut] {
		text, _ := userwords.TypedText(m)
		units := slices.DeleteFunc(sentences(text), func(u string) bool { return len(wordSet(u)) < 3 })
		if len(text) > pasted {
			units = units[:min(len(units), fromPasted)]
		}
		for _, u := range units {
			if len(u) <= 600 { // else it is a line of a log
				out = append(out, sentenceProbe(HumanWords, u, firstWords(u)))
			}
		}
	}
	return out
}

// constraints asks for the rules in force at the cut, and for what took others back.
func constraints(s *Session, sp span) (out []probe) {
	for _, r := range s.rules {
		switch {
		case r.Message >= sp.cut:
		case r.Lifted > 0 && r.Lifted < sp.cut:
			out = append(out, sentenceProbe(Reversals, r.LiftedBy, firstWords(r.LiftedBy)))
		default:
			out = append(out, sentenceProbe(Constraints, r.Text, firstWords(r.Text)))
		}
	}
	return out
}

// firstWords is the first third of a sentence: what somebody remembers of it.
func firstWords(s string) string {
	f := strings.Fields(s)
	return strings.Join(f[:max(len(f)/3, min(len(f), 3))], " ")
}

var planTools = []string{"todowrite", "todo_write", "write_todos", "update_plan", "todo"}

// planState asks for every item of the newest task list, with its state.
func planState(s *Session, sp span) []probe {
	var out []probe
	for _, it := range newestPlan(s.Messages[:sp.cut]) {
		out = append(out, planProbe(it))
	}
	return out
}

// newestPlan is the newest task list that the calls of messages hold.
func newestPlan(msgs []transcript.Message) []planItem {
	for _, m := range slices.Backward(msgs) {
		for _, c := range slices.Backward(m.Calls()) {
			list := planOf(c.Input.String())
			if len(list) > 0 && slices.Contains(planTools, strings.ToLower(c.Name)) {
				return list
			}
		}
	}
	return nil
}

func planProbe(it planItem) probe {
	words := wordSet(it.text)
	return probe{
		family: PlanState,
		what:   it.status + ": " + it.text,
		query:  "task list " + firstWords(it.text),
		look: func(s *seen) verdict {
			if slices.Contains(newestPlan(s.msgs), it) {
				return stated
			}
			v := absent
			for _, at := range s.candidates(words) {
				if covered(s.words[at], words) < 0.9 {
					continue
				}
				switch said := statusNear(s, int(at)); {
				case said == it.status:
					return stated
				case said != "":
					v = wrong
				}
			}
			return v
		},
	}
}

type planItem struct{ text, status string }

func planOf(input string) []planItem {
	type entry struct{ Content, Step, Description, Title, Status string }
	var args struct {
		Todos, Plan, Items []entry
	}
	if json.Unmarshal([]byte(input), &args) != nil {
		return nil
	}
	var out []planItem
	for _, e := range slices.Concat(args.Todos, args.Plan, args.Items) {
		if text := e.Content + e.Step + e.Description + e.Title; text != "" {
			out = append(out, planItem{text, status(e.Status)})
		}
	}
	return out
}

// status is one word for all that lists call it.
func status(s string) string {
	switch strings.ToLower(strings.NewReplacer("-", "_", " ", "_").Replace(s)) {
	case "completed", "done", "complete", "x":
		return "done"
	case "in_progress", "active", "doing":
		return "in progress"
	case "cancelled", "canceled":
		return "cancelled"
	}
	return "open"
}

var statusMark = regexp.MustCompile(
	`(?i)\[(x| |~|>)\]|\b(completed|done|in[_ -]progress|pending|open|todo|cancelled|canceled)\b`,
)

// statusNear is the state that stands on a line, or in the member behind it where a call
// is shown.
func statusNear(s *seen, at int) string {
	for i := at; i < min(at+5, len(s.lines)); i++ {
		line := s.lines[i]
		if i > at && (s.made[at] || len(line) > 20) {
			continue
		}
		switch m := strings.ToLower(strings.Trim(statusMark.FindString(line), "[]")); m {
		case "":
		case " ", "pending", "open", "todo":
			return "open"
		case "~", ">":
			return "in progress"
		default:
			return status(m)
		}
	}
	return ""
}
