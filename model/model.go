// Package model describes the models that are talked to: requests and replies in no
// particular wire format, [Generator] as the one way to ask a model, the meaning of
// providers' errors ([ClassifyError]), and a table of sizes, prices and rules ([Models]).
package model

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// Request is a request to a model in no particular wire format: what a program that has
// no original bytes gives to a wire package's Encode.
type Request struct {
	Model       string               // empty: the client's
	System      string               // the system prompt; empty: none
	Tools       []Tool               // nil: none
	Messages    []transcript.Message // at least one
	MaxTokens   int                  // 0: the wire package's default where the wire demands one
	Temperature *float64             // nil: not sent
	Stream      bool                 // the answer comes in pieces
	Once        bool                 // the client does not repeat it when it fails: whoever asks does
	NoTools     bool                 // tools are listed but the model must not call them
	SessionKey  string               // hint for the provider's prompt cache, where it takes one; may be empty
	Marker      int                  // with a SessionKey: also cache up to the end of this many messages; 0: no
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

var stopNames = []string{"unknown", "end", "tool_use", "max_tokens", "window", "refusal", "pause", "compaction"}

// String returns the reason's name.
func (s StopReason) String() string { return text.NameOf(stopNames, s) }

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

// Check reports a count that no request can have.
func (u Usage) Check() error {
	if n := min(u.Input, u.CacheRead, u.CacheWrite, u.CacheWrite1h, u.Output, u.Reasoning); n < 0 {
		return fmt.Errorf("a usage of %d tokens", n)
	}
	return nil
}

// Plus is the sum of both.
func (u Usage) Plus(o Usage) Usage {
	return Usage{
		Input: u.Input + o.Input, CacheRead: u.CacheRead + o.CacheRead, CacheWrite: u.CacheWrite + o.CacheWrite,
		CacheWrite1h: u.CacheWrite1h + o.CacheWrite1h, Output: u.Output + o.Output, Reasoning: u.Reasoning + o.Reasoning,
	}
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
// Without one the answer need not be streamed. The request is not changed and not kept. When
// the context ends, Generate returns soon: its caller waits for it.
//
// If the provider answers with an error, the chain has an [*APIError]. An answer that broke
// off is an error too; the Reply then has what had arrived.
type Generator interface {
	Generate(ctx context.Context, req *Request, sink func(Delta)) (Reply, error)
}

// Recorder puts an answer together from the bytes of its event stream while they pass by on
// their way to somebody else:
//
//	io.Copy(io.MultiWriter(client, recorder), upstream.Body)
//
// It takes chunks of any size. The wire packages make one for one stream; it is not safe for
// concurrent use.
type Recorder interface {
	// Write takes the next bytes of the stream. It always reports success.
	io.Writer
	// Reply returns the answer so far. If the stream broke off, it has what is complete, and the
	// error wraps [io.ErrUnexpectedEOF]. An error that the provider sent inside the stream is
	// Reply.Err, beside a nil error.
	Reply() (Reply, error)
	// Done reports whether the answer is over: the provider has ended it or sent an error.
	Done() bool
}

// GeneratorFunc makes a function a [Generator].
type GeneratorFunc func(ctx context.Context, req *Request, sink func(Delta)) (Reply, error)

// Generate calls f.
func (f GeneratorFunc) Generate(ctx context.Context, req *Request, sink func(Delta)) (Reply, error) {
	return f(ctx, req, sink)
}

// ClientOptions are what the clients of the wire packages have in common. The zero value asks
// the provider's own server, which needs a Key.
//
// The request follows the model's row in the table: no temperature where the model refuses
// it, and no longer answer than it can give. The answer is streamed, because that shows that
// the server is alive.
//
// Failures that may pass are tried again after the time that the server asks for, else after
// one second, two, four and so on. An answer that breaks off is tried again only if the sink
// got nothing of it. An error of the provider is a [*APIError] in the chain, even from the
// middle of a stream; a broken connection is [io.ErrUnexpectedEOF], a silent server
// [os.ErrDeadlineExceeded]. Redirects are not followed.
//
// A client is safe for concurrent use; its options must not change meanwhile.
type ClientOptions struct {
	BaseURL string // where the server is; empty: the provider's own
	Key     string `json:"-"` // never logged and in no error; empty: none is sent, as local servers have it

	// Model is the model that is asked if a request names none, and what it accepts. If it is
	// zero or only an ID, the table says what the model accepts.
	Model Model

	Header http.Header     // sent along with every request
	Extra  json.RawMessage // a JSON object whose members every request gets

	HTTP    *http.Client  // nil: http.DefaultClient. A Timeout there bounds whole answers
	Retries int           // tries after the first; 0: 2, negative: none
	Idle    time.Duration // how long the server may be silent; 0: 5 minutes
	Limit   int           // bytes of an answer; 0: 64 MiB
	Logger  *slog.Logger  // logs when a request is tried again; nil: nothing is logged
}

// DefaultModel returns the model that is asked if a request names none, and what the table says about it
// if Model is only an ID. It is zero if Model is.
func (o ClientOptions) DefaultModel() Model {
	m := o.Model
	if m.ID != "" && m.Provider == "" && m.Window == 0 {
		m, _ = DefaultModels().Lookup(m.ID)
		m.ID = o.Model.ID // may have a date
	}
	return m
}

// Format names the server, so that no way of printing shows the key.
func (o ClientOptions) Format(f fmt.State, _ rune) {
	fmt.Fprint(f, "client of ", cmp.Or(o.BaseURL, "the provider's own server"))
}

// Wire is what a session has to know of the wire that its messages come from and go to:
// the model at the other end, how stored messages are read back, and which views the wire
// would refuse. The wire packages make one for each of their formats: anthropic.Messages,
// openai.Chat, openai.Responses and gemini.GenerateContent.
type Wire struct {
	Model  Model             // at the other end; zero: unknown
	Format transcript.Format // of the messages that Codec reads
	Codec  transcript.Codec  // reads stored messages back; nil: they are stored in the neutral form
	// Check returns an error that wraps [transcript.ErrIllegal] if the wire would refuse
	// the view for a reason that the whole transcript does not already give.
	Check func(v transcript.View, t *transcript.Transcript) error
}
