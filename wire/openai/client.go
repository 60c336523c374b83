package openai

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/internal/call"
	"github.com/pleat-dev/pleat/model"
)

// DefaultBaseURL is the provider's own server.
const DefaultBaseURL = "https://api.openai.com/v1"

// ClientOptions are the options of the clients of both formats. The zero value asks the
// provider's own server, which needs a Key.
type ClientOptions struct {
	BaseURL string // where /chat/completions and /responses are; empty: [DefaultBaseURL]
	Key     string `json:"-"` // never logged and in no error; empty: none is sent, as local servers have it

	// Model is the model that is asked if a request names none, and what it accepts. If it is
	// zero or only an ID, the table says what the model accepts. For a local model, package
	// localserver asks its server.
	Model model.Model

	Header http.Header     // sent along with every request
	Extra  json.RawMessage // a JSON object whose members every request gets, such as reasoning_effort

	HTTP    *http.Client  // nil: http.DefaultClient. A Timeout there bounds whole answers
	Retries int           // tries after the first; 0: 2, negative: none
	Idle    time.Duration // how long the server may be silent; 0: 5 minutes
	Limit   int           // bytes of an answer; 0: 64 MiB
	Whole   bool          // ask for answers in one piece, for servers that stream badly
	Logger  *slog.Logger  // logs when a request is tried again; nil: nothing is logged
}

// ChatClient asks a server that speaks Chat Completions, as almost all do: it is a
// [model.Generator].
//
// [EncodeChat] writes the request, so that answers of this wire go back byte for byte. The
// request follows the model's row in the table: no temperature where the model refuses it,
// and no longer answer than it can give. Models that are not the provider's get max_tokens
// instead of max_completion_tokens, and no prompt_cache_key, which some servers refuse. The
// answer is streamed, because that shows that the server is alive, unless Whole is set.
//
// Failures that may pass are tried again after the time that the server asks for, else after
// one second, two, four and so on. An answer that breaks off is tried again only if the sink
// got nothing of it. An error of the provider is a [*model.APIError] in the chain, even from
// the middle of a stream; a broken connection is [io.ErrUnexpectedEOF], a silent server
// [os.ErrDeadlineExceeded]. Redirects are not followed.
//
// A ChatClient is safe for concurrent use; its fields must not change meanwhile.
type ChatClient ClientOptions

// ResponsesClient asks a server that speaks Responses: it is a [model.Generator]. The
// answer is a message for each item. Requests are written by [EncodeResponses] and are
// not stored by the provider. Everything else is as with [ChatClient].
type ResponsesClient ClientOptions

var (
	_ model.Generator = (*ChatClient)(nil)
	_ model.Generator = (*ResponsesClient)(nil)
)

// Generate implements [model.Generator].
func (c *ChatClient) Generate(ctx context.Context, req *model.Request, sink func(model.Delta)) (model.Reply, error) {
	encode := func(r *model.Request, facts model.Model) ([]byte, error) {
		if facts.Provider == provider {
			return EncodeChat(r)
		}
		r.SessionKey = ""
		return encodeChat(r, "max_tokens")
	}
	return (*ClientOptions)(c).ask(ctx, req, sink, "/chat/completions", encode, chatWire)
}

// Generate implements [model.Generator].
func (c *ResponsesClient) Generate(ctx context.Context, req *model.Request, sink func(model.Delta)) (model.Reply, error) {
	encode := func(r *model.Request, facts model.Model) ([]byte, error) {
		// The provider's models that take a temperature are those that do not reason.
		return encodeResponses(r, facts.Provider != provider || facts.Refuses.Temperature)
	}
	return (*ClientOptions)(c).ask(ctx, req, sink, "/responses", encode, responsesWire)
}

// provider is the provider's name in the table of models.
const provider = "openai"

var chatWire = call.Wire{
	Decode: DecodeChatReply,
	Record: func(sink func(model.Delta), limit int) call.Recording {
		return &ChatRecorder{OnDelta: sink, Limit: limit}
	},
}

var responsesWire = call.Wire{
	Decode: DecodeResponsesReply,
	Record: func(sink func(model.Delta), limit int) call.Recording {
		return &ResponsesRecorder{OnDelta: sink, Limit: limit}
	},
}

func (o *ClientOptions) ask(ctx context.Context, req *model.Request, sink func(model.Delta), path string,
	encode func(*model.Request, model.Model) ([]byte, error), wire call.Wire,
) (model.Reply, error) {
	caller := call.Caller{HTTP: o.HTTP, Retries: o.Retries, Idle: o.Idle, Limit: o.Limit, Logger: o.Logger, Secret: o.Key}
	return caller.Ask(ctx, req, o.Model, !o.Whole, wire, sink, func(r *model.Request, facts model.Model) (call.Post, error) {
		body, err := encode(r, facts)
		if err == nil {
			body, err = call.WithMembers(body, o.Extra)
		}
		return call.Post{URL: o.base() + path, Header: o.header(), Body: body}, err
	})
}

func (o *ClientOptions) base() string {
	if base := strings.TrimRight(o.BaseURL, "/"); base != "" {
		return base
	}
	return DefaultBaseURL
}

func (o *ClientOptions) header() http.Header {
	h := call.Header(o.Header)
	if o.Key != "" {
		h.Set("Authorization", "Bearer "+o.Key)
	}
	return h
}

// String names the client without its key.
func (o ClientOptions) String() string { return "openai client for " + o.base() }

// GoString is String, so that no way of printing shows the key.
func (o ClientOptions) GoString() string { return o.String() }

// String names the client without its key.
func (c ChatClient) String() string { return ClientOptions(c).String() }

// GoString is String, so that no way of printing shows the key.
func (c ChatClient) GoString() string { return c.String() }

// String names the client without its key.
func (c ResponsesClient) String() string { return ClientOptions(c).String() }

// GoString is String, so that no way of printing shows the key.
func (c ResponsesClient) GoString() string { return c.String() }
