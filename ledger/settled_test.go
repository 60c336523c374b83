package ledger_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
)

// TestSettled renders a long ledger again and again while it grows. What it keeps from one
// rendering to the next must not show: a ledger that is made anew says the same, also when a
// result comes late and when an earlier part is asked for.
func TestSettled(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var msgs []transcript.Message
	late := ""
	for i := range 3 * ledger.Recent {
		id, path := fmt.Sprint("c", i), fmt.Sprintf("src/p%d/f%d.go", r.IntN(5), r.IntN(80))
		call, result := transcript.Call(id, "read_file", fmt.Sprintf(`{"path":%q}`, path)), "1\tpackage p"
		switch r.IntN(6) {
		case 0:
			call, result = transcript.Call(id, "write_file", fmt.Sprintf(`{"path":%q,"content":"x"}`, path)), "written"
		case 1:
			call, result = transcript.Call(
				id,
				"edit_file",
				fmt.Sprintf(`{"path":"/home/me/%s","old_string":"a","new_string":"b"}`, path),
			), "edited"
		case 2:
			call, result = transcript.Call(
				id,
				"bash",
				fmt.Sprintf(`{"command":"go test ./src/p%d"}`, r.IntN(9)),
			), "FAIL\nexit status 1"
		case 3:
			call, result = transcript.Call(
				id,
				"bash",
				fmt.Sprintf(`{"command":"rm -r src/p%d && git commit -m %d"}`, r.IntN(5), i),
			), "ok"
		}
		msgs = append(msgs, transcript.Assistant(call))
		if i == 7 {
			late = id
			continue
		}
		msgs = append(msgs, transcript.Results(transcript.Result(id, result)))
	}
	msgs = append(msgs, transcript.Results(transcript.Result(late, "late")))
	grows := &ledger.Ledger{}
	check := func(added, upTo int) {
		fresh := &ledger.Ledger{}
		for i, m := range msgs[:added] {
			fresh.Add(i, m)
		}
		for _, o := range []ledger.RenderOptions{
			{Budget: 900, Names: 2_000}, {Budget: 300, Brief: true}, {Budget: 60}, {Budget: 100_000},
		} {
			o.UpTo = upTo
			if d := difftest.Values(fresh.Render(o), grows.Render(o)); d != "" {
				t.Fatalf("with %d messages, up to %d, in %d tokens:\n%s", added, upTo, o.Budget, d)
			}
		}
	}
	for i, m := range msgs {
		if grows.Add(i, m); (i+1)%700 == 0 || i+1 == len(msgs) {
			check(i+1, i+1)
			check(i+1, i-10)
		}
	}
	check(len(msgs), 900)
	text := grows.Render(ledger.RenderOptions{UpTo: len(msgs), Budget: 100_000})
	for _, f := range grows.Changed() {
		if !strings.Contains(text, ": "+f.Path) {
			t.Errorf("%s is not named", f.Path)
		}
	}
}
