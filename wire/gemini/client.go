package gemini

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/pleat-dev/pleat/internal/call"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// DefaultBaseURL is the provider's own server.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// Client asks a server that speaks generateContent: it is a [model.Generator]. It needs only
// a key, and a model's name in the client or in each request. The BaseURL is where /v1beta
// is.
//
// [Encode] writes the request, so that answers of this wire go back byte for byte, with
// their signatures. [model.ClientOptions] has the rest.
type Client model.ClientOptions

var _ model.Generator = (*Client)(nil)

// Generate implements [model.Generator].
func (c *Client) Generate(ctx context.Context, req *model.Request, sink func(model.Delta)) (model.Reply, error) {
	return call.Ask(ctx, (*model.ClientOptions)(c), req, clientWire, sink, c.post)
}

var clientWire = call.Wire{Decode: DecodeReply, Record: NewRecorder}

func (c *Client) post(r *model.Request, facts model.Model) (call.Post, error) {
	body, err := encode(r, facts.Thinking.Signed)
	const method = ":streamGenerateContent?alt=sse"
	h := call.Header(c.Header)
	if c.Key != "" {
		h.Set("X-Goog-Api-Key", c.Key)
	}
	name := strings.TrimPrefix(r.Model, "models/")
	return call.Post{URL: c.base() + "/v1beta/models/" + url.PathEscape(name) + method, Header: h, Body: body}, err
}

func (c *Client) base() string {
	if base := strings.TrimSuffix(strings.TrimRight(c.BaseURL, "/"), "/v1beta"); base != "" {
		return base
	}
	return DefaultBaseURL
}

// DefaultModel is as in [model.ClientOptions].
func (c *Client) DefaultModel() model.Model { return model.ClientOptions(*c).DefaultModel() }

// Format names the server, so that no way of printing shows the key.
func (c Client) Format(f fmt.State, _ rune) { fmt.Fprint(f, "gemini client for ", c.base()) }

// GenerateContent returns what a session needs to talk to the model over this wire.
func GenerateContent(m model.Model) model.Wire {
	return model.Wire{Model: m, Format: transcript.FormatGemini, Codec: DecodeMessage, Check: Checker(m)}
}

// Checker returns the check of [GenerateContent]: it refuses views that this wire would
// refuse for the model. With the zero Model it has only the rules that hold for all models.
func Checker(m model.Model) func(transcript.View, *transcript.Transcript) error {
	// It writes the messages one by one in their order and repairs nothing but what [Request.Splice] does too, so
	// that Check can find what is wrong with them.
	return wire.Checker(m, func(req *model.Request) ([]byte, error) {
		return write(req, "", collect(req.Messages), m.Thinking.Signed)
	}, Decode)
}

// DecodeMessage reads one element of a contents array: it is the [transcript.Codec] of this
// wire. It keeps nothing of raw.
func DecodeMessage(raw []byte) (transcript.Message, error) {
	return wire.DecodeOne("contents", raw, Decode, func(r *Request) []transcript.Message { return r.Messages })
}
