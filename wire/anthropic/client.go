package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/pleat-dev/pleat/internal/call"
	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// DefaultBaseURL is the provider's own server.
const DefaultBaseURL = "https://api.anthropic.com"

// BindingBeta is the value that anthropic-beta must have for [Client.DropThinking], and for
// views with DropThinking that [Request.Splice] writes.
const BindingBeta = "thinking-binding-controls-2026-08-01"

// Client asks a server that speaks the Messages format: it is a [model.Generator]. It needs
// only a key, and a model's name in the client or in each request. The BaseURL is where
// /v1/messages is.
//
// [Encode] writes the request, so that answers of this wire go back byte for byte. With a
// SessionKey in the request the prompt is cached. [model.ClientOptions] has
// the rest.
type Client struct {
	model.ClientOptions
	Bearer bool // Key is a token for Authorization, not an API key
	// DropThinking asks the provider to ignore thinking that follows a changed prefix instead
	// of refusing the request, on models that check it. Conversations with folds need it: see
	// [transcript.View].
	DropThinking bool
}

var _ model.Generator = (*Client)(nil)

// Generate implements [model.Generator].
func (c *Client) Generate(ctx context.Context, req *model.Request, sink func(model.Delta)) (model.Reply, error) {
	return call.Ask(ctx, &c.ClientOptions, req, clientWire, sink, c.post)
}

var clientWire = call.Wire{Decode: DecodeReply, Record: NewRecorder}

func (c *Client) post(r *model.Request, facts model.Model) (call.Post, error) {
	if r.MaxTokens == 0 && facts.MaxOutput > 0 {
		r.MaxTokens = min(defaultMaxTokens, facts.MaxOutput)
	}
	body, err := Encode(r)
	if err != nil {
		return call.Post{}, err
	}
	h := c.header()
	callerDecides := jsonspan.Value(c.Extra).Get("thinking") != nil
	if c.DropThinking && facts.Thinking.Bound && !callerDecides {
		if body, err = call.WithMembers(body, dropThinking(facts)); err != nil {
			return call.Post{}, err
		}
		h.Set("Anthropic-Beta", strings.Join(append(h.Values("Anthropic-Beta"), BindingBeta), ","))
	}
	return call.Post{URL: c.url(), Header: h, Body: body}, nil
}

// dropThinking is the member that makes the provider drop thinking that does not verify. It
// needs a thinking mode, and the first of the model's modes is its default.
func dropThinking(facts model.Model) json.RawMessage {
	mode := "adaptive"
	if len(facts.Thinking.Modes) > 0 {
		mode = facts.Thinking.Modes[0]
	}
	return fmt.Appendf(nil, `{"thinking":{"type":%q,"block_binding":{"prefix_mismatch_behavior":"drop_block"}}}`, mode)
}

func (c *Client) url() string {
	base := cmp.Or(strings.TrimRight(c.BaseURL, "/"), DefaultBaseURL)
	return strings.TrimSuffix(base, "/v1") + "/v1/messages"
}

func (c *Client) header() http.Header {
	h := call.Header(c.Header)
	h.Set("Anthropic-Version", "2023-06-01")
	switch {
	case c.Key != "" && c.Bearer:
		h.Set("Authorization", "Bearer "+c.Key)
	case c.Key != "":
		h.Set("X-Api-Key", c.Key)
	}
	return h
}

// Messages returns what a session needs to talk to the model over this wire.
func Messages(m model.Model) model.Wire {
	return model.Wire{Model: m, Format: transcript.FormatAnthropic, Codec: DecodeMessage, Check: Checker(m)}
}

// Checker returns the check of [Messages]: it refuses views that this wire would refuse for
// the model. With the zero Model it has only the rules that hold for all models.
func Checker(m model.Model) func(transcript.View, *transcript.Transcript) error {
	return wire.Checker(m, encodeAsIs, Decode)
}

// DecodeMessage reads one element of a messages array: it is the [transcript.Codec] of this
// wire. It keeps nothing of raw.
func DecodeMessage(raw []byte) (transcript.Message, error) {
	return wire.DecodeOne("messages", raw, Decode, func(r *Request) []transcript.Message { return r.Messages })
}
