package rehearsal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/rehearsal"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/policy"
)

// Every policy drives the rehearsal to its answer in windows of every size: with a summary of
// everything it goes on from what the summary says.
func TestRehearsalUnderEveryPolicy(t *testing.T) {
	t.Parallel()
	for _, p := range policy.All() {
		for _, window := range []int{8_000, 16_000, 40_000, 200_000} {
			t.Run(fmt.Sprint(p.Name, "/", window), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				must(t, rehearsal.Scenarios()[0].Prepare(dir))
				w, err := agent.OpenWorkspace(dir)
				must(t, err)
				defer w.Close()
				o := rehearsal.Scenarios()[0].Options(w)
				o.Generator.(*rehearsal.Model).Provider.Limit = 0 // some policies promise nothing
				o.Session.Policy, o.Session.Budget, o.Limits.Turns = p, fold.Budget{Window: window}, 200
				a, err := agent.New(t.Context(), &o)
				must(t, err)
				res, err := a.Run(t.Context(), rehearsal.Task)
				if err != nil || res.Stop != agent.StopDone {
					t.Fatalf("it ended with %s after %d requests: %v", res.Stop, res.Turns, err)
				}
				if !strings.Contains(res.Text, "818 orders were lost, which costs 11861 EUR") {
					t.Errorf("after %d requests the answer is %s", res.Turns, res.Text)
				}
			})
		}
	}
}
