package gemini

import (
	"context"
	"net/url"
	"strings"

	"github.com/pleat-dev/pleat/internal/call"
	"github.com/pleat-dev/pleat/model"
)

// DefaultBaseURL is the provider's own server.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// Client asks a server that speaks generateContent: it is a [model.Generator]. It needs only
// a key, and a model's name in the client or in each request. The BaseURL is where /v1beta
// is.
//
// [Encode] writes the request, so that answers of this wire go back byte for byte, with
// their signatures. Everything else is said of [model.ClientOptions].
type Client model.ClientOptions

var _ model.Generator = (*Client)(nil)

// Generate implements [model.Generator].
func (c *Client) Generate(ctx context.Context, req *model.Request, sink func(model.Delta)) (model.Reply, error) {
	return call.Ask(ctx, (*model.ClientOptions)(c), req, clientWire, sink, c.post)
}

var clientWire = call.Wire{
	Decode: DecodeReply,
	Record: func(sink func(model.Delta), limit int) call.Recording {
		return &Recorder{OnDelta: sink, Limit: limit}
	},
}

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

// String names the client without its key.
func (c Client) String() string { return "gemini client for " + c.base() }

// GoString is String, so that no way of printing shows the key.
func (c Client) GoString() string { return c.String() }
