package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/anthropic"
	"github.com/pleat-dev/pleat/openai"
)

// protocol is one of the wires that requests are rewritten on.
type protocol struct {
	format  pleat.Format
	parse   func(body []byte) (*request, error)
	codec   pleat.Codec
	hash    func(raw []byte) pleat.Hash
	check   func(pleat.Model) func(pleat.View, *pleat.Transcript) error
	reply   func(body []byte) (pleat.Reply, error)
	record  func() recorder
	results func(results []pleat.ToolResult) ([]pleat.Message, error)
	stream  func(own func(name string) bool) screen
	join    func(bodies [][]byte, own func(name string) bool) []byte
	array   string // the member that holds the messages
	refuse  func(kind, text string) []byte
}

// recorder puts an answer together from a stream that passes by.
type recorder interface {
	Write(b []byte) (int, error)
	Reply() (pleat.Reply, error)
}

// request is what the rewriter needs to know of a request, whatever its wire.
type request struct {
	on       *protocol
	body     []byte
	model    string
	partial  bool // part of the conversation lies with the provider
	system   string
	tools    []pleat.Tool
	inInput  []pleat.Tool // tools that are defined among the messages
	messages []pleat.Message
	head     func() pleat.Hash
	splice   func(v pleat.View, tools []pleat.Tool) ([]byte, error)
	check    func(pleat.Model) []pleat.Violation
}

var (
	messages = &protocol{
		format: pleat.FormatAnthropic, parse: decodeMessages, codec: anthropic.DecodeMessage, hash: anthropic.MessageHash,
		check: anthropic.Checker, reply: anthropic.DecodeReply, record: func() recorder { return &anthropic.Recorder{} },
		results: messageResults,
		stream:  func(own func(string) bool) screen { return &messagesScreen{own: own} },
		join:    joinMessages,
		array:   "messages", refuse: refuseMessages,
	}
	chat = &protocol{
		format: pleat.FormatChat, parse: decodeChat, codec: openai.DecodeChatMessage, hash: openai.ChatMessageHash,
		check: openai.ChatChecker, reply: openai.DecodeChatReply, record: func() recorder { return &openai.ChatRecorder{} },
		results: func(rs []pleat.ToolResult) ([]pleat.Message, error) {
			return eachResult(rs, openai.EncodeChatMessage, openai.DecodeChatMessage)
		},
		stream: func(own func(string) bool) screen { return &chatScreen{own: own} },
		join:   joinChat,
		array:  "messages", refuse: refuseOpenAI,
	}
	responses = &protocol{
		format: pleat.FormatResponses, parse: decodeResponses, codec: openai.DecodeItem, hash: openai.ItemHash,
		check: openai.ResponsesChecker, reply: openai.DecodeResponsesReply, record: func() recorder { return &openai.ResponsesRecorder{} },
		results: func(rs []pleat.ToolResult) ([]pleat.Message, error) {
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
func (r *request) size(v pleat.View) func(i int) (blocks, bytes int) {
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

func textOf(blocks []pleat.Block) string {
	return pleat.NewMessage(pleat.RoleSystem, blocks...).Text()
}

// messageResults makes the message that answers our calls on the Messages wire: all
// results stand in one.
func messageResults(rs []pleat.ToolResult) ([]pleat.Message, error) {
	raw, err := anthropic.EncodeMessage(pleat.Results(rs...))
	if err != nil {
		return nil, err
	}
	m, err := anthropic.DecodeMessage(raw)
	return []pleat.Message{m}, err
}

// eachResult makes one message for each result, as the OpenAI wires have it.
func eachResult(rs []pleat.ToolResult, encode func(pleat.Message) ([][]byte, error), decode pleat.Codec) ([]pleat.Message, error) {
	var out []pleat.Message
	for _, r := range rs {
		elements, err := encode(pleat.Results(r))
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
func (p *protocol) edited(m pleat.Message, edits []pleat.BlockEdit) (pleat.Message, error) {
	if len(edits) == 0 {
		return m, nil
	}
	open := `{"model":"","` + p.array + `":[`
	r, err := p.decode([]byte(open + m.Raw() + `]}`))
	if err != nil {
		return pleat.Message{}, err
	}
	out, err := r.splice(pleat.View{Messages: []pleat.ViewMessage{{Source: 0, Edits: edits}}}, nil)
	if err != nil {
		return pleat.Message{}, err
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
