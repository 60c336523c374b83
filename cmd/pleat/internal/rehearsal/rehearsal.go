// Package rehearsal is a model without a network, for trying out the agent: a small
// program that plays one investigation in its own workspace. The tools it calls really
// run, and the window is so small that you can watch folding, a digest and an unfold. It
// is not a language model, and says so.
//
// It keeps nothing between two requests. What it does next, and every fact in its answer,
// it reads from the messages that it is sent, as a model has to: it has to get back what
// was folded away with the recall tools.
//
//	err := rehearsal.Scenarios[0].Prepare(dir)
//	w, err := agent.OpenWorkspace(dir)
//	a, err := agent.New(ctx, &o) // o is rehearsal.Scenarios[0].Options(w)
//	res, err := a.Run(ctx, rehearsal.Scenarios[0].Said()[0])
package rehearsal

import (
	"context"
	"embed"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

// Model plays the model of a scenario; [Scenario.Model] makes it.
type Model struct {
	// Pace is the pause after each word of an answer, so that people can follow; 0: none.
	Pace     time.Duration
	Provider *Provider // the server behind it
	scenario Scenario
	script   *script
}

// row is the rehearsal's row in a table of models: a window of 8,000 tokens, no price.
var row = model.Model{ID: "rehearsal", Provider: "none", Window: 8_000, MaxOutput: 1_000}

// Rules allow what the rehearsal does: harmless commands, and notes in its workspace.
func Rules() agent.Rules {
	return agent.Rules{Allow: []string{
		"bash(ls -la)", "bash(wc -l *)", "bash(uname -sr)", "bash(uptime)", "bash(df -h .)", "bash(df -h)",
		"bash(head -c 40000 big/a.log)", "bash(true)", "bash(awk -v OFMT=%.10g 'BEGIN {print *)", "write_file(*.md)",
	}}
}

// files has the scripts, and the files of a made-up shop, a made-up machine and a made-up program.
//
//go:embed *.txt shop tight constraint
var files embed.FS

// Generate implements [model.Generator].
func (r *Model) Generate(ctx context.Context, req *model.Request, sink func(model.Delta)) (model.Reply, error) {
	s := &scene{Scenario: r.scenario, script: r.script, system: req.System, tools: req.Tools}
	for _, m := range req.Messages {
		s.see(m)
	}
	count := tokens.NewTokenizer(row, nil)
	input, read := count.CountRequest(*req), 0
	section, digest := "digest", req
	if !req.NoTools && len(req.Tools) > 0 {
		section, digest, read = s.next(), nil, r.Provider.cached(*req, count)
	}
	if err := r.Provider.takes(input, digest); err != nil {
		return model.Reply{}, err
	}
	text, calls, err := s.play(section)
	if err != nil {
		return model.Reply{}, err
	}
	if pause := clockLine.FindStringSubmatch(text); pause != nil {
		d, _ := time.ParseDuration(pause[1]) // the script is part of the program
		r.Provider.pass(d)
		text = strings.TrimPrefix(text, pause[0])
	}
	if err := r.stream(ctx, text, sink); err != nil {
		return model.Reply{}, err
	}
	blocks := calls
	if text != "" {
		blocks = append([]transcript.Block{transcript.Say(text)}, calls...)
	}
	said, stop := transcript.Assistant(blocks...), model.StopEnd
	if len(calls) > 0 {
		stop = model.StopToolUse
	}
	return model.Reply{
		Model: "rehearsal", Messages: []transcript.Message{said}, Stop: stop,
		Usage: model.Usage{Input: input - read, CacheRead: read, Output: count.CountMessage(said)},
	}, nil
}

// stream hands out the text word by word.
func (r *Model) stream(ctx context.Context, text string, sink func(model.Delta)) error {
	for _, word := range strings.SplitAfter(text, " ") {
		if sink != nil {
			sink(model.Delta{Kind: transcript.KindText, Text: word})
		}
		if sink != nil && r.Pace > 0 {
			select {
			case <-time.After(r.Pace):
			case <-ctx.Done():
			}
		}
	}
	return ctx.Err()
}

// scene is what one request shows.
type scene struct {
	Scenario
	script *script
	system string
	tools  []model.Tool
	// Progress is the step of the newest calls; 0: none were made yet, or what the summarizer was given does not tell.
	Progress int
	texts    []string // everything that is shown, oldest first
	last     []string // the newest results
	Whole    bool     // a digest of everything is wanted
	calls    []string // that are shown, or that a digest lists
	more     int      // calls that a digest only counts
}

// A step is known by the ids of its calls, or by the line that a digest has about it. A digest
// of everything also has the newest results, which the model has not seen.
var (
	stepID        = regexp.MustCompile(`^rehearsal-(\d+)-\d+$`)
	newestResults = regexp.MustCompile(`(?s)<newest-results>\n(.*?)</newest-results>`)
	clockLine     = regexp.MustCompile(`^@ (\w+)\n`)
	stepLine      = regexp.MustCompile(`(?m)^- Step (\d+) of the rehearsal was the last\.$`)
)

// see takes in a message. Who writes a digest may be given messages as JSON.
func (s *scene) see(m transcript.Message) {
	if m.Role() == transcript.RoleAssistant {
		s.last = nil
	}
	at := func(id []string) {
		if id != nil {
			s.Progress = number(id[1])
		}
	}
	for _, b := range m.Blocks().All() {
		switch b := b.(type) {
		case transcript.Text:
			txt := b.Text.String()
			at(stepLine.FindStringSubmatch(txt))
			s.texts = append(s.texts, txt)
			s.listed(txt)
			if r := newestResults.FindStringSubmatch(txt); r != nil {
				s.last = []string{r[1]}
			}
			if i := strings.Index(txt, `[{"role": `); i >= 0 {
				s.Whole = true
				s.read(json.NewDecoder(strings.NewReader(txt[i:])))
			}
		case transcript.ToolCall:
			s.called(b.Name, b.Input.String())
			at(stepID.FindStringSubmatch(b.ID))
		case transcript.ToolResult:
			s.texts = append(s.texts, b.Text())
			s.last = append(s.last, b.Text())
		}
	}
}

var named = strings.NewReplacer(
	`"type": "tool_use"`, `"type": "tool_use", "id": "call"`,
	`"type": "tool_result"`, `"type": "tool_result", "tool_use_id": "call"`,
)

// read takes in messages that are given as JSON, as far as they go: they may be cut anywhere.
// They have no ids, which a message needs, so the steps are counted.
func (s *scene) read(dec *json.Decoder) {
	_, err := dec.Token()
	for err == nil && dec.More() {
		var raw json.RawMessage
		if err = dec.Decode(&raw); err != nil {
			return
		}
		m, _ := anthropic.DecodeMessage([]byte(named.Replace(string(raw)))) // what is no message says nothing
		if len(m.Calls()) > 0 {
			s.Progress++
		}
		s.see(m)
	}
}

// Newest is the newest results together.
func (s *scene) Newest() string { return strings.Join(s.last, "\n") }
