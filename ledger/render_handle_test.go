package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/ledger"
)

// Handles are added to what fits without them.
func TestRenderHandles(t *testing.T) {
	l := ledgerOf(editCall("a.go"), editCall("b.go"), editCall("a.go"), bashCall("go test ./...", "ok"))
	o := ledger.RenderOptions{UpTo: 100, Budget: 1000}
	plain := l.Render(o)
	o.Handle = func(e *ledger.Entry) string { return fmt.Sprint("h", e.Seq) }
	for o.Budget = 1000; o.Budget > 10; o.Budget /= 2 {
		led := l.Render(o)
		if o.Budget == 1000 &&
			led != strings.NewReplacer("#1 edit a.go: ok", "#1 edit a.go: ok [h1]", "#2 edit b.go: ok",
				"#2 edit b.go: ok [h2]", "#3 edit a.go: ok", "#3 edit a.go: ok [h3]", "./...: ok", "./...: ok [h4]").
				Replace(plain) {
			t.Errorf("got:\n%s\nwithout handles:\n%s", led, plain)
		}
		o.Handle, plain = nil, led
		for i := range 4 {
			plain = strings.ReplaceAll(plain, fmt.Sprintf(" [h%d]", i+1), "")
		}
		if got := l.Render(o); got != plain {
			t.Errorf("in %d tokens:\n%s\nwith handles:\n%s", o.Budget, got, led)
		}
		o.Handle = func(e *ledger.Entry) string { return fmt.Sprint("h", e.Seq) }
	}
	if calls := l.Changed()[0].Calls; fmt.Sprint(calls) != "[1 3]" {
		t.Errorf("a.go was changed by %v", calls)
	}
}
