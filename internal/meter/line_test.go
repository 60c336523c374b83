package meter_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pleat-dev/pleat/internal/meter"
	"github.com/pleat-dev/pleat/tokens"
)

func ExampleLine() {
	var cal meter.Line
	fmt.Println(cal.Correct(50_000), "tokens")
	// The provider hides 3,000 tokens in every prompt and counts 1.3 for each of ours.
	for estimate := 1000; estimate <= 41_000; estimate += 2000 {
		cal.Observe(estimate, tokens.Reported(3000+estimate*13/10))
	}
	fmt.Println(cal.Correct(50_000), "tokens")
	// Output:
	// 50000 tokens
	// 67998 tokens
}

// session simulates a conversation that grows until it is folded, with a scatter of the
// reported sizes, and returns the mean error of the last half, by the true line.
func session(
	cal *meter.Line, seed uint64, overhead, slope, scatter float64, odd func(i int, reported tokens.Reported) tokens.Reported,
) float64 {
	truth := 0.0
	rnd := rand.New(rand.NewPCG(seed, 1))
	x, n := 2000.0, 0
	for i := range 200 {
		if x += 200 + 3000*rnd.Float64(); x > 150_000 {
			x = 20_000
		}
		clean := overhead + slope*x
		// Errors of many blocks add up: they grow with the root of the size.
		y := clean + scatter*math.Sqrt(x)*rnd.NormFloat64()
		reported := tokens.Reported(y)
		if odd != nil {
			reported = odd(i, reported)
		}
		if i >= 100 {
			truth += math.Abs(float64(cal.Correct(int(x)))-clean) / clean
			n++
		}
		cal.Observe(int(x), reported)
	}
	return truth / float64(n)
}

func TestCalibrationFinds(t *testing.T) {
	for _, c := range []struct {
		name                     string
		overhead, slope, scatter float64
		odd                      func(i int, reported tokens.Reported) tokens.Reported
		within                   float64
	}{
		{"the identity", 0, 1, 0, nil, 0.001},
		{"a ratio", 0, 1.3, 3, nil, 0.01},
		{"a ratio and hidden text", 3000, 1.3, 3, nil, 0.01},
		{"much hidden text", 45_000, 1.15, 3, nil, 0.02},
		{"fewer tokens", 0, 0.7, 3, nil, 0.01},
		{"thinking that is not billed", -4000, 1.1, 3, nil, 0.02},
		{"noise", 3000, 1.3, 10, nil, 0.02},
		{"absurd reports", 3000, 1.3, 3, func(i int, r tokens.Reported) tokens.Reported {
			if i%5 == 0 {
				return tokens.Reported(i) // only what was not cached
			}
			return r
		}, 0.01},
		{"odd reports", 3000, 1.3, 3, func(i int, r tokens.Reported) tokens.Reported {
			if i%10 == 0 {
				return r * 2
			}
			return r
		}, 0.02},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(20) {
				truth := session(new(meter.Line), seed, c.overhead, c.slope, c.scatter, c.odd)
				if truth > c.within {
					t.Errorf("seed %d: off by %.4f, want at most %.4f", seed, truth, c.within)
				}
			}
		})
	}
}

// The first samples must already help: the decision to fold may come early.
func TestCalibrationLearnsFast(t *testing.T) {
	cal := new(meter.Line)
	for i, x := range []int{5000, 9000, 14_000} {
		cal.Observe(x, tokens.Reported(3000+x*13/10))
		next := x + 5000
		want := 3000 + float64(next)*1.3
		if off := math.Abs(float64(cal.Correct(next))-want) / want; off > 0.06 {
			t.Errorf("after %d samples off by %.3f", i+1, off)
		}
	}
}

func TestCalibrationFollowsAChange(t *testing.T) {
	cal := new(meter.Line)
	for range 50 {
		for _, x := range []int{10_000, 60_000} {
			cal.Observe(x, tokens.Reported(x))
		}
	}
	for range 40 { // another tokenizer behind the same name
		for _, x := range []int{10_000, 60_000} {
			cal.Observe(x, tokens.Reported(x*13/10))
		}
	}
	if got := cal.Correct(40_000); got < 49_000 || got > 53_000 {
		t.Errorf("got %d, want about 52,000", got)
	}
}

func TestCalibrationRefuses(t *testing.T) {
	cal := new(meter.Line)
	for _, s := range [][2]int{{0, 5}, {5, 0}, {-1, 5}, {10_000, 100}, {10_000, 200_000}} {
		if cal.Observe(s[0], tokens.Reported(s[1])) {
			t.Errorf("took %v", s)
		}
	}
	if cal.Samples() != 0 || cal.Correct(1000) != 1000 {
		t.Error("refused samples had an effect")
	}
}

func TestCalibrationInverse(t *testing.T) {
	cal := new(meter.Line)
	session(cal, 3, 3000, 1.3, 3, nil)
	for _, limit := range []tokens.Reported{10_000, 100_000, 200_000} {
		x := cal.Estimate(limit)
		if got := cal.Correct(x); got > limit || got < limit-3 {
			t.Errorf("limit %d: estimate %d corrects to %d", limit, x, got)
		}
	}
	if got := cal.Estimate(100); got != 0 {
		t.Errorf("a limit below the overhead leaves %d", got)
	}
}
