package fold

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
)

// maxTokens is more than any window has, and can be multiplied by what shares are worked
// out with.
const maxTokens = math.MaxInt >> 8

// Level is an amount of tokens, given outright or as a share of the window. The zero
// value means "the default".
type Level struct {
	share  float64
	tokens int
}

// Tokens returns a level given outright.
func Tokens(n int) Level { return Level{tokens: n} }

// Share returns a level given as a share of the window, such as 0.8.
func Share(f float64) Level { return Level{share: f} }

// IsZero reports whether the level was left at its default.
func (l Level) IsZero() bool { return l == Level{} }

func (l Level) of(window int) int {
	if l.share > 0 {
		return int(l.share * float64(window))
	}
	return l.tokens
}

// String writes the level as people do: "80%" or "13000".
func (l Level) String() string {
	if l.share != 0 {
		return strconv.FormatFloat(l.share*100, 'g', 6, 64) + "%"
	}
	return strconv.Itoa(l.tokens)
}

// parseLevel reads "80%", "0.8" (a share) or "13000" (tokens).
func parseLevel(s string) (Level, error) {
	num, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	f, err := strconv.ParseFloat(strings.ReplaceAll(num, "_", ""), 64)
	switch {
	case err != nil:
		return Level{}, fmt.Errorf("parse level %q: want a share such as 80%% or 0.8, or a number of tokens", s)
	case !(f >= 0 && f <= maxTokens), percent && f > 100: // not a number is neither
		return Level{}, fmt.Errorf("parse level %q: out of range", s)
	case percent:
		return Share(f / 100), nil
	case f > 0 && f <= 1:
		return Share(f), nil
	}
	return Tokens(int(f)), nil
}

// MarshalJSON writes what String returns.
func (l Level) MarshalJSON() ([]byte, error) { return json.Marshal(l.String()) }

// UnmarshalJSON reads "80%", "0.8" (a share) or "13000" (tokens), or a number of tokens.
func (l *Level) UnmarshalJSON(data []byte) error {
	s := string(data)
	if len(s) > 1 && s[0] == '"' {
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
	}
	if s == "null" || s == "0" {
		*l = Level{}
		return nil
	}
	parsed, err := parseLevel(s)
	if err == nil {
		*l = parsed
	}
	return err
}

// Budget says how much of a model's window a session may fill, and when to act. Zero
// fields stand for defaults.
type Budget struct {
	Window int   `json:"window,omitzero"` // the model's context window in tokens; 0: [model.DefaultWindow]
	Output Level `json:"output,omitzero"` // kept free for the answer; 0: an eighth of the window, at most 20,000
	// Kept free for what one turn may add; 0: 13,000, at most a tenth of the window.
	Buffer Level `json:"buffer,omitzero"`
	Yellow Level `json:"yellow,omitzero"` // from here on prepare; 0: 60 %
	// Red is where folding begins; 0: window less output reserve and buffer, and at most
	// 80 % if no buffer is given, at least half the window if one is. A number of tokens
	// that the window does not have counts as 0.
	Red Level `json:"red,omitzero"`
	// Target is where folding stops, at most red; 0: a quarter of the window, or if that is less than 50,000 tokens,
	// so many but at most half the window; at most three quarters of red.
	Target Level `json:"target,omitzero"`
}

// smallTarget is the target in windows of 100,000 to 200,000 tokens. Folding to half of a large window costs more
// than agents' own compaction does, which goes on from a fraction of this.
const smallTarget = 50_000

// Levels is a budget worked out in tokens. Target and Yellow are at most Red, Red is at
// most Max, and Max is less than Window.
type Levels[T ~int] struct {
	Target T `json:"target"` // where folding stops
	Yellow T `json:"yellow"` // where preparing begins
	Red    T `json:"red"`    // where folding begins
	Max    T `json:"max"`    // window less output reserve: a policy that guarantees to fit sends no larger view
	Window T `json:"window"` // the model's
}

// Limits are levels by pleat's own count, in which plans are made. Windows and budgets are given in
// the provider's tokens.
type Limits = Levels[int]

// Reported works the budget out in the provider's tokens, in which it is given.
func (b Budget) Reported() Levels[tokens.Reported] {
	return Convert(b.Limits(), func(n int) tokens.Reported { return tokens.Reported(n) })
}

