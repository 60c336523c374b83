package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/openai"
)

// protocol is one of the wires that requests are rewritten on.
type protocol struct {
	format  transcript.Format
	parse   func(body []byte) (*request, error)
	codec   transcript.Codec
	hash    func(raw []byte) transcript.Hash
	check   func(model.Model) func(transcript.View, *transcript.Transcript) error
	reply   func(body []byte) (model.Reply, error)
	record  func() recorder
	results func(results []transcript.ToolResult) ([]transcript.Message, error)
	stream  func(own func(name string) bool) screen
	join    func(bodies [][]byte, own func(name string) bool) []byte
	array   string // the member that holds the messages
	refuse  func(kind, text string) []byte
}

// recorder puts an answer together from a stream that passes by.
type recorder interface {
	Write(b []byte) (int, error)
	Reply() (model.Reply, error)
}

// request is what the rewriter needs to know of a request, whatever its wire.
type request struct {
	on       *protocol
	body     []byte
	model    string
	partial  bool // part of the conversation lies with the provider
	system   string
	tools    []model.Tool
	inInput  []model.Tool // tools that are defined among the messages
	messages []transcript.Message
	head     func() transcript.Hash
	splice   func(v transcript.View, tools []model.Tool) ([]byte, error)
	check    func(model.Model) []transcript.Violation
}

var (
	messages = &protocol{
		format: transcript.FormatAnthropic, parse: decodeMessages, codec: anthropic.DecodeMessage, hash: anthropic.MessageHash,
		check: anthropic.Checker, reply: anthropic.DecodeReply, record: func() recorder { return &anthropic.Recorder{} },
		results: messageResults,
		stream:  func(own func(string) bool) screen { return &messagesScreen{own: own} },
		join:    joinMessages,
		array:   "messages", refuse: refuseMessages,
	}
	chat = &protocol{
		format: transcript.FormatChat, parse: decodeChat, codec: openai.DecodeChatMessage, hash: openai.ChatMessageHash,
		check: openai.ChatChecker, reply: openai.DecodeChatReply, record: func() recorder { return &openai.ChatRecorder{} },
		results: func(rs []transcript.ToolResult) ([]transcript.Message, error) {
			return eachResult(rs, openai.EncodeChatMessage, openai.DecodeChatMessage)
		},
		stream: func(own func(string) bool) screen { return &chatScreen{own: own} },
		join:   joinChat,
		array:  "messages", refuse: refuseOpenAI,
	}
	responses = &protocol{
		format: transcript.FormatResponses, parse: decodeResponses, codec: openai.DecodeItem, hash: openai.ItemHash,
		check: openai.ResponsesChecker, reply: openai.DecodeResponsesReply, record: func() recorder { return &openai.ResponsesRecorder{} },
		results: func(rs []transcript.ToolResult) ([]transcript.Message, error) {
			return eachResult(rs, openai.EncodeItems, openai.DecodeItem)
		},
		stream: func(own func(string) bool) screen { return &responsesScreen{own: own} },
		join:   joinResponses,
		array:  "input", refuse: refuseOpenAI,
	}
)

// route says which wire a request is on by the end of its path, and whether it only
// counts tokens. Nil: none, it is passed on as it is.
func route(r *http.Request) (on *protocol, counts bool) {
	if r.Method != http.MethodPost {
		return nil, false
	}
	switch path := strings.TrimSuffix(r.URL.Path, "/"); {
	case strings.HasSuffix(path, "/messages/count_tokens"):
		return messages, true
	case strings.HasSuffix(path, "/v1/messages"):
		return messages, false
	case strings.HasSuffix(path, "/chat/completions"):
		return chat, false
	case strings.HasSuffix(path, "/responses"):
		return responses, false
	}
	return nil, false
}

// decode reads a request.
func (p *protocol) decode(body []byte) (*request, error) {
	r, err := p.parse(body)
	if err != nil {
		return nil, err
	}
	r.on = p
	return r, nil
}

