package proxy

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/relay"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/gemini"
	"github.com/pleat-dev/pleat/wire/openai"
)

// protocol is one of the wires that requests are rewritten on.
type protocol struct {
	*relay.Wire
	format  transcript.Format
	route   func(path string) (address, bool)                  // tells its requests by their path, less a final slash
	array   string                                             // the member that holds the messages
	decode  func(after earlier, body []byte) (*request, error) // after may be nil
	codec   transcript.Codec
	hash    func(raw []byte) transcript.Hash
	check   func(model.Model) func(transcript.View, *transcript.Transcript) error
	reply   func(body []byte) (model.Reply, error)
	record  func() recorder
	results func(calls []transcript.ToolCall, results []transcript.ToolResult) ([][]byte, error) // writes the answers
}

var protocols = []*protocol{messages, chat, responses, generate}

// address is what the path of a request says.
type address struct {
	model  string // empty: the body says it
	counts bool   // the request only counts tokens
}

// endsIn tells requests by the end of their path.
func endsIn(path string) func(string) (address, bool) {
	return func(p string) (address, bool) { return address{}, strings.HasSuffix(p, path) }
}

// recorder puts an answer together from a stream that passes by.
type recorder interface {
	Write(b []byte) (int, error)
	Reply() (model.Reply, error)
}

// wireRequest is a request as its wire package decoded it.
type wireRequest interface {
	Splice(v transcript.View, tools ...model.Tool) ([]byte, error)
	Check(m model.Model) []transcript.Violation
}

// request is what the rewriter needs to know about a request, whatever its wire.
type request struct {
	wireRequest
	on       *protocol
	body     []byte
	apart    bool // the messages have memory of their own
	model    string
	manual   bool // it asks for thinking of a fixed size; see model.ThinkingRule.First
	silent   bool // it has no place to ask for thinking to be dropped; see model.ThinkingRule.Silent
	partial  bool // the provider holds part of the conversation
	system   string
	tools    []model.Tool
	closed   bool         // its tools are the provider's own, which no others can be added to
	inInput  []model.Tool // tools that are defined among the messages
	messages []transcript.Message
	earlier  func() earlier    // makes what the next request is decoded after
	hashes   []transcript.Hash // of the messages
	prefixes []transcript.Hash // their chain
}

