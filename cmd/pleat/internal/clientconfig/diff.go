package clientconfig

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/pleat-dev/pleat/internal/secrets"
)

// Diff shows the lines that change, and of values only those that are set or replaced, because
// the others may be keys and passwords. It is empty if nothing changes.
func (e *Edit) Diff() string {
	old, new := strings.SplitAfter(string(e.Before), "\n"), strings.SplitAfter(string(e.After), "\n")
	same := 0
	for same < len(old) && same < len(new) && old[same] == new[same] {
		same++
	}
	tail := 0
	for tail < len(old)-same && tail < len(new)-same && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	if same == len(old) && same == len(new) && (e.Before == nil) == (e.After == nil) {
		return ""
	}
	var b strings.Builder
	name := func(mark string, text []byte) {
		path := e.Path
		if text == nil {
			path += " (no such file)"
		}
		fmt.Fprintf(&b, "%s %s\n", mark, path)
	}
	name("---", e.Before)
	name("+++", e.After)
	own := e.shown()
	print := func(mark string, lines []string) {
		for _, l := range lines {
			if l = strings.TrimRight(l, "\r\n"); l != "" || mark != " " {
				fmt.Fprintf(&b, "%s%s\n", mark, hide(l, own))
			}
		}
	}
	whole := func(lines []string) []string { // the text ends with a line feed
		if n := len(lines); n > 0 && lines[n-1] == "" {
			return lines[:n-1]
		}
		return lines
	}
	print(" ", old[max(0, same-2):same])
	print("-", whole(old[same:len(old)-tail]))
	print("+", whole(new[same:len(new)-tail]))
	print(" ", old[len(old)-tail:min(len(old), len(old)-tail+2)])
	return b.String()
}

var (
	lead  = regexp.MustCompile(`^(?:\[\[?\w[\w.-]*\.?|\s*(?:export\s+)?[\w-]+(?:\s*=\s*|:\s+))`) // a table, or a name without quotes
	token = regexp.MustCompile(`"(?:[^"\\]|\\.)*"(?:\s*[:=])?|["'](?:[^"'\\]|\\.)*["']?|[^\s"'{}\[\],]+`)
	run   = regexp.MustCompile(`…(?: …)+`)
)

// shown are the values that an edit sets or replaces. A list or an object that is replaced
// may hold anything and is not among them.
func (e *Edit) shown() map[string]bool {
	own := make(map[string]bool)
	set := func(text string, show bool) {
		for _, v := range token.FindAllString(text, -1) {
			own[strings.Trim(v, `"'`)] = show
		}
	}
	for _, st := range e.steps {
		set(st.Value, true)
		set(st.Old, st.Had && !strings.ContainsAny(st.Old, "{["))
	}
	return own
}

// hide leaves the names in a line and those values, and no other: a secret may stand
// anywhere.
func hide(line string, own map[string]bool) string {
	head := lead.FindString(line)
	rest := line[len(head):]
	if rest == "" || rest[0] == '=' { // the end of something in base64
		head, rest = "", line
	}
	rest = token.ReplaceAllStringFunc(rest, func(v string) string {
		name := v[0] == '"' && strings.HasSuffix(strings.TrimRight(v, ":="), `"`) && strings.TrimRight(v, ":=") != v
		if name || own[strings.Trim(v, `"'`)] || !strings.ContainsFunc(v, unicode.IsLetter) && !strings.ContainsFunc(v, unicode.IsDigit) {
			return v
		}
		return "…"
	})
	return secrets.Redact(head + run.ReplaceAllString(rest, "…"))
}
