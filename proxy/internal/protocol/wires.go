package protocol

import (
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/relay"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/gemini"
	"github.com/pleat-dev/pleat/wire/openai"
)

// decoding makes a wire's decoder of its package's, and of what the rewriter needs to know.
func decoding[R interface {
	Decoded
	Earlier
	Earlier() R
}](decode func(after R, body []byte) (R, error), known func(R) Request) func(Earlier, []byte) (*Request, error) {
	return func(after Earlier, body []byte) (*Request, error) {
		e, apart := after.(R)
		r, err := decode(e, body)
		if err != nil {
			return nil, err
		}
		req := known(r)
		req.Apart, req.Model = apart, strings.Clone(req.Model) // which outlives the body
		req.Decoded, req.Earlier = r, func() Earlier { return r.Earlier() }
		return &req, nil
	}
}

var Messages = &Protocol{
	Wire:   relay.Messages,
	Format: transcript.FormatAnthropic, route: routeMessages, Array: "messages",
	decode: decoding(anthropic.DecodeAfter, func(r *anthropic.Request) Request {
		return Request{
			Model: r.Model, System: textOf(r.System), Tools: r.Tools, Messages: r.Messages,
			Manual: r.ThinkingMode() == "enabled",
			Silent: !slices.Contains([]string{"", "adaptive", "enabled"}, r.ThinkingMode()),
		}
	}),
	Codec: anthropic.DecodeMessage, Hash: anthropic.MessageHash, Check: anthropic.Checker,
	Reply: anthropic.DecodeReply, Record: func() Recorder { return anthropic.NewRecorder(nil, 0) },
	results: func(_ []transcript.ToolCall, rs []transcript.ToolResult) [][]byte { // all in one
		blocks := transcript.Results(rs...).Blocks().List()
		raw, _ := anthropic.EncodeMessage( // there is something to send
			transcript.WireMessage(transcript.RoleTool, transcript.FormatAnthropic, "", blocks...)) // the calls did come off it
		return [][]byte{raw}
	},
}

// routeMessages knows /v1/messages, and the same of any other version that an upstream's
// address names. Messages of anything else, such as a thread, are not meant. Google Cloud has the model in the path.
func routeMessages(path string) (Address, bool) {
	if _, name, ok := strings.Cut(path, "/publishers/anthropic/models/"); ok {
		name, method, _ := strings.Cut(name, ":")
		return Address{Model: name, Counts: name == "count-tokens"}, method == "rawPredict" || method == "streamRawPredict"
	}
	before, counts := strings.CutSuffix(path, "/count_tokens")
	base, ok := strings.CutSuffix(before, "/messages")
	return Address{Counts: counts}, ok && (counts || versionEnd.MatchString(base))
}

var versionEnd = regexp.MustCompile(`/v[0-9][^/]*$`)

var Chat = &Protocol{
	Wire:   relay.Chat,
	Format: transcript.FormatChat, route: routeChat, Array: "messages",
	decode: decoding(openai.DecodeChatAfter, func(r *openai.ChatRequest) Request {
		return Request{Model: r.Model, Silent: true, Tools: r.Tools, Messages: r.Messages}
	}),
	Codec: openai.DecodeChatMessage, Hash: openai.ChatMessageHash, Check: openai.ChatChecker,
	Reply: openai.DecodeChatReply, Record: func() Recorder { return openai.NewChatRecorder(nil, 0) },
	results: eachResult(openai.EncodeChatMessage),
}

// routeChat knows /v1/chat/completions. Azure may have the model in the path, by the name of its deployment.
func routeChat(path string) (Address, bool) {
	before, ok := strings.CutSuffix(path, "/chat/completions")
	_, name, _ := strings.Cut(before, "/deployments/")
	return Address{Model: name}, ok
}

// eachResult writes one message for each result, as the OpenAI wires have it.
func eachResult(
	encode func(transcript.Message) [][]byte,
) func([]transcript.ToolCall, []transcript.ToolResult) [][]byte {
	return func(_ []transcript.ToolCall, rs []transcript.ToolResult) (all [][]byte) {
		for _, r := range rs {
			all = append(all, encode(transcript.Results(r))...)
		}
		return all
	}
}

var Responses = &Protocol{
	Wire:   relay.Responses,
	Format: transcript.FormatResponses, route: endsIn("/responses"), Array: "input",
	decode: decoding(openai.DecodeResponsesAfter, func(r *openai.ResponsesRequest) Request {
		return Request{
			Model: r.Model, Silent: true, Partial: r.Partial(), System: textOf(r.System),
			Tools: r.Tools, InInput: r.InputTools(), Messages: r.Messages,
		}
	}),
	Codec: openai.DecodeItem, Hash: openai.ItemHash, Check: openai.ResponsesChecker,
	Reply: openai.DecodeResponsesReply, Record: func() Recorder { return openai.NewResponsesRecorder(nil, 0) },
	results: eachResult(openai.EncodeItems),
}

// Gemini is Gemini's generateContent wire. The model and whether the answer is streamed
// are in the path. An answer that is streamed as an array, without alt=sse, is passed on
// when it is complete.
var Gemini = &Protocol{
	Wire:   relay.Gemini,
	Format: transcript.FormatGemini, route: RouteGemini, Array: "contents",
	decode: decoding(gemini.DecodeAfter, func(r *gemini.Request) Request {
		return Request{
			Partial: r.Partial(), System: textOf(r.System),
			Tools: r.Tools, closed: !r.Declares(), Messages: r.Messages,
		}
	}),
	Codec: gemini.DecodeMessage, Hash: gemini.MessageHash, Check: gemini.Checker,
	Reply: gemini.DecodeReply, Record: func() Recorder { return gemini.NewRecorder(nil, 0) },
	results: func(calls []transcript.ToolCall, rs []transcript.ToolResult) [][]byte { // all in one
		return [][]byte{gemini.EncodeResults(calls, rs)}
	},
}

// RouteGemini knows /v1beta/models/NAME:generateContent and its like.
func RouteGemini(path string) (Address, bool) {
	_, name, found := strings.Cut(path, "/models/")
	name, method, ok := strings.Cut(name, ":")
	if !found || !ok || name == "" || strings.Contains(name, "/") {
		return Address{}, false
	}
	switch method {
	case "generateContent", "streamGenerateContent":
		return Address{Model: name}, true
	case "countTokens":
		return Address{Model: name, Counts: true}, true
	}
	return Address{}, false
}
