package gemini

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/internal/call"
	"github.com/pleat-dev/pleat/model"
)

// DefaultBaseURL is the provider's own server.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// Client asks a server that speaks generateContent: it is a [model.Generator]. It needs only
// a key, and a model's name in the client or in each request.
//
// [Encode] writes the request, so that answers of this wire go back byte for byte, with
// their signatures. The request follows the model's row in the table: no longer answer than
// it can give. The answer is streamed, because that shows that the server is alive, unless
// Whole is set.
//
// Failures that may pass are tried again after the time that the server asks for, else after
// one second, two, four and so on. An answer that breaks off is tried again only if the sink
// got nothing of it. An error of the provider is a [*model.APIError] in the chain, even from
// the middle of a stream; a broken connection is [io.ErrUnexpectedEOF], a silent server
// [os.ErrDeadlineExceeded]. Redirects are not followed.
//
// A Client is safe for concurrent use; its fields must not change meanwhile.
type Client struct {
	BaseURL string // where /v1beta is; empty: [DefaultBaseURL]
	Key     string `json:"-"` // never logged and in no error; empty: none is sent

	// Model is the model that is asked if a request names none, and what it accepts. If it is
	// zero or only an ID, the table says what the model accepts.
	Model model.Model

	Header http.Header     // sent along with every request
	Extra  json.RawMessage // a JSON object whose members every request gets, such as safetySettings

	HTTP    *http.Client  // nil: http.DefaultClient. A Timeout there bounds whole answers
	Retries int           // tries after the first; 0: 2, negative: none
	Idle    time.Duration // how long the server may be silent; 0: 5 minutes
	Limit   int           // bytes of an answer; 0: 64 MiB
	Whole   bool          // ask for answers in one piece, for servers that stream badly
	Logger  *slog.Logger  // logs when a request is tried again; nil: nothing is logged
}

var _ model.Generator = (*Client)(nil)

// Generate implements [model.Generator].
func (c *Client) Generate(ctx context.Context, req *model.Request, sink func(model.Delta)) (model.Reply, error) {
	caller := call.Caller{HTTP: c.HTTP, Retries: c.Retries, Idle: c.Idle, Limit: c.Limit, Logger: c.Logger, Secret: c.Key}
	return caller.Ask(ctx, req, c.Model, !c.Whole, clientWire, sink, c.post)
}

var clientWire = call.Wire{
	Decode: DecodeReply,
	Record: func(sink func(model.Delta), limit int) call.Recording {
		return &Recorder{OnDelta: sink, Limit: limit}
	},
}

func (c *Client) post(r *model.Request, facts model.Model) (call.Post, error) {
	body, err := encode(r, facts.Thinking.Signed)
	if err == nil {
		body, err = call.WithMembers(body, c.Extra)
	}
	method := ":generateContent"
	if r.Stream {
		method = ":streamGenerateContent?alt=sse"
	}
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
