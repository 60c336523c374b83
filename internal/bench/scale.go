package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/bench/synth"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
)

// Scaling is what one compaction of an arm takes as sessions grow: the same kind of
// made-up session at several sizes, folded to the same budget.
type Scaling struct {
	Arm    string       `json:"arm"`
	Budget int          `json:"budget"`
	Points []ScalePoint `json:"points"`
	// Time and Memory are growth exponents: twice the tokens take 2 to that power as
	// long, or as many bytes. One is linear. 0: too few points.
	Time   float64 `json:"time_exponent"`
	Memory float64 `json:"memory_exponent"`
}

// ScalePoint is one size of session.
type ScalePoint struct {
	Tokens  int           `json:"tokens"`
	Taking  time.Duration `json:"taking_in_ns"` // reading the session in, counting, keeping the ledger
	Folding time.Duration `json:"folding_ns"`   // making the view
	// Allocated is what both took from the heap, used again or not; Held is what stays
	// while the session is open.
	Allocated uint64 `json:"allocated_bytes"`
	Held      uint64 `json:"held_bytes"`
}

// scaleBudget is small, so that the smallest session has to be folded too.
const scaleBudget = 8_000

// scale measures every arm at every size, one after the other, so that nothing else of
// the bench is in the figures.
func scale(ctx context.Context, o Options) ([]Scaling, error) {
	var out []Scaling
	for _, a := range o.Arms {
		if !a.Own {
			out = append(out, Scaling{Arm: a.Name, Budget: scaleBudget})
		}
	}
	for i, size := range o.TimingSizes {
		if o.Progress != nil {
			o.Progress(Progress{Done: i, All: len(o.TimingSizes), Session: "timings at " + thousands(size) + " tokens"})
		}
		session := made(synth.Options{Seed: 1, Kind: synth.Feature, Tokens: size})
		at := 0
		for _, a := range o.Arms {
			if a.Own {
				continue
			}
			p, err := quickest(ctx, a, &session)
			if err != nil {
				return nil, fmt.Errorf("time arm %s at %d tokens: %w", a.Name, size, err)
			}
			out[at].Points = append(out[at].Points, p)
			at++
		}
	}
	for i := range out {
		s := &out[i]
		s.Time = growth(s.Points, func(p ScalePoint) float64 { return float64(p.Taking + p.Folding) })
		s.Memory = growth(s.Points, func(p ScalePoint) float64 { return float64(p.Allocated) })
	}
	return out, nil
}

// scaleRuns is how often each point is measured.
const scaleRuns = 3

// quickest is the run that was disturbed least by whatever else the machine does.
func quickest(ctx context.Context, a Arm, s *Session) (ScalePoint, error) {
	best, err := scalePoint(ctx, a, s)
	for range scaleRuns - 1 {
		var p ScalePoint
		if err == nil {
			p, err = scalePoint(ctx, a, s)
		}
		if err == nil {
			p.Allocated = min(p.Allocated, best.Allocated)
			best.Allocated = p.Allocated
		}
		if err == nil && p.Taking+p.Folding < best.Taking+best.Folding {
			best = p
		}
	}
	return best, err
}

// scalePoint has an arm fold a session once. The tokenizer is a new one, because what it
// remembers of an arm before would be a present to this one.
func scalePoint(ctx context.Context, a Arm, s *Session) (ScalePoint, error) {
	toks := tokens.NewTokenizer(model.Model{}, nil)
	w := worker{s: s, tokens: tokens.NewTokenizer(model.Model{}, nil)}
	p := ScalePoint{Tokens: w.size(len(s.Messages))}
	m, err := a.Open(ctx, Setup{Budget: scaleBudget, Tokens: toks})
	if err != nil {
		return p, err
	}
	before := heap()
	start := time.Now()
	if err := m.Append(ctx, s.Messages...); err != nil {
		return p, err
	}
	p.Taking = time.Since(start)
	start = time.Now()
	v, err := m.View(ctx, 0)
	p.Folding = time.Since(start)
	if err != nil && !errors.Is(err, fold.ErrCannotFit) {
		return p, err
	}
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	p.Allocated = now.TotalAlloc - before.TotalAlloc
	if after := heap(); after.HeapAlloc > before.HeapAlloc {
		p.Held = after.HeapAlloc - before.HeapAlloc
	}
	runtime.KeepAlive(m)
	runtime.KeepAlive(v)
	return p, nil
}

// heap is the memory in use, without what is garbage.
func heap() runtime.MemStats {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}

// growth is the exponent of the power law that fits the points best: the slope of the
// straight line through their logarithms.
func growth(points []ScalePoint, of func(ScalePoint) float64) float64 {
	var n, sx, sy, sxx, sxy float64
	for _, p := range points {
		if p.Tokens <= 0 || of(p) <= 0 {
			continue
		}
		x, y := math.Log(float64(p.Tokens)), math.Log(of(p))
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if d := n*sxx - sx*sx; n > 1 && d > 1e-9 {
		return math.Round((n*sxy-sx*sy)/d*100) / 100
	}
	return 0
}

// scaleRows is the table of time and memory.
func scaleRows(list []Scaling) [][]string {
	head := []string{"arm"}
	for _, p := range list[0].Points {
		size := shortTokens(p.Tokens)
		head = append(head, size+" ms", size+" MB", size+" held")
	}
	rows := [][]string{append(head, "time grows", "memory grows")}
	for _, s := range list {
		row := []string{s.Arm}
		for _, p := range s.Points {
			ms := float64((p.Taking + p.Folding).Microseconds()) / 1000
			row = append(
				row, fmt.Sprintf("%.1f", ms), fmt.Sprintf("%.1f", float64(p.Allocated)/1e6),
				fmt.Sprintf("%.1f", float64(p.Held)/1e6),
			)
		}
		rows = append(rows, append(row, fmt.Sprintf("^%.2f", s.Time), fmt.Sprintf("^%.2f", s.Memory)))
	}
	return rows
}

// shortTokens writes 301,204 as 301k.
func shortTokens(n int) string { return fmt.Sprintf("%dk", (n+500)/1000) }

func scaleTitle(s Scaling) string {
	return fmt.Sprintf(
		"Time and memory of one compaction to %s tokens by size of session: milliseconds, MB allocated, MB held; they differ from run to run",
		thousands(s.Budget),
	)
}
