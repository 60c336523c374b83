package bench

import "testing"

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
