package meter_test

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/meter"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// window is the budget of these tests: folding begins at 77,500 tokens and stops at 50,000, and at most 87,500
// are sent.
var window = fold.Budget{Window: 100_000}

// gauge is the meter of a session whose last view had so many tokens by our count.
func gauge(view int) *meter.Meter {
	m := meter.New(model.Model{ID: "m"}, window)
	m.Sent(view)
	return m
}

// refuse does what a session does when a view is refused, and then has one of so many tokens. It returns the
// limits of the retry, and the size from which that would surely be refused again.
func refuse(m *meter.Meter, e *model.APIError, view, retry int) (l fold.Limits, sure int) {
	r := m.ReadRefusal(e, view)
	if r.Told {
		m.Take(r.Learn)
	}
	l, sure = m.Retry(r)
	if u, ok := m.GuessOf(r, retry); ok {
		m.Take(u)
	}
	m.Sent(retry)
	return l, sure
}

// TestRefusals refuses a view of 60,000 tokens by our count, after which one of 38,000 is sent. The model has
// taken some before, by its own report.
func TestRefusals(t *testing.T) {
	tooLong := func(used, limit, output, over int) *model.APIError {
		return &model.APIError{Kind: model.ErrorTooLong, Used: used, Limit: limit, Output: output, Over: over}
	}
	const guess, said = "is a guess", "The provider said"
	for _, tt := range []struct {
		name  string
		err   *model.APIError
		took  int // what it answered before; 0: nothing
		retry int // most tokens of the retry
		sure  int // from here on that is surely refused as well
		max   int // of later views
		bound string
	}{
		{"nothing is known", nil, 0, 40_000, 54_000, 40_000, guess},
		{"no numbers", tooLong(0, 0, 0, 0), 0, 40_000, 54_000, 40_000, guess},
		{"no numbers, but it took more", nil, 58_000, 40_000, 54_000, 58_000, guess},
		{"a limit", tooLong(0, 48_000, 0, 0), 0, 48_000, 48_000, 48_000, said},
		{"used and a limit", tooLong(60_000, 48_000, 0, 0), 0, 48_000, 48_000, 48_000, said},
		{"a limit below what it took", tooLong(60_000, 48_000, 0, 0), 58_000, 48_000, 48_000, 48_000, said},
		{"too much by", tooLong(0, 0, 0, 20_000), 0, 40_000, 40_000, 40_000, guess},
		{"too much by a little", tooLong(0, 0, 0, 600), 0, 54_000, 54_000, 54_000, guess},
		{"only used", tooLong(60_000, 0, 0, 0), 0, 54_000, 54_000, 54_000, guess},
		{"the answer leaves less", tooLong(60_000, 100_000, 50_000, 0), 0, 50_000, 50_000, 50_000, said},
		{"the answer leaves less than it took", tooLong(60_000, 100_000, 50_000, 0), 58_000, 50_000, 50_000, 58_000, said},
		{"bytes", &model.APIError{Kind: model.ErrorTooLarge, Used: 9e6, Limit: 8e6}, 0, 40_000, 54_000, 87_500, ""},
	} {
		m := gauge(60_000)
		if tt.took > 0 {
			m.Take(meter.Usage{Model: "m", Usage: model.Usage{Input: tt.took}, Estimated: tt.took})
		}
		l, sure := refuse(m, tt.err, 60_000, 38_000)
		if l.Max != tt.retry || sure != tt.sure || l.Red > l.Max || l.Target > l.Max*3/4 {
			t.Errorf("%s: the retry may have %+v, and not %d; want at most %d, not %d", tt.name, l, sure, tt.retry, tt.sure)
		}
		l = m.Limits()
		if got := m.Bound(); l.Max != tt.max || got == "" != (tt.bound == "") || !strings.Contains(got, tt.bound) {
			t.Errorf("%s: later views may have %d tokens, want %d: %q", tt.name, l.Max, tt.max, got)
		}
		if share := 50_000 * tt.max / 87_500; l.Target < share-1 || l.Target > share+1 || m.BirthLimits().Max != 87_500 {
			t.Errorf("%s: folding stops at %d, want %d; at birth %+v", tt.name, l.Target, share, m.BirthLimits())
		}
		if most := m.Most(); tt.bound == guess && most < 54_000 || tt.bound != guess && (most != l.Max || m.Sure() > 0) {
			t.Errorf("%s: %d tokens may be sent if nothing else is left, from %d on surely not", tt.name, most, m.Sure())
		}
	}
}

