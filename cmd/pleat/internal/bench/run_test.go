package bench

import (
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
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
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
		r, err := Run(t.Context(), small(t), Options{Arms: arms, Budgets: []int{6_000}, Chains: []int{1, 3}})
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
	must(t, (&term.Console{Stdout: &text, Getenv: os.Getenv}).Output(false, r))
	for _, want := range []string{
		"Views of 6,000 tokens after 2 compactions", "Cost against no compaction: write 1.25x", "\ndefault ", "\ntail ",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q", want)
		}
	}
}

var must = difftest.Must

// An agent compacts at its limit, goes on from what it keeps, and pays for the summary.
func TestReplayAgent(t *testing.T) {
	var whole []step
	for _, n := range []int{100_000, 150_000, 160_000, 290_000} {
		s := step{prompt: n}
		if len(whole) > 0 {
			s.common, s.found = whole[len(whole)-1].prompt, whole[len(whole)-1].prompt
		}
		whole = append(whole, s)
	}
	got := replayAgent(Agents()[0], whole)
	want := []step{
		{prompt: 100_000},
		{prompt: 25_500, asked: 170_000},
		{prompt: 35_500, common: 25_500, found: 25_500},
		{prompt: 25_500, asked: 185_500},
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("request %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	p := relative(1.25, 0.1)
	spent := 1.25*120_000 + (0.1*20_000 + 1.25*25_500 + 0.1*170_000 + 5*AgentSummary) + (0.1*45_500 + 1.25*10_000) +
		(0.1*20_000 + 1.25*25_500 + 0.1*185_500 + 5*AgentSummary)
	if got := round(p.cost(got, false)); got != round(spent/1e6) {
		t.Errorf("costs %v, want %v", got, round(spent/1e6))
	}
}
