package ledger_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
)

// TestCalls holds the ledgers of the calls in testdata/calls against what is wanted of them.
func TestCalls(t *testing.T) {
	changed := func(form func(s ledger.PathState) string, sep string) func(*ledger.Ledger) string {
		return func(l *ledger.Ledger) string {
			var out []string
			for _, s := range l.Changed() {
				out = append(out, form(s))
			}
			return strings.Join(out, sep)
		}
	}
	for file, got := range map[string]func(*ledger.Ledger) string{
		"supersede": func(l *ledger.Ledger) string {
			var out []string
			for _, e := range l.Select(ledger.Filter{}) {
				out = append(out, fmt.Sprint(e.SupersededBy))
			}
			return strings.Join(out, " ")
		},
		"one-file":     changed(func(s ledger.PathState) string { return s.Path }, " "),
		"background":   func(l *ledger.Ledger) string { return l.Entry(1).Outcome.String() },
		"removed-dirs": changed(func(s ledger.PathState) string { return s.State.String() + " " + s.Path }, ", "),
	} {
		data, err := os.ReadFile(filepath.Join("testdata", "calls", file+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		_, cases, _ := strings.Cut(string(data), "\n# ")
		for c := range strings.SplitSeq(cases, "\n# ") {
			name, text, _ := strings.Cut(c, "\n")
			text, want, _ := strings.Cut(text, "= ")
			t.Run(file+"/"+name, func(t *testing.T) {
				l := ledgerOfText(text)
				if got, want := got(l), strings.TrimSpace(want); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			})
		}
	}
}

// ledgerOfText is the ledger of calls: a line with a tool and its input, which is that of the
// four common tools where it is not JSON, and the answer, whose lines have a tab before them. The
// tool user is the user, who says it.
func ledgerOfText(text string) *ledger.Ledger {
	var steps []callStep
	said := ""
	for part := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n\t", "\x00"), "\n") {
		call, answer, answered := strings.Cut(part, "\x00")
		answer = strings.ReplaceAll(answer, "\x00", "\n")
		tool, input, _ := strings.Cut(call, " ")
		member, usual := "path", "ok"
		switch tool {
		case "user":
			said = answer
			continue
		case "bash":
			member, usual = "command", ""
		case "read_file":
			usual = "text"
		}
		if !strings.HasPrefix(input, "{") {
			in, _ := json.Marshal(map[string]string{member: input})
			input = string(in)
		}
		if !answered {
			answer = usual
		}
		steps = append(steps, callStep{tool, input, answer})
	}
	l := ledgerOf(steps...)
	l.Add(100, transcript.User(said))
	return l
}
