package bench

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestGrowth(t *testing.T) {
	point := func(tokens int, took time.Duration) ScalePoint { return ScalePoint{Tokens: tokens, Folding: took} }
	for _, tt := range []struct {
		name   string
		points []ScalePoint
		want   float64
	}{
		{"linear", []ScalePoint{point(10, 20), point(100, 200), point(1000, 2000)}, 1},
		{"square", []ScalePoint{point(10, 100), point(100, 10_000)}, 2},
		{"constant", []ScalePoint{point(10, 7), point(100, 7)}, 0},
		{"one point", []ScalePoint{point(10, 7)}, 0},
		{"one size", []ScalePoint{point(10, 7), point(10, 8)}, 0},
	} {
		if got := growth(tt.points, func(p ScalePoint) float64 { return float64(p.Folding) }); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestTimings reports times apart from everything else: without them the report is the
// same bytes as one that never took any.
func TestTimings(t *testing.T) {
	arms, err := ArmsByName("default", "tail", "own")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Arms: arms, Budgets: []int{6_000}, Chains: []int{1}, NoMoney: true}
	plain, err := Run(t.Context(), small(t)[:1], o)
	if err != nil {
		t.Fatal(err)
	}
	o.Timings, o.TimingSizes = true, []int{10_000, 20_000}
	timed, err := Run(t.Context(), small(t)[:1], o)
	if err != nil {
		t.Fatal(err)
	}
	if len(timed.Scaling) != 2 {
		t.Fatalf("got %d arms, want default and tail", len(timed.Scaling))
	}
	for _, s := range timed.Scaling {
		if len(s.Points) != 2 {
			t.Fatalf("%s: %d points", s.Arm, len(s.Points))
		}
		for i, p := range s.Points {
			if p.Tokens < o.TimingSizes[i] || p.Taking+p.Folding <= 0 || p.Allocated == 0 {
				t.Errorf("%s: nothing was measured: %+v", s.Arm, p)
			}
		}
		if s.Arm == "default" && s.Memory <= 0 { // what tail takes is lost among what the tokenizer does
			t.Errorf("%s: twice the session took no more memory: %+v", s.Arm, s)
		}
	}
	var text, page strings.Builder
	if err := timed.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := timed.WriteHTML(&page, About{}); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{text.String(), page.String()} {
		if !strings.Contains(out, "Time and memory of one compaction") || !strings.Contains(out, "time grows") {
			t.Error("a report lacks the table of time and memory")
		}
	}
	timed.Timings, timed.Scaling = nil, nil
	a, _ := json.Marshal(plain)
	b, _ := json.Marshal(timed)
	if string(a) != string(b) {
		t.Error("the rest of the report is not the same")
	}
}
