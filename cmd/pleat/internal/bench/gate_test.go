package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/corpustest"
)

var record = flag.Bool("record", false, "record the bench's figures anew: a decision, to be argued for in review")

// TestGate holds the default policy to what was recorded, on made-up sessions.
func TestGate(t *testing.T) {
	if testing.Short() {
		t.Skip("long: deterministic, and run without -short by go test work")
	}
	sessions := SynthSessions(0)
	gate(
		t, "figures.json", sessions,
		Options{Budgets: []int{20_000, 8_000}, Chains: []int{1, 3}, Prices: DefaultPrices()[:2]},
	)
}

// TestGateCorpus does the same on real sessions.
func TestGateCorpus(t *testing.T) {
	dir := corpustest.Folders(t)[0] // the figures were recorded on the first folder
	sessions, err := ReadCorpus(t.Context(), dir, func(string) {})
	must(t, err)
	gate(
		t, "figures-corpus.json", sessions,
		Options{Budgets: []int{20_000, 8_000}, Chains: []int{1, 10}, Prices: DefaultPrices()[:2]},
	)
}

func gate(t *testing.T, name string, sessions []Session, o Options) {
	t.Helper()
	var err error
	if o.Arms, err = ArmsByName("default"); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	views, folds := 0, 0
	o.inspect = func(ctx context.Context, c *cut, m Method, s *seen) error {
		rec := m.(*recalling)
		p, err := rec.prove(ctx)
		_, made := invented(s, namesOf(c.before), func(word string) bool { return isHandle(ctx, rec, word) })
		mu.Lock()
		defer mu.Unlock()
		views, folds = views+1, folds+p.folds
		if len(p.inexact)+len(p.leaks)+len(made) > 0 {
			t.Errorf("%s: not exact: %v; worked elsewhere: %v; invented: %v", c.s.Name, p.inexact, p.leaks, made)
		}
		return err
	}
	r, err := Run(t.Context(), sessions, o)
	must(t, err)
	if folds < views {
		t.Errorf("of %d views %d folds were put to the test", views, folds)
	}
	file := filepath.Join("testdata", name)
	if *record {
		data, err := json.MarshalIndent(
			figuresOf(r, "recorded with go test ./bench -run Gate -record; a drop is a decision"), "", "  ",
		)
		must(t, err)
		must(t, os.WriteFile(file, append(data, '\n'), 0o644))
	}
	data, err := os.ReadFile(file)
	must(t, err)
	var f figures
	must(t, json.Unmarshal(data, &f))
	for _, bad := range faultsOf(r, "default", f) {
		t.Error(bad)
	}
}

// TestGateFails shows the gate what it must not let through.
func TestGateFails(t *testing.T) {
	good := Cell{
		Arm:    "default",
		Budget: 8_000,
		Chain:  1,
		Stated: 10,
		Right:  10,
		Means:  map[Family]Shares{Artifacts: {Context: 1, Recall: 1}},
	}
	recorded := figuresOf(&Report{Cells: []Cell{good}}, "")
	for _, tc := range []struct {
		name   string
		change func(r *Report)
		want   string
	}{
		{"good", func(*Report) {}, ""},
		{"illegal", func(r *Report) { r.Cells[0].Illegal = 1 }, "1 illegal"},
		{
			"drop", func(r *Report) { r.Cells[0].Means = map[Family]Shares{Artifacts: {Context: 0.98, Recall: 1}} },
			"artifacts 0.980",
		},
		{"precision", func(r *Report) { r.Cells[0].Right = 9 }, "precision 0.900"},
		{"gone", func(r *Report) { r.Cells = nil }, "not measured"},
		{
			"short", func(r *Report) { r.Money = []Money{{Arm: "default", ShortWorst: 1.03}} },
			"short session costs 1.030",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &Report{Cells: slices.Clone([]Cell{good})}
			tc.change(r)
			got := strings.Join(faultsOf(r, "default", recorded), "\n")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// figures are what a gate holds a report against: numbers that were recorded on purpose.
type figures struct {
	Note  string   `json:"note"`
	Cells []figure `json:"cells"`
}

// figure is the recorded shares of one arm at one budget.
type figure struct {
	Arm       string            `json:"arm"`
	Budget    int               `json:"budget"`
	Chain     int               `json:"compactions"`
	Precision float64           `json:"precision"`
	Means     map[Family]Shares `json:"means"`
}

// figuresOf are the figures of a report, to be recorded.
func figuresOf(r *Report, note string) figures {
	f := figures{Note: note}
	for _, c := range r.Cells {
		f.Cells = append(f.Cells, figure{c.Arm, c.Budget, c.Chain, round(c.Precision()), c.Means})
	}
	return f
}

// The gate's limits.
const (
	maxDrop  = 0.01 // of a family's share, against what was recorded
	maxShort = 1.02 // cost of a short session against no compaction
)

// faultsOf names everything that a report may not show of an arm: a view that is illegal or
// too large, a short session that costs more than without, a family that dropped against the
// recorded figures.
func faultsOf(r *Report, arm string, recorded figures) []string {
	var bad []string
	fail := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	for _, c := range slices.Concat(r.Cells, r.Own) {
		if c.Arm == arm && c.Illegal+c.Over+c.Refused > 0 {
			fail("%s at %d tokens, %s: %d illegal, %d too large, %d not sent: %v", arm, c.Budget,
				term.Plural(c.Chain, "compaction"), c.Illegal, c.Over, c.Refused, c.Faults)
		}
	}
	for _, m := range r.Money {
		if m.Arm == arm && m.ShortWorst > maxShort {
			fail("%s: a short session costs %.3f of no compaction (%s)", arm, m.ShortWorst, m.Prices)
		}
	}
	for _, f := range recorded.Cells {
		if f.Arm != arm {
			continue
		}
		i := slices.IndexFunc(
			r.Cells, func(c Cell) bool { return c.Arm == f.Arm && c.Budget == f.Budget && c.Chain == f.Chain },
		)
		if i < 0 {
			fail("%s at %d tokens, %s was recorded and not measured", arm, f.Budget, term.Plural(f.Chain, "compaction"))
			continue
		}
		if p := r.Cells[i].Precision(); p < f.Precision-maxDrop {
			fail("%s at %d tokens, %s: precision %.3f, recorded %.3f", arm, f.Budget, term.Plural(f.Chain, "compaction"), p, f.Precision)
		}
		for _, family := range Families {
			was, now := f.Means[family], r.Cells[i].Means[family]
			if now.Context < was.Context-maxDrop || now.Recall < was.Recall-maxDrop {
				fail(
					"%s at %d tokens, %s: %s %.3f → %.3f, recorded %.3f → %.3f", arm, f.Budget, term.Plural(f.Chain, "compaction"), family,
					now.Context,
					now.Recall, was.Context, was.Recall,
				)
			}
		}
	}
	slices.SortStableFunc(bad, cmp.Compare[string])
	return bad
}
