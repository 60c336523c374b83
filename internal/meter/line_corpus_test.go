package meter_test

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/internal/meter"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

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
		if err != nil {
			t.Fatal(err)
		}
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
