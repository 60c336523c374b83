package bench

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
)

func small(t *testing.T) []Session {
	t.Helper()
	return []Session{made(0, 20_000), made(2, 20_000)}
}

// TestReproducible runs the bench twice, with different numbers of workers: the reports
// are the same bytes.
func TestReproducible(t *testing.T) {
	arms, err := ArmsByName("default", "four-layer", "tail")
	must(t, err)
	if testing.Short() {
		arms = arms[:1]
	}
	run := func(workers int) string {
		r, err := Run(
			t.Context(), small(t), Options{Arms: arms, Budgets: []int{6_000}, Chains: []int{1, 3}, Workers: workers},
		)
		must(t, err)
		out, err := json.MarshalIndent(r, "", " ")
		must(t, err)
		return string(out)
	}
	if d := difftest.Values(run(1), run(2)); d != "" {
		t.Errorf("two runs differ (-first +second):\n%s", d)
	}
}

// TestArmsFit holds every arm to the budget and to the rules of the wires.
func TestArmsFit(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	r, err := Run(t.Context(), small(t), Options{Budgets: []int{12_000, 4_000}, Chains: []int{1}, NoMoney: true})
	must(t, err)
	if want := 2 * (len(Arms()) - 1); len(r.Cells) != want {
		t.Fatalf("got %d cells, want %d", len(r.Cells), want)
	}
	for _, c := range r.Cells {
		if c.Over+c.Refused+c.Illegal > 0 {
			t.Errorf(
				"%s at %d: %d views too large, %d refused, %d illegal: %v", c.Arm, c.Budget, c.Over, c.Refused,
				c.Illegal,
				c.Faults,
			)
		}
		if c.Arm == "none" && c.Means[FutureUse].Context < 0.95 {
			t.Errorf("everything is shown and %.2f of what was used later is found", c.Means[FutureUse].Context)
		}
	}
}

func TestArmsByName(t *testing.T) {
	arms, err := ArmsByName("tail", "default")
	if err != nil || len(arms) != 2 || arms[0].Name != "tail" {
		t.Errorf("got %v, %v", arms, err)
	}
	if _, err := ArmsByName("best"); err == nil {
		t.Error("an arm that is not there was found")
	}
}

// TestWriteReport writes a report for a terminal.
func TestWriteReport(t *testing.T) {
	arms, err := ArmsByName("default", "tail")
	must(t, err)
	r, err := Run(
		t.Context(), small(t)[:1],
		Options{Arms: arms, Budgets: []int{12_000, 6_000}, Chains: []int{1, 2}, Prices: DefaultPrices()[:1]},
	)
	must(t, err)
	var text strings.Builder
	must(t, r.WriteText(&text))
	for _, want := range []string{
		"Views of 6,000 tokens after 2 compactions", "Cost against no compaction: write 1.25x", "\ndefault ", "\ntail ",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q", want)
		}
	}
}

// must ends the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
