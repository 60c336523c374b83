package openai

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/internal/call"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// DefaultBaseURL is the provider's own server.
const DefaultBaseURL = "https://api.openai.com/v1"

// ChatClient asks a server that speaks Chat Completions, as almost all do: it is a
// [model.Generator]. The BaseURL is where /chat/completions is.
//
// [EncodeChat] writes the request, so that answers of this wire go back byte for byte. Models
// that are not the provider's get max_tokens instead of max_completion_tokens, and no
// prompt_cache_key, which some servers refuse. [model.ClientOptions] has the rest.
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
func (c *ResponsesClient) Generate(
	ctx context.Context, req *model.Request, sink func(model.Delta),
) (model.Reply, error) {
	encode := func(r *model.Request, facts model.Model) ([]byte, error) {
		// The provider's models that take a temperature are those that do not reason.
		return encodeResponses(r, facts.Provider != provider || facts.Refuses.Temperature)
	}
	return ask(ctx, (*model.ClientOptions)(c), req, sink, "/responses", encode, responsesWire)
}

// provider is the provider's name in the table of models.
const provider = "openai"

var (
	chatWire      = call.Wire{Decode: DecodeChatReply, Record: NewChatRecorder}
	responsesWire = call.Wire{Decode: DecodeResponsesReply, Record: NewResponsesRecorder}
)

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

// DefaultModel is as in [model.ClientOptions].
func (c *ChatClient) DefaultModel() model.Model { return model.ClientOptions(*c).DefaultModel() }

// DefaultModel is as in [model.ClientOptions].
func (c *ResponsesClient) DefaultModel() model.Model { return model.ClientOptions(*c).DefaultModel() }

// Format names the server, so that no way of printing shows the key.
func (c ChatClient) Format(f fmt.State, _ rune) { fmt.Fprint(f, "openai client for ", base(c.BaseURL)) }

// Format names the server, so that no way of printing shows the key.
func (c ResponsesClient) Format(f fmt.State, verb rune) { ChatClient(c).Format(f, verb) }

// Chat returns what a session needs to talk to the model over the Chat Completions wire.
func Chat(m model.Model) model.Wire {
	return model.Wire{Model: m, Format: transcript.FormatChat, Codec: DecodeChatMessage, Check: ChatChecker(m)}
}

// Responses returns what a session needs to talk to the model over the Responses wire.
func Responses(m model.Model) model.Wire {
	return model.Wire{Model: m, Format: transcript.FormatResponses, Codec: DecodeItem, Check: ResponsesChecker(m)}
}

// ChatChecker returns the check of [Chat]: it refuses views that the Chat Completions wire
// would refuse for the model.
func ChatChecker(m model.Model) func(transcript.View, *transcript.Transcript) error {
	return wire.Checker(m, EncodeChat, DecodeChat)
}

// ResponsesChecker is [ChatChecker] for the Responses wire.
func ResponsesChecker(m model.Model) func(transcript.View, *transcript.Transcript) error {
	return wire.Checker(m, EncodeResponses, DecodeResponses)
}

// DecodeChatMessage reads one element of a messages array: it is the [transcript.Codec] of
// the Chat Completions wire. It keeps nothing of raw.
func DecodeChatMessage(raw []byte) (transcript.Message, error) {
	return wire.DecodeOne("messages", raw, DecodeChat, func(r *ChatRequest) []transcript.Message { return r.Messages })
}

// DecodeItem reads one item of a Responses input: it is the [transcript.Codec] of that
// wire. It keeps nothing of raw.
func DecodeItem(raw []byte) (transcript.Message, error) {
	messages := func(r *ResponsesRequest) []transcript.Message { return r.Messages }
	return wire.DecodeOne("input", raw, DecodeResponses, messages)
}
