package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/model"
)

// Effect says what a tool may do to the world, and so whether it is asked about first.
type Effect string

// The effects.
const (
	EffectNone    Effect = ""        // it only looks: it runs without asking and may be run again
	EffectWrite   Effect = "write"   // it changes files
	EffectRun     Effect = "run"     // it runs commands, which may do anything
	EffectNetwork Effect = "network" // it talks to other machines
)

// Tool is something that the model can call.
type Tool struct {
	// Definition is what the model is told. It must stay the same bytes for the whole
	// session, or the provider's cache is lost with every request.
	Definition model.Tool
	// Effect is what a call may do to the world.
	Effect Effect
	// Run answers a call. The text is the result; with an error the model is told that
	// the tool failed, with the text, if there is any, and the error. Calls of one answer
	// run at the same time. It must return soon when the context is done.
	Run func(ctx context.Context, c Call) (string, error)
	// Subject says in a line what a call is about, for [Rules] and for people: the
	// command, the path. Nil: nothing.
	Subject func(c Call) string
}

// Call is a call of a tool by the model.
type Call struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Input   string `json:"input"` // the arguments, JSON
	Effect  Effect `json:"effect,omitempty"`
	Subject string `json:"subject,omitempty"` // the command, the path; see [Tool]
	// Denied says why the call is not run; empty: it is.
	Denied string `json:"denied,omitempty"`

	agent *Agent
}

// Decode reads the arguments into a struct. Its error is made for the model.
func (c Call) Decode(args any) error {
	input := c.Input
	if input == "" {
		input = "{}"
	}
	if err := json.Unmarshal([]byte(input), args); err != nil {
		return fmt.Errorf("read the arguments of %s: %w (they must be one JSON object as the tool's schema says)", c.Name, err)
	}
	return nil
}

// Stream shows a piece of output to observers while the tool is still running. It does
// not become part of the result.
func (c Call) Stream(text string) {
	if c.agent != nil && text != "" {
		shown := c
		c.agent.tell(Event{Kind: EventToolOutput, Call: &shown, Text: c.agent.redact(text)})
	}
}

// Session is the conversation that the call belongs to; nil outside of a run. A tool may
// read it and write notes and pins; messages are the loop's to append.
func (c Call) Session() *pleat.Session {
	if c.agent == nil {
		return nil
	}
	return c.agent.session
}

// recallTool makes one of the session's own tools a tool of the loop.
func recallTool(d model.Tool) Tool {
	return Tool{Definition: d, Run: func(ctx context.Context, c Call) (string, error) {
		text, failed, _ := c.Session().Recall(ctx, c.Name, c.Input)
		if failed {
			return "", fmt.Errorf("%s", text)
		}
		return text, nil
	}}
}
