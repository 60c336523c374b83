package anthropic

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/call"
	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/table"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// DefaultBaseURL is the provider's own server.
const DefaultBaseURL = "https://api.anthropic.com"

// BindingBeta is the value that anthropic-beta must have for requests with thinking.block_binding, as [Client]
// sends them, and [Request.Splice] writes them for views with DropThinking.
const BindingBeta = "thinking-binding-controls-2026-08-01"

// Client asks a server that speaks the Messages format: it is a [model.Generator]. It needs
// only a key, and a model's name in the client or in each request. The BaseURL is where
// /v1/messages is.
//
// [Encode] writes the request, so that answers of this wire go back byte for byte. With a
// SessionKey in the request the prompt is cached. [model.ClientOptions] has
// the rest.
//
// Models that bind thinking to what is before it are asked to drop what does not verify instead of refusing the
// request, as conversations with folds need it ([model.ThinkingRule].Drops), unless Extra has a mode of thinking
// without a place for that, or decides it itself.
type Client struct {
	model.ClientOptions
	Bearer bool // Key is a token for Authorization, not an API key
}

var _ model.Generator = (*Client)(nil)

// Generate implements [model.Generator].
func (c *Client) Generate(ctx context.Context, req *model.Request, sink func(model.Delta)) (model.Reply, error) {
	own := *c // post adds to Extra
	return call.Ask(ctx, &own.ClientOptions, req, clientWire, sink, own.post)
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
	if asks := dropThinking(c.Extra); facts.Thinking.Bound && asks != nil {
		c.Extra = asks
		h.Set("Anthropic-Beta", strings.Join(append(h.Values("Anthropic-Beta"), BindingBeta), ","))
	}
	return call.Post{URL: c.url(), Header: h, Body: body}, nil
}

// dropThinking adds to the members of a request what makes the provider drop thinking that does not verify. It
// returns nil if the mode of thinking has no place for it, or if the members have it.
func dropThinking(members []byte) []byte {
	extra := jsonspan.Value(cmp.Or(string(members), "{}"))
	thinking := extra.Get("thinking")
	switch {
	case thinking == nil && extra.Valid(jsonspan.Object) == nil:
		return addBinding(extra.Set([]byte(`{"type":"adaptive"}`), "thinking"))
	case thinking.Get("block_binding") == nil && takesBinding(thinking.Get("type").Text()):
		return addBinding(extra)
	}
	return nil
}

// Format names the server, so that no way of printing shows the key.
func (c Client) Format(f fmt.State, _ rune) { fmt.Fprint(f, "anthropic client for ", c.url()) }

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

// Messages returns what a session needs to talk to the model over this wire. How the model thinks is up to the
// requests, so where it can be asked for thinking of a fixed size, this counts as asked for: see
// [model.ThinkingRule].First.
func Messages(m model.Model) model.Wire {
	m = table.Complete(m)
	modes := m.Thinking.Modes
	m.Thinking.First = m.Thinking.First || modes == nil || slices.Contains(modes, "enabled")
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