// Limits works the budget out as if the provider counted as pleat does.
func (b Budget) Limits() Limits {
	w := b.Window
	if w <= 0 {
		w = model.DefaultWindow
	}
	or := func(l Level, def int) int {
		if l.IsZero() {
			return def
		}
		return min(max(l.of(w), 0), w)
	}
	output := or(b.Output, min(20_000, w/8))
	buffer := or(b.Buffer, min(13_000, w/10))
	l := Limits{Window: w, Max: max(w-output, 1)}
	l.Red = min(w*8/10, w-output-buffer)
	if !b.Buffer.IsZero() {
		l.Red = max(w-output-buffer, w/2)
	}
	if b.Red.tokens <= l.Max {
		l.Red = or(b.Red, l.Red)
	}
	l.Red = max(min(l.Red, l.Max), 1)
	l.Yellow = min(or(b.Yellow, w*6/10), l.Red)
	l.Target = min(or(b.Target, min(max(w/4, min(w/2, smallTarget)), l.Red*3/4)), l.Red)
	return l
}

// Convert returns levels in another kind of tokens.
func Convert[T, U ~int](l Levels[T], to func(T) U) Levels[U] {
	return Levels[U]{to(l.Target), to(l.Yellow), to(l.Red), to(l.Max), to(l.Window)}
}

// State is how full a window is.
type State uint8

// The states.
const (
	Green  State = iota // nothing to do
	Yellow              // prepare: red is near
	Red                 // fold now
)

// String returns "green", "yellow" or "red".
func (s State) String() string { return stateNames[min(s, Red)] }

var stateNames = []string{"green", "yellow", "red"}

// MarshalText writes the state's name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *State) UnmarshalText(text []byte) error {
	i := slices.Index(stateNames, string(text))
	if i < 0 {
		return fmt.Errorf("parse state %q: want green, yellow or red", text)
	}
	*s = State(i)
	return nil
}

// State returns how full a window with these limits is.
func (l Levels[T]) State(tokens T) State {
	switch {
	case tokens >= l.Red:
		return Red
	case tokens >= l.Yellow:
		return Yellow
	}
	return Green
}

// Warning says that a view of so many tokens is larger than it should be after folding; empty: it
// is not.
func (l Levels[T]) Warning(tokens T, why Trigger) string {
	n := text.Thousands[T]
	switch red := why == TriggerRed && tokens >= l.Red && tokens > l.Target; {
	case red && tokens > l.Max:
		return fmt.Sprintf("still red after compaction: %s tokens; red begins at %s, and at most %s may be sent",
			n(tokens), n(l.Red), n(l.Max))
	case red:
		return fmt.Sprintf("still red after compaction: %s tokens; red begins at %s", n(tokens), n(l.Red))
	case tokens > l.Max:
		return fmt.Sprintf("%s tokens are more than the %s that may be sent", n(tokens), n(l.Max))
	}
	return ""
}

// minWindow is less than any window has: a stub alone takes dozens of tokens.
const minWindow = 100

// Check reports what makes no sense about the budget.
func (b Budget) Check() error {
	if b.Window != 0 && b.Window < minWindow || b.Window > maxTokens {
		return fmt.Errorf("a window of %d tokens: want the model's context window, such as %d, at least %d",
			b.Window, model.DefaultWindow, minWindow)
	}
	for _, l := range []struct {
		name string
		Level
	}{{"output", b.Output}, {"buffer", b.Buffer}, {"yellow", b.Yellow}, {"red", b.Red}, {"target", b.Target}} {
		if l.tokens < 0 || l.tokens > maxTokens || !(l.share >= 0 && l.share <= 1) {
			return fmt.Errorf("%s at %s is not within the window", l.name, l.Level)
		}
	}
	if b.Window > 0 && b.Output.of(b.Window) >= b.Window {
		return fmt.Errorf("output at %s leaves nothing of a window of %d tokens for the prompt", b.Output, b.Window)
	}
	if b.above(b.Target, b.Red) {
		return fmt.Errorf("target at %s is above red at %s: folding would stop before it begins", b.Target, b.Red)
	}
	if b.above(b.Yellow, b.Red) {
		return fmt.Errorf("yellow at %s is above red at %s: preparing would come after folding", b.Yellow, b.Red)
	}
	return nil
}

// above reports whether a level is surely above red, as far as both are given and can be compared.
func (b Budget) above(l, red Level) bool {
	if l.IsZero() || red.IsZero() || b.Window == 0 && (l.share > 0) != (red.share > 0) {
		return false
	}
	w := cmp.Or(b.Window, maxTokens)
	return red.of(w) <= w && l.of(w) > red.of(w)
}

// Or returns b with its zero fields filled from c.
func (b Budget) Or(c Budget) Budget {
	b.Window = cmp.Or(b.Window, c.Window)
	pick := func(l *Level, d Level) {
		if l.IsZero() {
			*l = d
		}
	}
	pick(&b.Output, c.Output)
	pick(&b.Buffer, c.Buffer)
	pick(&b.Yellow, c.Yellow)
	pick(&b.Red, c.Red)
	pick(&b.Target, c.Target)
	return b
}