// route returns the wire of a request by its path, and what else the path says. Nil: none,
// the request is passed on unchanged.
func route(r *http.Request) (*protocol, address) {
	if r.Method != http.MethodPost {
		return nil, address{}
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	for _, p := range protocols {
		if at, ok := p.route(path); ok {
			return p, at
		}
	}
	return nil, address{}
}

// bearerOf returns the token of an Authorization header that has one.
func bearerOf(auth string) (token string, ok bool) {
	scheme, token, ok := strings.Cut(auth, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.TrimSpace(token), true
}

func (p *protocol) read(body []byte) (*request, error) { return p.readAfter(nil, body) }

// readAfter decodes a request that may continue an earlier one.
func (p *protocol) readAfter(e earlier, body []byte) (*request, error) {
	r, err := p.decode(e, body)
	if err != nil {
		return nil, err
	}
	r.on, r.body = p, body
	return r, nil
}

// leading returns how many system messages a request begins with.
func (r *request) leading() int {
	for i, m := range r.messages {
		if m.Role() != transcript.RoleSystem && m.Role() != transcript.RoleDeveloper {
			return i
		}
	}
	return len(r.messages)
}

// hasTools reports whether the model may call anything that our tools go together with.
func (r *request) hasTools() bool { return len(r.tools)+len(r.inInput) > 0 && !r.closed }

// head returns the system prompt and the tools as a session keeps them: in memory of their
// own, because the request's is as large as the conversation.
func (r *request) head() (system string, tools []model.Tool) {
	for _, t := range r.tools {
		tools = append(tools, model.Tool{
			Name: strings.Clone(t.Name), Description: strings.Clone(t.Description),
			Schema: strings.Clone(t.Schema), Raw: strings.Clone(t.Raw),
		})
	}
	return strings.Clone(r.system), tools
}

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

// edited applies edits to a message that is not in the request's body, as the splice
// does to those that are.
func (p *protocol) edited(m transcript.Message, edits []transcript.BlockEdit) (transcript.Message, error) {
	if len(edits) == 0 {
		return m, nil
	}
	open := `{"model":"","` + p.array + `":[`
	r, err := p.read([]byte(open + m.Raw() + `]}`))
	if err != nil {
		return transcript.Message{}, err
	}
	out, err := r.Splice(transcript.View{Messages: []transcript.ViewMessage{{Source: 0, Edits: edits}}})
	if err != nil {
		return transcript.Message{}, err
	}
	return p.codec(out[len(open) : len(out)-2])
}

// answer makes the messages that answer calls.
func (p *protocol) answer(calls []transcript.ToolCall, rs []transcript.ToolResult) ([]transcript.Message, error) {
	all, err := p.results(calls, rs)
	out := make([]transcript.Message, len(all))
	for i := 0; i < len(all) && err == nil; i++ {
		out[i], err = p.codec(all[i])
	}
	return out, err
}

// alone is a message of the session as it goes out: without the name that binds it to others, which the
// view may not show, and without its client's cache markers, which have moved since.
func (p *protocol) alone(m transcript.Message) (transcript.Message, error) {
	if p == responses {
		return openai.Unnamed(m)
	}
	if raw := wire.Unmarked([]byte(m.Raw())); len(raw) < len(m.Raw()) {
		return p.codec(raw)
	}
	return m, nil
}

// decoding makes a wire's decoder of its package's, and of what the rewriter needs to know.
func decoding[R interface {
	wireRequest
	earlier
	Earlier() R
}](decode func(after R, body []byte) (R, error), known func(R) request) func(earlier, []byte) (*request, error) {
	return func(after earlier, body []byte) (*request, error) {
		e, apart := after.(R)
		r, err := decode(e, body)
		if err != nil {
			return nil, err
		}
		req := known(r)
		req.apart, req.model = apart, strings.Clone(req.model) // which outlives the body
		req.wireRequest, req.earlier = r, func() earlier { return r.Earlier() }
		return &req, nil
	}
}

var messages = &protocol{
	Wire:   relay.Messages,
	format: transcript.FormatAnthropic, route: routeMessages, array: "messages",
	decode: decoding(anthropic.DecodeAfter, func(r *anthropic.Request) request {
		return request{
			model: r.Model, system: textOf(r.System), tools: r.Tools, messages: r.Messages,
			manual: r.ThinkingMode() == "enabled",
			silent: !slices.Contains([]string{"", "adaptive", "enabled"}, r.ThinkingMode()),
		}
	}),
	codec: anthropic.DecodeMessage, hash: anthropic.MessageHash, check: anthropic.Checker,
	reply: anthropic.DecodeReply, record: func() recorder { return anthropic.NewRecorder(nil, 0) },
	results: func(_ []transcript.ToolCall, rs []transcript.ToolResult) ([][]byte, error) { // all in one
		blocks := transcript.Results(rs...).Blocks().List()
		raw, err := anthropic.EncodeMessage(
			transcript.WireMessage(transcript.RoleTool, transcript.FormatAnthropic, "", blocks...)) // the calls did come off it
		return [][]byte{raw}, err
	},
}

// routeMessages knows /v1/messages, and the same of any other version that an upstream's
// address names. Messages of anything else, such as a thread, are not meant.
func routeMessages(path string) (address, bool) {
	before, counts := strings.CutSuffix(path, "/count_tokens")
	base, ok := strings.CutSuffix(before, "/messages")
	return address{counts: counts}, ok && (counts || versionEnd.MatchString(base))
}

var versionEnd = regexp.MustCompile(`/v[0-9][^/]*$`)

var chat = &protocol{
	Wire:   relay.Chat,
	format: transcript.FormatChat, route: endsIn("/chat/completions"), array: "messages",
	decode: decoding(openai.DecodeChatAfter, func(r *openai.ChatRequest) request {
		return request{model: r.Model, tools: r.Tools, messages: r.Messages}
	}),
	codec: openai.DecodeChatMessage, hash: openai.ChatMessageHash, check: openai.ChatChecker,
	reply: openai.DecodeChatReply, record: func() recorder { return openai.NewChatRecorder(nil, 0) },
	results: func(_ []transcript.ToolCall, rs []transcript.ToolResult) ([][]byte, error) {
		return eachResult(openai.EncodeChatMessage, rs)
	},
}

// eachResult writes one message for each result, as the OpenAI wires have it.
func eachResult(
	encode func(transcript.Message) ([][]byte, error), rs []transcript.ToolResult,
) (all [][]byte, err error) {
	for _, r := range rs {
		raw, failed := encode(transcript.Results(r))
		all, err = append(all, raw...), cmp.Or(err, failed)
	}
	return all, err
}

var responses = &protocol{
	Wire:   relay.Responses,
	format: transcript.FormatResponses, route: endsIn("/responses"), array: "input",
	decode: decoding(openai.DecodeResponsesAfter, func(r *openai.ResponsesRequest) request {
		return request{
			model: r.Model, partial: r.Partial(), system: textOf(r.System),
			tools: r.Tools, inInput: r.InputTools(), messages: r.Messages,
		}
	}),
	codec: openai.DecodeItem, hash: openai.ItemHash, check: openai.ResponsesChecker,
	reply: openai.DecodeResponsesReply, record: func() recorder { return openai.NewResponsesRecorder(nil, 0) },
	results: func(_ []transcript.ToolCall, rs []transcript.ToolResult) ([][]byte, error) {
		return eachResult(openai.EncodeItems, rs)
	},
}

// generate is Gemini's generateContent wire. The model and whether the answer is streamed
// are in the path. An answer that is streamed as an array, without alt=sse, is passed on
// when it is complete.
var generate = &protocol{
	Wire:   relay.Gemini,
	format: transcript.FormatGemini, route: routeGemini, array: "contents",
	decode: decoding(gemini.DecodeAfter, func(r *gemini.Request) request {
		return request{
			partial: r.Partial(), system: textOf(r.System),
			tools: r.Tools, closed: !r.Declares(), messages: r.Messages,
		}
	}),
	codec: gemini.DecodeMessage, hash: gemini.MessageHash, check: gemini.Checker,
	reply: gemini.DecodeReply, record: func() recorder { return gemini.NewRecorder(nil, 0) },
	results: func(calls []transcript.ToolCall, rs []transcript.ToolResult) ([][]byte, error) { // all in one
		raw, err := gemini.EncodeResults(calls, rs)
		return [][]byte{raw}, err
	},
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
