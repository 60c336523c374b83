package tokens

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/pleat-dev/pleat/model"
)

// Calibration learns from reported usage how a model's real prompt sizes follow from
// our estimates, and how far off the corrected estimates still are. Keep one for each
// model, and better one for each model and kind of client: the hidden part differs.
//
// It fits a line, real = overhead + slope · estimate. A ratio alone would not do: the
// text that providers and clients add unseen is a constant of some hundreds to
// thousands of tokens, which a ratio learned on short prompts turns into a large error
// on long ones, just where it matters. More than a line is not in the data of one
// session.
//
// The fit is weighted least squares. The weight of a prompt falls with its age, and the
// squared residual counts in proportion to 1/size, because the error of a sum over
// many texts grows with the root of its length; in relative terms large prompts then
// count more than small ones. Samples far outside what is usual count less, by the
// square of how far, so a single odd one does little while a lasting change, such as
// another tokenizer behind the same name, becomes usual and is learned. Without samples it
// changes nothing.
//
// The zero value is ready to use. It is not safe for concurrent use. Its JSON form may be
// stored and read back.
type Calibration struct {
	prior float64 // error expected before anything is known
	n     int     // samples taken
	// Weighted sums over the samples: weight, x, x², y, x·y with weight decay^age/x.
	w, x, xx, y, xy float64
	errSum, errW    float64 // weighted sum of absolute relative errors, and of weights
	usual           float64 // relative error of samples that are not odd
}

const (
	calibrationDecay = 0.98 // of a sample's weight with each later one: half after 34
	errorDecay       = 0.9  // the error is that of the last ten or so

	// What is believed before any sample, in the unit of the sums (the squared error of
	// a prompt divided by its size): a slope within 0.3 of 1 and an overhead within
	// 3,000 tokens of 0, against a scatter of 3 % at 10,000 tokens.
	scatter       = 9.0
	slopePrior    = scatter / (0.3 * 0.3)
	overheadPrior = scatter / (3000.0 * 3000.0)

	minSlope, maxSlope = 0.25, 4.0
	maxOverhead        = 100_000.0
	defaultError       = 0.2
)

// NewCalibration makes a calibration that expects the model's usual error until it has
// seen samples.
func NewCalibration(m model.Model) *Calibration { return &Calibration{prior: m.Tokenizer.Error} }

// Observe takes a sample: the estimate for a request's whole prompt, before correction,
// and what the provider reported for it, see [model.Usage.Prompt]. It reports whether the
// sample was taken; what no tokenizer explains is not, such as a report that leaves out
// the cached part, or a prompt that the server cut.
func (c *Calibration) Observe(estimated, reported int) bool {
	x, y := float64(estimated), float64(reported)
	if estimated <= 0 || reported <= 0 || y < x/4 || y > 4*x+50_000 {
		return false
	}
	off := math.Abs(y-c.at(x)) / y
	c.errSum = c.errSum*errorDecay + off
	c.errW = c.errW*errorDecay + 1

	// What is usual grows slowly if odd samples are rare, and within a dozen samples if
	// they are the new normal.
	if c.n == 0 {
		c.usual = off
	}
	odd := 3 * max(c.usual, 0.01)
	c.usual = c.usual*errorDecay + min(off, odd)*(1-errorDecay)
	weight := 1 / x
	if c.n >= 5 && off > odd {
		weight *= odd / off * odd / off
	}
	c.w = c.w*calibrationDecay + weight
	c.x = c.x*calibrationDecay + weight*x
	c.xx = c.xx*calibrationDecay + weight*x*x
	c.y = c.y*calibrationDecay + weight*y
	c.xy = c.xy*calibrationDecay + weight*x*y
	c.n++
	return true
}

// Line returns the fit: a prompt has overhead + slope · estimate tokens.
func (c *Calibration) Line() (overhead, slope float64) {
	// The minimum of Σ weight·(y − a − b·x)² + overheadPrior·a² + slopePrior·(b − 1)².
	aa, ab, bb := c.w+overheadPrior, c.x, c.xx+slopePrior
	ya, yb := c.y, c.xy+slopePrior
	det := aa*bb - ab*ab
	if !(det > 0) {
		return 0, 1
	}
	slope = min(max((aa*yb-ab*ya)/det, minSlope), maxSlope)
	overhead = (ya - slope*ab) / aa // the best one for the slope, also where that was bounded
	return min(max(overhead, -maxOverhead), maxOverhead), slope
}

// at is the corrected value of an estimate.
func (c *Calibration) at(x float64) float64 {
	overhead, slope := c.Line()
	return max(overhead+slope*x, minSlope*x)
}

// Correct returns what a whole prompt with that estimate will be reported as.
func (c *Calibration) Correct(estimate int) int { return int(math.Round(c.at(float64(estimate)))) }

// Estimate is the inverse of [Calibration.Correct]: the estimate that a prompt may have
// in order to be reported as no more than limit. It is 0 if there is none.
func (c *Calibration) Estimate(limit int) int {
	overhead, slope := c.Line()
	return int(max(math.Floor((float64(limit)-overhead)/slope), 0))
}

// Error is the mean absolute error of corrected estimates in relation to the reported
// size. Every sample is judged by the fit before it was known, so this is what to expect
// of the next one. Before the first sample it is what is usual for the model.
func (c *Calibration) Error() float64 {
	prior := c.prior
	if !(prior > 0) {
		prior = defaultError
	}
	// The expectation counts as one sample that is as old as all of them.
	w := math.Pow(errorDecay, float64(c.n))
	return (c.errSum + w*prior) / (c.errW + w)
}

// Samples is the number of samples taken.
func (c *Calibration) Samples() int { return c.n }

// calibrationJSON is the stored form, version 1. Members may be added.
type calibrationJSON struct {
	Version int        `json:"v"`
	Prior   float64    `json:"prior"`
	Samples int        `json:"n"`
	Sums    [5]float64 `json:"sums"`
	Errors  [3]float64 `json:"errors"` // sum, weight, usual
}

// MarshalJSON implements [json.Marshaler].
func (c *Calibration) MarshalJSON() ([]byte, error) {
	return json.Marshal(calibrationJSON{
		Version: 1, Prior: c.prior, Samples: c.n,
		Sums: [...]float64{c.w, c.x, c.xx, c.y, c.xy}, Errors: [...]float64{c.errSum, c.errW, c.usual},
	})
}

// UnmarshalJSON implements [json.Unmarshaler]. It refuses numbers that no samples make.
func (c *Calibration) UnmarshalJSON(data []byte) error {
	var j calibrationJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("read calibration: %w", err)
	}
	if j.Version != 1 {
		return fmt.Errorf("read calibration: version %d is not 1", j.Version)
	}
	lowest := min(j.Prior, float64(j.Samples), j.Errors[0], j.Errors[1], j.Errors[2])
	for _, v := range j.Sums {
		lowest = min(lowest, v)
	}
	if lowest < 0 {
		return errors.New("read calibration: negative sums")
	}
	*c = Calibration{
		prior: j.Prior, n: j.Samples, errSum: j.Errors[0], errW: j.Errors[1], usual: j.Errors[2],
		w: j.Sums[0], x: j.Sums[1], xx: j.Sums[2], y: j.Sums[3], xy: j.Sums[4],
	}
	return nil
}