// TestRefusedTwice: the numbers of a refusal hold for the view that it refused, not for the one after it.
func TestRefusedTwice(t *testing.T) {
	m := gauge(60_000)
	e := &model.APIError{Kind: model.ErrorTooLong, Used: 60_000, Limit: 48_000}
	refuse(m, e, 60_000, 38_000)
	if l, sure := refuse(m, e, 38_000, 20_000); l.Max != 38_000*2/3 || sure != 38_000*9/10 {
		t.Errorf("refused again, it may have %d tokens, surely not %d", l.Max, sure)
	}
	if r := m.ReadRefusal(e, 20_000); r.Told || m.Limits().Max != 48_000 {
		t.Errorf("the same numbers teach again: %v, and later views may have %d", r.Told, m.Limits().Max)
	}
}

// TestGuessAllowsTheRetry: a guess is never below the view that was made for it.
func TestGuessAllowsTheRetry(t *testing.T) {
	for retry := 39_000; retry < 52_000; retry += 777 {
		m := gauge(60_000)
		m.Take(m.UsageOf(model.Usage{Input: 83_217}, 0))
		if refuse(m, nil, 60_000, retry); m.Limits().Max < retry {
			t.Errorf("%d tokens may be sent, and the retry has %d", m.Limits().Max, retry)
		}
	}
}

// TestRefusalsEnd: a provider that counts half as much again as we do, and says one number when it refuses,
// refuses a growing conversation twice at most.
func TestRefusalsEnd(t *testing.T) {
	const takes = 60_000
	for name, told := range map[string]func(n int) *model.APIError{
		"limit": func(int) *model.APIError { return &model.APIError{Kind: model.ErrorTooLong, Limit: takes} },
		"over":  func(n int) *model.APIError { return &model.APIError{Kind: model.ErrorTooLong, Over: n - takes} },
	} {
		m, view, refused := gauge(0), 0, 0
		for range 200 {
			if view += 1_500; view >= m.Limits().Red {
				view = m.Limits().Target
			}
			m.Sent(view)
			for view*3/2 > takes {
				refused++
				r := m.ReadRefusal(told(view*3/2), view)
				m.Take(r.Learn)
				l, _ := m.Retry(r)
				view = l.Target
				m.Sent(view)
			}
		}
		if refused == 0 || refused > 2 {
			t.Errorf("%s: %d views are refused", name, refused)
		}
	}
}

// TestSetBudgetAfterRefusal: a window that was given overrules what the provider said only if it is larger.
func TestSetBudgetAfterRefusal(t *testing.T) {
	e := &model.APIError{Kind: model.ErrorTooLong, Used: 60_000, Limit: 48_000}
	for _, tt := range []struct {
		err    *model.APIError
		budget fold.Budget
		given  int
		max    int
	}{
		{e, fold.Budget{Window: 100_000, Red: fold.Share(0.5)}, 0, 48_000},
		{e, fold.Budget{Window: 48_000}, 48_000, 42_000},
		{e, fold.Budget{Window: 100_000}, 100_000, 87_500},
		{nil, fold.Budget{Window: 100_000, Red: fold.Share(0.5)}, 0, 87_500}, // a guess
	} {
		m := gauge(60_000)
		refuse(m, tt.err, 60_000, 38_000)
		if m.SetBudget(tt.budget, tt.given); m.Limits().Max != tt.max || m.Window() != tt.budget.Window {
			t.Errorf("%+v: at most %d tokens, want %d", tt.budget, m.Limits().Max, tt.max)
		}
	}
}

