package clientconfig

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/pleat-dev/pleat/internal/secrets"
)

// Diff shows the lines that change, without keys and passwords; it is empty if nothing does.
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
	print := func(mark string, lines []string) {
		for _, l := range lines {
			if l = strings.TrimRight(l, "\r\n"); l != "" || mark != " " {
				fmt.Fprintf(&b, "%s%s\n", mark, hide(l))
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

var assigned = regexp.MustCompile(`^(.*?["']?([\w-]+)["']?\s*[:=]\s*)(\S.*)$`)

func hide(line string) string {
	if m := assigned.FindStringSubmatch(line); m != nil && secrets.Named(m[2]) {
		return m[1] + "[hidden]"
	}
	return secrets.Redact(line)
}
