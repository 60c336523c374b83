package tokens_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
)

func ExampleCalibration() {
	m, _ := model.DefaultModels().Lookup("claude-opus-5-5")
	cal := tokens.NewCalibration(m)
	fmt.Printf("%d tokens, error %.0f %%\n", cal.Correct(50_000), 100*cal.Error())
	// The provider hides 3,000 tokens in every prompt and counts 1.3 for each of ours.
	for estimate := 1000; estimate <= 41_000; estimate += 2000 {
		cal.Observe(estimate, 3000+estimate*13/10)
	}
	fmt.Printf("%d tokens, error %.0f %%\n", cal.Correct(50_000), 100*cal.Error())
	// Output:
	// 50000 tokens, error 20 %
	// 67998 tokens, error 1 %
}

// session simulates a conversation that grows until it is folded, with a scatter of the
// reported sizes, and returns the mean error of the last half, by the true line.
func session(cal *tokens.Calibration, seed uint64, overhead, slope, scatter float64, odd func(i, reported int) int) (truth, own float64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	x, n := 2000.0, 0
	for i := range 200 {
		if x += 200 + 3000*rnd.Float64(); x > 150_000 {
			x = 20_000
		}
		clean := overhead + slope*x
		// Errors of many blocks add up: they grow with the root of the size.
		y := clean + scatter*math.Sqrt(x)*rnd.NormFloat64()
		reported := int(y)
		if odd != nil {
			reported = odd(i, reported)
		}
		if i >= 100 {
			truth += math.Abs(float64(cal.Correct(int(x)))-clean) / clean
			n++
		}
		cal.Observe(int(x), reported)
	}
	return truth / float64(n), cal.Error()
}

func TestCalibrationFinds(t *testing.T) {
	for _, c := range []struct {
		name                     string
		overhead, slope, scatter float64
		odd                      func(i, reported int) int
		within                   float64
	}{
		{"the identity", 0, 1, 0, nil, 0.001},
		{"a ratio", 0, 1.3, 3, nil, 0.01},
		{"a ratio and hidden text", 3000, 1.3, 3, nil, 0.01},
		{"much hidden text", 45_000, 1.15, 3, nil, 0.02},
		{"fewer tokens", 0, 0.7, 3, nil, 0.01},
		{"thinking that is not billed", -4000, 1.1, 3, nil, 0.02},
		{"noise", 3000, 1.3, 10, nil, 0.02},
		{"absurd reports", 3000, 1.3, 3, func(i, r int) int {
			if i%5 == 0 {
				return i // only what was not cached
			}
			return r
		}, 0.01},
		{"odd reports", 3000, 1.3, 3, func(i, r int) int {
			if i%10 == 0 {
				return r * 2
			}
			return r
		}, 0.02},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(20) {
				truth, own := session(new(tokens.Calibration), seed, c.overhead, c.slope, c.scatter, c.odd)
				if truth > c.within {
					t.Errorf("seed %d: off by %.4f, want at most %.4f", seed, truth, c.within)
				}
				if c.odd == nil && own > max(5*c.within, 0.02) {
					t.Errorf("seed %d: believes to be off by %.4f", seed, own)
				}
			}
		})
	}
}

// The first samples must already help: the decision to fold may come early.
func TestCalibrationLearnsFast(t *testing.T) {
	cal := new(tokens.Calibration)
	for i, x := range []int{5000, 9000, 14_000} {
		cal.Observe(x, 3000+x*13/10)
		next := x + 5000
		want := 3000 + float64(next)*1.3
		if off := math.Abs(float64(cal.Correct(next))-want) / want; off > 0.06 {
			t.Errorf("after %d samples off by %.3f", i+1, off)
		}
	}
}

func TestCalibrationFollowsAChange(t *testing.T) {
	cal := new(tokens.Calibration)
	for range 50 {
		for _, x := range []int{10_000, 60_000} {
			cal.Observe(x, x)
		}
	}
	for range 40 { // another tokenizer behind the same name
		for _, x := range []int{10_000, 60_000} {
			cal.Observe(x, x*13/10)
		}
	}
	if got := cal.Correct(40_000); got < 49_000 || got > 53_000 {
		t.Errorf("got %d, want about 52,000", got)
	}
}

func TestCalibrationError(t *testing.T) {
	m := model.Model{Tokenizer: model.TokenRule{Error: 0.3}}
	cal := tokens.NewCalibration(m)
	if got := cal.Error(); got != 0.3 || cal.Samples() != 0 {
		t.Errorf("before samples: error %v, %d samples", got, cal.Samples())
	}
	if got := new(tokens.Calibration).Error(); got != 0.2 {
		t.Errorf("zero value: error %v", got)
	}
	if got := cal.Correct(1234); got != 1234 {
		t.Errorf("without samples %d, want 1234", got)
	}
	// Most reported sizes must lie within twice the error.
	_, _ = session(cal, 7, 3000, 1.3, 5, nil)
	rnd, over := rand.New(rand.NewPCG(8, 8)), 0
	for range 1000 {
		x := 20_000 + 100_000*rnd.Float64()
		if y := 3000 + 1.3*x + 5*math.Sqrt(x)*rnd.NormFloat64(); y > float64(cal.Correct(int(x)))*(1+2*cal.Error()) {
			over++
		}
	}
	if over > 100 {
		t.Errorf("%d of 1,000 prompts are off by more than twice the error", over)
	}
}

func TestCalibrationRefuses(t *testing.T) {
	cal := new(tokens.Calibration)
	for _, s := range [][2]int{{0, 5}, {5, 0}, {-1, 5}, {10_000, 100}, {10_000, 200_000}} {
		if cal.Observe(s[0], s[1]) {
			t.Errorf("took %v", s)
		}
	}
	if cal.Samples() != 0 || cal.Correct(1000) != 1000 {
		t.Error("refused samples had an effect")
	}
}

func TestCalibrationInverse(t *testing.T) {
	cal := new(tokens.Calibration)
	session(cal, 3, 3000, 1.3, 3, nil)
	for _, limit := range []int{10_000, 100_000, 200_000} {
		x := cal.Estimate(limit)
		if got := cal.Correct(x); got > limit || got < limit-3 {
			t.Errorf("limit %d: estimate %d corrects to %d", limit, x, got)
		}
	}
	if got := cal.Estimate(100); got != 0 {
		t.Errorf("a limit below the overhead leaves %d", got)
	}
}

func TestCalibrationJSON(t *testing.T) {
	cal := tokens.NewCalibration(model.Model{Tokenizer: model.TokenRule{Error: 0.1}})
	session(cal, 5, 3000, 1.3, 3, nil)
	data, err := json.Marshal(cal)
	if err != nil {
		t.Fatal(err)
	}
	var got tokens.Calibration
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got != *cal {
		t.Errorf("got %+v, want %+v", got, *cal)
	}
	for _, bad := range []string{`{}`, `{"v":2}`, `{"v":1,"n":-1}`, `{"v":1,"sums":[-1,0,0,0,0]}`, `{"v":1,"sums":"x"}`, `[]`} {
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
	// Damaged numbers may be useless but never absurd.
	if err := json.Unmarshal([]byte(`{"v":1,"n":3,"sums":[1e300,1e300,1e300,1e300,1e300]}`), &got); err == nil {
		if n := got.Correct(1000); n < 0 || n > 1_000_000 {
			t.Errorf("damaged sums correct 1,000 to %d", n)
		}
	}
}