// logLine is what a line of a Claude Code session file says of a message.
type logLine struct {
	Type             string
	IsSidechain      bool
	IsCompactSummary bool
	Message          struct {
		ID, Model, Role string
		Content         json.RawMessage
		Usage           struct {
			Input int `json:"input_tokens"`
			Write int `json:"cache_creation_input_tokens"`
			Read  int `json:"cache_read_input_tokens"`
		}
	}
}

func logBlocks(raw json.RawMessage) []transcript.Block {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return []transcript.Block{transcript.Say(s)}
	}
	var list []struct {
		Type, Text, Thinking, Signature, ID, Name string
		Input, Content                            json.RawMessage
	}
	_ = json.Unmarshal(raw, &list) // what is neither has no blocks
	var out []transcript.Block
	for _, b := range list {
		switch b.Type {
		case "text":
			out = append(out, transcript.Say(b.Text))
		case "thinking":
			out = append(out, transcript.Thinking{Text: transcript.Plain(b.Thinking), Signature: b.Signature})
		case "tool_use":
			out = append(out, transcript.Call(b.ID, b.Name, string(b.Input)))
		case "tool_result":
			out = append(out, transcript.ToolResult{Parts: transcript.BlocksOf(logBlocks(b.Content)...)})
		}
	}
	return out
}

// TestCorpusCalibration predicts the reported prompt sizes of real sessions one
// request ahead. The files have neither system prompt nor tools, which are 30,000 to
// 50,000 tokens: the calibration has to find that out by itself.
func TestCorpusCalibration(t *testing.T) {
	var files []string
	for _, dir := range corpustest.Folders(t) {
		more, _ := filepath.Glob(filepath.Join(dir, "claude-code", "*", "*.jsonl"))
		files = append(files, more...)
	}
	if len(files) == 0 {
		t.Skip("no Claude Code sessions in PLEAT_CORPUS")
	}
	var errs []float64
	for _, file := range files {
		cal, off, err := calibrateOn(file)
		difftest.Must(t, err)
		overhead, slope := cal.Fit()
		t.Logf("%s: %d samples, overhead %.0f, slope %.2f, error %.3f", filepath.Base(file), cal.Samples(), overhead,
			slope, off)
		errs = append(errs, off)
	}
	slices.Sort(errs)
	if median := errs[len(errs)/2]; math.IsNaN(median) || median > 0.06 {
		t.Errorf("median error %.3f", median)
	}
}

// calibrateOn also returns the mean relative error of the predictions, of which the last ten or
// so count most.
func calibrateOn(file string) (cal *meter.Line, off float64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	var (
		tok   *tokens.Tokenizer
		queue []transcript.Message
		total int
		last  string
	)
	sum, weight := 0.2, 1.0 // before the first sample
	cal = new(meter.Line)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var l logLine
		if json.Unmarshal(lines.Bytes(), &l) != nil || l.IsSidechain || l.Type != "user" && l.Type != "assistant" ||
			l.Message.Model == "<synthetic>" {
			continue
		}
		if l.IsCompactSummary {
			total, queue = 0, nil
		}
		if l.Type == "assistant" && l.Message.ID != last {
			if last = l.Message.ID; tok == nil {
				m, _ := model.DefaultModels().Lookup(l.Message.Model)
				tok = tokens.NewTokenizer(m, nil)
			}
			for _, m := range queue {
				total += tok.CountMessage(m)
			}
			queue = nil
			u := l.Message.Usage
			predicted, reported := float64(cal.Correct(total)), float64(tokens.Reported(u.Input+u.Write+u.Read))
			if cal.Observe(total, tokens.Reported(u.Input+u.Write+u.Read)) {
				sum, weight = sum*0.9+math.Abs(reported-predicted)/reported, weight*0.9+1
			}
		}
		queue = append(queue, transcript.NewMessage(transcript.Role(l.Message.Role), logBlocks(l.Message.Content)...))
	}
	return cal, sum / weight, lines.Err()
}
