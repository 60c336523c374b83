// Package model describes the models that are talked to: requests and replies in no
// particular wire format, [Generator] as the one way to ask a model, the meaning of
// providers' errors ([ClassifyError]), and a table of sizes, prices and rules ([Models]).
package model

import (
	"context"

	"github.com/pleat-dev/pleat/transcript"
)

// Request is a request to a model in no particular wire format: what a program that has
// no original bytes gives to a wire package's Encode.
type Request struct {
	Model       string
	System      string
	Tools       []Tool
	Messages    []transcript.Message
	MaxTokens   int      // 0: the wire package's default where the wire demands one
	Temperature *float64 // nil: not sent
	Stream      bool
	NoTools     bool   // tools are listed but the model must not call them
	SessionKey  string // hint for the provider's prompt cache, where it takes one; may be empty
	Marker      int    // with a SessionKey: also cache the prompt up to the end of this many messages; 0: no
}

// Tool is a tool definition.
type Tool struct {
	Name        string
	Description string
	Schema      string // JSON schema of the input
	Raw         string // the definition's bytes on the wire it came from, if it came from one
}

// Reply is a complete answer of a model.
type Reply struct {
	ID       string
	Model    string
	Messages []transcript.Message // one; on the Responses wire one for each item
	Stop     StopReason
	StopRaw  string // the wire's own word
	Usage    Usage
	Err      *APIError // an error the provider sent inside a stream
}

// StopReason says why a model stopped.
type StopReason uint8

// The reasons for stopping.
const (
	StopUnknown   StopReason = iota // none was given, or one we do not know
	StopEnd                         // the model was done
	StopToolUse                     // it waits for tool results
	StopMaxTokens                   // the output limit was reached: the answer is cut off
	StopWindow                      // the context window was reached: the answer is cut off
	StopRefusal                     // the model or a filter refused
	StopPause                       // a server tool's turn is to be continued
	StopCompact                     // the provider's own compaction ended the turn
)

var stopNames = [...]string{"unknown", "end", "tool_use", "max_tokens", "window", "refusal", "pause", "compaction"}

// String returns the reason's name.
func (s StopReason) String() string {
	if int(s) < len(stopNames) {
		return stopNames[s]
	}
	return "unknown"
}

// Usage is what a provider says a request cost, in tokens. The four input figures do
// not overlap.
type Usage struct {
	Input        int // neither read from nor written to the cache
	CacheRead    int
	CacheWrite   int // with the short or only lifetime
	CacheWrite1h int // with the one-hour lifetime
	Output       int // reasoning included
	Reasoning    int // the part of Output that was reasoning, where the provider says
}

// Prompt is the size of the whole prompt.
func (u Usage) Prompt() int { return u.Input + u.CacheRead + u.CacheWrite + u.CacheWrite1h }

// Delta is a piece of an answer as it streams in.
type Delta struct {
	Kind   transcript.Kind // KindText, KindThinking or KindToolCall
	Index  int             // which block or item of the answer it belongs to
	Text   string          // the next piece of text, thinking or tool input
	CallID string          // with the first piece of a tool call
	Name   string          // with the first piece of a tool call
}

// DeltaOf is a whole block as a piece of an answer. It reports false for blocks of which
// answers have no pieces.
func DeltaOf(b transcript.Block, index int) (Delta, bool) {
	d := Delta{Kind: b.Kind(), Index: index}
	switch b := b.(type) {
	case transcript.Text:
		d.Text = b.Text.String()
	case transcript.Thinking:
		d.Text = b.Text.String()
	case transcript.ToolCall:
		d.Text, d.CallID, d.Name = b.Input.String(), b.ID, b.Name
	default:
		return d, false
	}
	return d, true
}

// Stream hands out a whole answer as pieces.
func (r Reply) Stream(sink func(Delta)) {
	index := 0
	for _, m := range r.Messages {
		for _, b := range m.Blocks().All() {
			if d, ok := DeltaOf(b, index); ok {
				sink(d)
			}
			index++
		}
	}
}

// Generator is a model that can be asked: the one seam between pleat and model servers.
// The wire packages have clients for real ones, package pleattest has one that follows a
// script.
//
// Generate sends the request and returns the whole answer. With a sink, pieces of the
// answer are handed to it in order as they arrive; the sink must not block for long.
// Without one the answer need not be streamed. The request is not changed and not kept.
//
// If the provider answers with an error, the chain has an [*APIError]. An answer that broke
// off is an error too; the Reply then has what had arrived.
type Generator interface {
	Generate(ctx context.Context, req *Request, sink func(Delta)) (Reply, error)
}

// GeneratorFunc makes a function a [Generator].
type GeneratorFunc func(ctx context.Context, req *Request, sink func(Delta)) (Reply, error)

// Generate calls f.
func (f GeneratorFunc) Generate(ctx context.Context, req *Request, sink func(Delta)) (Reply, error) {
	return f(ctx, req, sink)
}
