package meter

import (
	"math"

	"github.com/pleat-dev/pleat/tokens"
)

// Line learns from reported usage how a model's real prompt sizes follow from
// our estimates. Keep one for each model, and better one for each model and kind of
// client: the hidden part differs.
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
// The zero value is ready to use. It is not safe for concurrent use.
type Line struct {
	n int // samples taken
	// Weighted sums over the samples: weight, x, x², y, x·y with weight decay^age/x.
	w, x, xx, y, xy float64
	usual           float64 // relative error of samples that are not odd
}

const (
	lineDecay  = 0.98 // of a sample's weight with each later one: half after 34
	usualDecay = 0.9  // the usual error is that of the last ten or so

	// What is believed before any sample, in the unit of the sums (the squared error of
	// a prompt divided by its size): a slope within 0.3 of 1 and an overhead within
	// 3,000 tokens of 0, against a scatter of 3 % at 10,000 tokens.
	scatter       = 9.0
	slopePrior    = scatter / (0.3 * 0.3)
	overheadPrior = scatter / (3000.0 * 3000.0)

	minSlope, maxSlope = 0.25, 4.0
	maxOverhead        = 100_000.0
)

// Observe takes a sample: the estimate for a request's whole prompt, before correction,
// and what the provider reported for it, such as model.Usage.Prompt. It reports whether the
// sample was taken; what no tokenizer explains is not, such as a report that leaves out
// the cached part, or a prompt that the server cut.
func (c *Line) Observe(estimated int, reported tokens.Reported) bool {
	x, y := float64(estimated), float64(reported)
	if estimated <= 0 || reported <= 0 || y < x/4 || y > 4*x+50_000 {
		return false
	}
	off := math.Abs(y-c.at(x)) / y
	// What is usual grows slowly if odd samples are rare, and within a dozen samples if
	// they are the new normal.
	if c.n == 0 {
		c.usual = off
	}
	odd := 3 * max(c.usual, 0.01)
	c.usual = c.usual*usualDecay + min(off, odd)*(1-usualDecay)
	weight := 1 / x
	if c.n >= 5 && off > odd {
		weight *= odd / off * odd / off
	}
	c.w = c.w*lineDecay + weight
	c.x = c.x*lineDecay + weight*x
	c.xx = c.xx*lineDecay + weight*x*x
	c.y = c.y*lineDecay + weight*y
	c.xy = c.xy*lineDecay + weight*x*y
	c.n++
	return true
}

// Fit returns the fit: a prompt has overhead + slope · estimate tokens.
func (c *Line) Fit() (overhead, slope float64) {
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
func (c *Line) at(x float64) float64 {
	overhead, slope := c.Fit()
	return max(overhead+slope*x, minSlope*x)
}

// Correct returns what a whole prompt with that estimate will be reported as.
func (c *Line) Correct(estimate int) tokens.Reported {
	return tokens.Reported(math.Round(c.at(float64(estimate))))
}

// Estimate is the inverse of [Line.Correct]: the estimate that a prompt may have
// in order to be reported as no more than limit. It is 0 if there is none.
func (c *Line) Estimate(limit tokens.Reported) int {
	overhead, slope := c.Fit()
	return int(max(math.Floor((float64(limit)-overhead)/slope), 0))
}

// Samples is the number of samples taken.
func (c *Line) Samples() int { return c.n }
