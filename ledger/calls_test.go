package ledger_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/calltest"
	"github.com/pleat-dev/pleat/ledger"
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
		for _, c := range calltest.Cases(t, filepath.Join("testdata", "calls", file+".txt")) {
			t.Run(file+"/"+c.Name, func(t *testing.T) {
				if got := got(ledgerOf(c.Steps...)); got != c.Want {
					t.Errorf("got  %s\nwant %s", got, c.Want)
				}
			})
		}
	}
}
