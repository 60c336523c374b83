package proxy

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/relay"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/gemini"
	"github.com/pleat-dev/pleat/wire/openai"
)

// decoding makes a wire's decoder of its package's, and of what the rewriter needs to know.
func decoding[R interface {
	wireRequest
	earlier
	Earlier() R
}](decode func(after R, body []byte) (R, error), known func(R) request) func(earlier, []byte) (*request, error) {
	return func(after earlier, body []byte) (*request, error) {
		e, _ := after.(R)
		r, err := decode(e, body)
		if err != nil {
			return nil, err
		}
		req := known(r)
		req.wireRequest, req.earlier = r, func() earlier { return r.Earlier() }
		return &req, nil
	}
}

// messages is the Anthropic Messages wire.
var messages = &protocol{
	Wire:   relay.Messages,
	format: transcript.FormatAnthropic, route: routeMessages, array: "messages",
	decode: decoding(anthropic.DecodeAfter, func(r *anthropic.Request) request {
		return request{model: r.Model, system: textOf(r.System), tools: r.Tools, messages: r.Messages, manual: r.ManualThinking()}
	}),
	codec: anthropic.DecodeMessage, hash: anthropic.MessageHash, check: anthropic.Checker,
	reply: anthropic.DecodeReply, record: func() recorder { return &anthropic.Recorder{} },
	results: messageResults,
}

func routeMessages(path string) (address, bool) {
	before, counts := strings.CutSuffix(path, "/count_tokens")
	return address{counts: counts}, strings.HasSuffix(before, "/messages") && (counts || strings.HasSuffix(before, "/v1/messages"))
}

// messageResults makes the message that answers our calls: all results are in one.
func messageResults(_ []transcript.ToolCall, rs []transcript.ToolResult) ([]transcript.Message, error) {
	raw, err := anthropic.EncodeMessage(transcript.Results(rs...))
	if err != nil {
		return nil, err
	}
	m, err := anthropic.DecodeMessage(raw)
	return []transcript.Message{m}, err
}

// chat is the OpenAI Chat Completions wire.
var chat = &protocol{
	Wire:   relay.Chat,
	format: transcript.FormatChat, route: endsIn("/chat/completions"), array: "messages",
	decode: decoding(openai.DecodeChatAfter, func(r *openai.ChatRequest) request {
		return request{model: r.Model, tools: r.Tools, messages: r.Messages}
	}),
	codec: openai.DecodeChatMessage, hash: openai.ChatMessageHash, check: openai.ChatChecker,
	reply: openai.DecodeChatReply, record: func() recorder { return &openai.ChatRecorder{} },
	results: func(_ []transcript.ToolCall, rs []transcript.ToolResult) ([]transcript.Message, error) {
		return eachResult(rs, openai.EncodeChatMessage, openai.DecodeChatMessage)
	},
}

// eachResult makes one message for each result, as the OpenAI wires have it.
func eachResult(rs []transcript.ToolResult, encode func(transcript.Message) ([][]byte, error), decode transcript.Codec) ([]transcript.Message, error) {
	var out []transcript.Message
	for _, r := range rs {
		elements, err := encode(transcript.Results(r))
		if err != nil {
			return nil, err
		}
		for _, raw := range elements {
			m, err := decode(raw)
			if err != nil {
				return nil, err
			}
			out = append(out, m)
		}
	}
	return out, nil
}

// responses is the OpenAI Responses wire.
var responses = &protocol{
	Wire:   relay.Responses,
	format: transcript.FormatResponses, route: endsIn("/responses"), array: "input",
	decode: decoding(openai.DecodeResponsesAfter, func(r *openai.ResponsesRequest) request {
		return request{model: r.Model, partial: r.Partial(), system: textOf(r.System), tools: r.Tools, inInput: r.InputTools(), messages: r.Messages}
	}),
	codec: openai.DecodeItem, hash: openai.ItemHash, check: openai.ResponsesChecker,
	reply: openai.DecodeResponsesReply, record: func() recorder { return &openai.ResponsesRecorder{} },
	results: func(_ []transcript.ToolCall, rs []transcript.ToolResult) ([]transcript.Message, error) {
		return eachResult(rs, openai.EncodeItems, openai.DecodeItem)
	},
}

// generate is Gemini's generateContent wire. The model and whether the answer is streamed
// are in the path. An answer that is streamed as an array, without alt=sse, is passed on
// when it is complete.
var generate = &protocol{
	Wire:   relay.Gemini,
	format: transcript.FormatGemini, route: routeGemini, array: "contents",
	decode: decoding(gemini.DecodeAfter, func(r *gemini.Request) request {
		return request{partial: r.Partial(), system: textOf(r.System), tools: r.Tools, closed: !r.Declares(), messages: r.Messages}
	}),
	codec: gemini.DecodeMessage, hash: gemini.MessageHash, check: gemini.Checker,
	reply: gemini.DecodeReply, record: func() recorder { return &gemini.Recorder{} },
	results: geminiResults,
}

// routeGemini knows /v1beta/models/NAME:generateContent and its like.
func routeGemini(path string) (address, bool) {
	_, name, found := strings.Cut(path, "/models/")
	name, method, ok := strings.Cut(name, ":")
	if !found || !ok || name == "" || strings.Contains(name, "/") {
		return address{}, false
	}
	switch method {
	case "generateContent", "streamGenerateContent":
		return address{model: name}, true
	case "countTokens":
		return address{model: name, counts: true}, true
	}
	return address{}, false
}

// geminiResults makes the content that answers our calls: all results are in one.
func geminiResults(calls []transcript.ToolCall, rs []transcript.ToolResult) ([]transcript.Message, error) {
	raw, err := gemini.EncodeResults(calls, rs)
	if err != nil {
		return nil, err
	}
	m, err := gemini.DecodeMessage(raw)
	return []transcript.Message{m}, err
}
