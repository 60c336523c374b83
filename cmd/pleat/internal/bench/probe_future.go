package bench

import (
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/clue"
	"github.com/pleat-dev/pleat/transcript"
)

// futureUse finds what the agent used after the cut and knew only from before it: names,
// files, digests and numbers that a tool or a person had shown before the cut, that
// nobody showed again in between. The query is made of the other words of the use.
func futureUse(s *Session, sp span) []probe {
	known := make(map[string][]string) // with the lines that showed them
	for _, m := range s.Messages[:sp.cut] {
		if m.Role() == transcript.RoleAssistant {
			continue
		}
		for _, b := range m.Blocks().All() {
			for _, l := range blockLines(b) {
				names(l, func(tok string) { known[tok] = append(known[tok], l) })
			}
		}
	}
	var out []probe
	var said []string // the last sentences before a call
	for _, m := range s.Messages[sp.cut:sp.end] {
		for _, b := range m.Blocks().All() {
			if m.Role() != transcript.RoleAssistant { // told again: no longer only from before
				for _, l := range blockLines(b) {
					names(l, func(tok string) { delete(known, tok) })
				}
				continue
			}
			units := useUnits(b)
			if b.Kind() == transcript.KindToolCall { // what was said of the call comes before it
				units = append(slices.Clip(said), units...)
			} else if len(units) > 0 {
				said = units[max(len(units)-2, 0):]
			}
			for i, u := range units {
				names(u, func(tok string) {
					if lines := known[tok]; lines != nil {
						delete(known, tok)
						out = append(out, lineProbe(FutureUse, tok, clue.Query(units, i, tok), lines))
					}
				})
			}
		}
	}
	return out
}

var (
	nameToken = regexp.MustCompile(`[A-Za-z0-9_.-]*[A-Za-z0-9_]`)
	fileToken = regexp.MustCompile(
		`^[A-Za-z0-9_.-]+\.(go|md|ts|tsx|js|json|jsonl|py|rs|toml|ya?ml|sh|sql|txt|html|css|mod|sum|lock)$`,
	)
	shaToken = regexp.MustCompile(`^[0-9a-f]{7,40}$`)
	camel    = regexp.MustCompile(`[a-z0-9][A-Z]`)
)

// names yields the exact strings in a text that can be facts: file names, digests,
// numbers of four digits and more that are no year and not round, names that only a
// program has.
func names(text string, yield func(tok string)) {
	for _, tok := range nameToken.FindAllString(text, -1) {
		tok = strings.TrimLeft(tok, ".-")
		switch {
		case fileToken.MatchString(tok):
			yield(tok)
		case strings.Trim(tok, "0123456789") == "":
			if len(tok) >= 4 && len(tok) <= 12 && !strings.HasSuffix(tok, "00") && !(len(tok) == 4 && tok[:2] == "20") {
				yield(tok)
			}
		case isDigest(tok):
			yield(tok)
		default:
			for name := range strings.FieldsFuncSeq(tok, func(r rune) bool { return r == '.' || r == '-' }) {
				if isName(name) {
					yield(name)
				}
			}
		}
	}
}

func isDigest(tok string) bool {
	return shaToken.MatchString(tok) && strings.ContainsAny(tok, "0123456789") && strings.ContainsAny(tok, "abcdef")
}

func isName(s string) bool {
	return len(s) >= 6 && (camel.MatchString(s) || strings.Contains(strings.Trim(s, "_"), "_"))
}

// useUnits are the sentences of a text, or the lines of a call's arguments: what a use is
// part of. Thinking is the agent's own affair.
func useUnits(b transcript.Block) []string {
	switch b := b.(type) {
	case transcript.Text:
		return sentences(b.Text.String())
	case transcript.ToolCall:
		if lines := blockLines(b); len(lines) > 1 {
			return lines[1:]
		}
	}
	return nil
}

func sentences(text string) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		for s := range strings.SplitSeq(line, ". ") {
			if s = strings.TrimSpace(s); s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}