func decodeMessages(body []byte) (*request, error) {
	r, err := anthropic.Decode(body)
	if err != nil {
		return nil, err
	}
	return &request{
		body: body, model: r.Model, system: textOf(r.System), tools: r.Tools,
		messages: r.Messages, head: r.HeadHash, splice: r.SpliceWith, check: r.Check,
	}, nil
}

func decodeChat(body []byte) (*request, error) {
	r, err := openai.DecodeChat(body)
	if err != nil {
		return nil, err
	}
	return &request{
		body: body, model: r.Model, tools: r.Tools,
		messages: r.Messages, head: r.HeadHash, splice: r.SpliceWith, check: r.Check,
	}, nil
}

func decodeResponses(body []byte) (*request, error) {
	r, err := openai.DecodeResponses(body)
	if err != nil {
		return nil, err
	}
	return &request{
		body: body, model: r.Model, partial: r.Partial(), system: textOf(r.System), tools: r.Tools,
		inInput: r.InputTools(), messages: r.Messages, head: r.HeadHash, splice: r.SpliceWith, check: r.Check,
	}, nil
}

// hasTools reports whether the model may call anything.
func (r *request) hasTools() bool { return len(r.tools)+len(r.inInput) > 0 }

// size gives the number of blocks and bytes of the messages of a view of the request.
func (r *request) size(v transcript.View) func(i int) (blocks, bytes int) {
	return func(i int) (int, int) {
		vm := v.Messages[i]
		m := vm.Made
		if vm.Source >= 0 {
			m = r.messages[vm.Source]
		}
		blocks, n := m.Blocks().Len(), len(m.Raw())
		if vm.Source < 0 {
			n = len(m.Text())
		}
		if len(vm.Edits) > 0 { // what is folded is most of what such a message holds
			n = 0
			for _, e := range vm.Edits {
				n += len(e.Text)
			}
		}
		return blocks, n
	}
}

func textOf(blocks []transcript.Block) string {
	return transcript.NewMessage(transcript.RoleSystem, blocks...).Text()
}

// messageResults makes the message that answers our calls on the Messages wire: all
// results stand in one.
func messageResults(rs []transcript.ToolResult) ([]transcript.Message, error) {
	raw, err := anthropic.EncodeMessage(transcript.Results(rs...))
	if err != nil {
		return nil, err
	}
	m, err := anthropic.DecodeMessage(raw)
	return []transcript.Message{m}, err
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

// edited applies edits to a message that is not in the request's body: as the splice
// would, had it been there.
func (p *protocol) edited(m transcript.Message, edits []transcript.BlockEdit) (transcript.Message, error) {
	if len(edits) == 0 {
		return m, nil
	}
	open := `{"model":"","` + p.array + `":[`
	r, err := p.decode([]byte(open + m.Raw() + `]}`))
	if err != nil {
		return transcript.Message{}, err
	}
	out, err := r.splice(transcript.View{Messages: []transcript.ViewMessage{{Source: 0, Edits: edits}}}, nil)
	if err != nil {
		return transcript.Message{}, err
	}
	return p.codec(out[len(open) : len(out)-2])
}

func refuseMessages(kind, text string) []byte {
	body, _ := json.Marshal(map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": text}})
	return body
}

func refuseOpenAI(kind, text string) []byte {
	body, _ := json.Marshal(map[string]any{"error": map[string]any{"message": text, "type": kind, "param": nil, "code": kind}})
	return body
}

// tooLong is the provider's own way to say that a prompt does not fit, which clients
// know how to react to.
func (p *protocol) tooLong(tokens, limit int) []byte {
	if p == messages {
		return p.refuse("invalid_request_error", fmt.Sprintf("prompt is too long: %d tokens > %d maximum", tokens, limit))
	}
	text := fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", limit, tokens)
	body, _ := json.Marshal(map[string]any{"error": map[string]any{
		"message": text, "type": "invalid_request_error", "param": p.array, "code": "context_length_exceeded",
	}})
	return body
}
