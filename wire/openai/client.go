package openai

import (
	"cmp"
	"context"
	"strings"

	"github.com/pleat-dev/pleat/internal/call"
	"github.com/pleat-dev/pleat/model"
)

// DefaultBaseURL is the provider's own server.
const DefaultBaseURL = "https://api.openai.com/v1"

// ChatClient asks a server that speaks Chat Completions, as almost all do: it is a
// [model.Generator]. The BaseURL is where /chat/completions is. For a local model, package
// localserver asks its server what the model accepts.
//
// [EncodeChat] writes the request, so that answers of this wire go back byte for byte. Models
// that are not the provider's get max_tokens instead of max_completion_tokens, and no
// prompt_cache_key, which some servers refuse. Everything else is said of
// [model.ClientOptions].
type ChatClient model.ClientOptions

// ResponsesClient asks a server that speaks Responses: it is a [model.Generator]. The
// answer is a message for each item. Requests are written by [EncodeResponses] and are
// not stored by the provider. Everything else is as with [ChatClient].
type ResponsesClient model.ClientOptions

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
	return ask(ctx, (*model.ClientOptions)(c), req, sink, "/chat/completions", encode, chatWire)
}

// Generate implements [model.Generator].
func (c *ResponsesClient) Generate(ctx context.Context, req *model.Request, sink func(model.Delta)) (model.Reply, error) {
	encode := func(r *model.Request, facts model.Model) ([]byte, error) {
		// The provider's models that take a temperature are those that do not reason.
		return encodeResponses(r, facts.Provider != provider || facts.Refuses.Temperature)
	}
	return ask(ctx, (*model.ClientOptions)(c), req, sink, "/responses", encode, responsesWire)
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

func ask(ctx context.Context, o *model.ClientOptions, req *model.Request, sink func(model.Delta), path string,
	encode func(*model.Request, model.Model) ([]byte, error), wire call.Wire,
) (model.Reply, error) {
	return call.Ask(ctx, o, req, wire, sink, func(r *model.Request, facts model.Model) (call.Post, error) {
		body, err := encode(r, facts)
		h := call.Header(o.Header)
		if o.Key != "" {
			h.Set("Authorization", "Bearer "+o.Key)
		}
		return call.Post{URL: base(o.BaseURL) + path, Header: h, Body: body}, err
	})
}

func base(url string) string { return cmp.Or(strings.TrimRight(url, "/"), DefaultBaseURL) }

// String names the client without its key.
func (c ChatClient) String() string { return "openai client for " + base(c.BaseURL) }

// GoString is String, so that no way of printing shows the key.
func (c ChatClient) GoString() string { return c.String() }

// String names the client without its key.
func (c ResponsesClient) String() string { return ChatClient(c).String() }

// GoString is String, so that no way of printing shows the key.
func (c ResponsesClient) GoString() string { return c.String() }
