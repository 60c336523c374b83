package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
)

// Effect says what a tool may do to the world, and so whether permission is needed first.
type Effect string

// The effects.
const (
	EffectNone    Effect = ""        // it only looks: it runs without asking and may be run again
	EffectWrite   Effect = "write"   // it changes files
	EffectRun     Effect = "run"     // it runs commands, which may do anything
	EffectNetwork Effect = "network" // it talks to other machines
	// EffectDelegate starts a sub-agent. It runs without asking, because permission is
	// asked for what the sub-agent does, call by call.
	EffectDelegate Effect = "delegate"
)

// Tool is something that the model can call. [NewTool] makes one from typed functions.
type Tool struct {
	// Definition is what the model is told. It must stay the same bytes for the whole
	// session, or the provider's cache is lost with every request.
	Definition model.Tool
	// Effect is what a call may do to the world.
	Effect Effect
	// Run answers a call. The text is the result. With an error, the model is told that
	// the tool failed, with the text, if any, and the error. Calls of one answer run at
	// the same time. Run must return soon when the context is done.
	Run func(ctx context.Context, c Call) (string, error)
	// Subject says in a line what a call is about, for [Rules] and for people: the
	// command, the path. Nil: nothing.
	Subject func(c Call) string

	current func(ctx context.Context, path string) ([]byte, error) // of read_file: a file as it is now
}

// NewTool makes a tool. Args is a struct into which the arguments are decoded; subject
// may be nil. See [Tool] for what the functions return.
func NewTool[Args any](
	def model.Tool, effect Effect, subject func(Args) string, run func(context.Context, Call, Args) (string, error),
) Tool {
	t := Tool{Definition: def, Effect: effect, Run: func(ctx context.Context, c Call) (string, error) {
		var in Args
		if err := c.Decode(&in); err != nil {
			return "", err
		}
		return run(ctx, c, in)
	}}
	if subject != nil {
		t.Subject = func(c Call) string {
			var in Args
			_ = c.Decode(&in) // Run reports it
			return subject(in)
		}
	}
	return t
}

// ToolOptions choose how the tools of [StandardTools] work. The zero value works.
type ToolOptions struct {
	Bash   BashOptions // how commands are run; zero: as its fields say
	Skills string      // folder of skills, each a folder with a SKILL.md; empty: none
}

// StandardTools are the tools of a coding agent, always the same and in the same order:
// bash, read_file, write_file, edit_file, glob, grep, todo_write, task, load_skill.
// What the model is told about them does not depend on the options, which may be nil, so the
// bytes of the tool list are the same in every session.
func StandardTools(w *Workspace, opts *ToolOptions) []Tool {
	o := cmp.Or(opts, new(ToolOptions))
	return []Tool{
		w.bash(o.Bash), w.readFile(), w.writeFile(), w.editFile(), w.glob(), w.grep(),
		todoWrite(), taskTool(), loadSkill(o.Skills),
	}
}

// Call is a call of a tool by the model.
type Call struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Input   string `json:"input"` // the arguments, JSON
	Effect  Effect `json:"effect,omitempty"`
	Subject string `json:"subject,omitempty"` // what the call is about, such as its command or path; see [Tool]
	Denied  string `json:"denied,omitempty"`  // why the call is not run; empty: it is run

	agent *Agent
}

// Decode reads the arguments into a struct. Its error is written for the model.
func (c Call) Decode(args any) error {
	input := cmp.Or(c.Input, "{}")
	if err := json.Unmarshal([]byte(input), args); err != nil {
		return fmt.Errorf("read the arguments of %s: %w (they must be one JSON object as the tool's schema says)",
			c.Name, err)
	}
	return nil
}

// Stream shows a piece of output to observers while the tool is still running. It does
// not become part of the result.
func (c Call) Stream(text string) {
	if c.agent != nil && text != "" {
		c.agent.tell(Event{Kind: EventToolOutput, Call: &c, Text: c.agent.o.Redact(text)})
	}
}

// Session is the conversation that the call belongs to; nil outside of a run. A tool may
// read it and write notes and pins; only the loop appends messages.
func (c Call) Session() *pleat.Session {
	if c.agent == nil {
		return nil
	}
	return c.agent.session
}

// recallTool makes one of the session's own tools a tool of the loop.
func recallTool(d model.Tool) Tool {
	return Tool{Definition: d, Run: func(ctx context.Context, c Call) (string, error) {
		text, failed, _ := inside.Of(c.Session()).Answer(ctx, c.Name, c.Input)
		if failed {
			return "", errors.New(text)
		}
		return text, nil
	}}
}

// snipTool lets the model fold the middle of the conversation by itself, where its policy
// does so before every request; nil: the policy does not.
func snipTool(p fold.Policy, child bool) []Tool {
	for _, l := range p.EveryTurn {
		if s, ok := l.(lever.Snip); ok && !(s.Main && child) {
			return []Tool{recallTool(recall.SnipTool())}
		}
	}
	return nil
}
