// Package protocol has the wires that conversations are rewritten on, and their requests as far as the
// proxy needs to understand them.
package protocol

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/relay"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Protocol is one of the wires that requests are rewritten on.
type Protocol struct {
	*relay.Wire
	Format  transcript.Format
	route   func(path string) (Address, bool)                  // tells its requests by their path, less a final slash
	Array   string                                             // the member that holds the messages
	decode  func(after Earlier, body []byte) (*Request, error) // after may be nil
	Codec   transcript.Codec
	Hash    func(raw []byte) transcript.Hash
	Check   func(model.Model) func(transcript.View, *transcript.Transcript) error
	Reply   func(body []byte) (model.Reply, error)
	Record  func() Recorder
	results func(calls []transcript.ToolCall, results []transcript.ToolResult) [][]byte // writes the answers
}

var Protocols = []*Protocol{Messages, Chat, Responses, Gemini}

// Address is what the path of a request says.
type Address struct {
	Model  string // for a body that does not name it
	Counts bool   // the request only counts tokens
}

// endsIn tells requests by the end of their path.
func endsIn(path string) func(string) (Address, bool) {
	return func(p string) (Address, bool) { return Address{}, strings.HasSuffix(p, path) }
}

// Recorder puts an answer together from a stream that passes by.
type Recorder interface {
	Write(b []byte) (int, error)
	Reply() (model.Reply, error)
}

// Earlier is a request that its wire package can decode another one after.
type Earlier interface {
	// Matches returns how many of its messages a body begins with, at the same places.
	Matches(body []byte) int
}

// Decoded is a request as its wire package decoded it.
type Decoded interface {
	Splice(v transcript.View, tools ...model.Tool) ([]byte, error)
	Check(m model.Model) []transcript.Violation
}

// Request is what the rewriter needs to know about a request, whatever its wire.
type Request struct {
	Decoded
	Protocol *Protocol
	Body     []byte
	Apart    bool // the messages have memory of their own
	Model    string
	Manual   bool // it asks for thinking of a fixed size; see model.ThinkingRule.First
	Silent   bool // it has no place to ask for thinking to be dropped; see model.ThinkingRule.Silent
	Partial  bool // the provider holds part of the conversation
	System   string
	Tools    []model.Tool
	closed   bool         // its tools are the provider's own, which no others can be added to
	InInput  []model.Tool // tools that are defined among the messages
	Messages []transcript.Message
	Earlier  func() Earlier    // makes what the next request is decoded after
	Hashes   []transcript.Hash // of the messages
	Prefixes []transcript.Hash // their chain
}

// Route returns the wire of a request by its path, and what else the path says. Nil: none,
// the request is passed on unchanged. Amazon's signatures are for the body as it is.
func Route(r *http.Request) (*Protocol, Address) {
	if r.Method != http.MethodPost || strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-") {
		return nil, Address{}
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	for _, p := range Protocols {
		if at, ok := p.route(path); ok {
			return p, at
		}
	}
	return nil, Address{}
}

// BearerOf returns the token of an Authorization header that has one.
func BearerOf(auth string) (token string, ok bool) {
	scheme, token, ok := strings.Cut(auth, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.TrimSpace(token), true
}

func (p *Protocol) Read(body []byte) (*Request, error) { return p.ReadAfter(nil, body) }

// ReadAfter decodes a request that may continue an earlier one.
func (p *Protocol) ReadAfter(e Earlier, body []byte) (*Request, error) {
	r, err := p.decode(e, body)
	if err != nil {
		return nil, err
	}
	r.Protocol, r.Body = p, body
	return r, nil
}

// Leading returns how many system messages a request begins with.
func (r *Request) Leading() int {
	for i, m := range r.Messages {
		if m.Role() != transcript.RoleSystem && m.Role() != transcript.RoleDeveloper {
			return i
		}
	}
	return len(r.Messages)
}

// HasTools reports whether the model may call anything that our tools go together with.
func (r *Request) HasTools() bool { return len(r.Tools)+len(r.InInput) > 0 && !r.closed }

// Head returns the system prompt and the tools as a session keeps them: in memory of their
// own, because the request's is as large as the conversation.
func (r *Request) Head() (system string, tools []model.Tool) {
	for _, t := range r.Tools {
		tools = append(tools, model.Tool{
			Name: strings.Clone(t.Name), Description: strings.Clone(t.Description),
			Schema: strings.Clone(t.Schema), Raw: strings.Clone(t.Raw),
		})
	}
	return strings.Clone(r.System), tools
}

// Size gives the number of blocks and bytes of the messages of a view of the request.
func (r *Request) Size(v transcript.View) func(i int) (blocks, bytes int) {
	return func(i int) (int, int) {
		vm := v.Messages[i]
		m := vm.Made
		if vm.Source >= 0 {
			m = r.Messages[vm.Source]
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

// Edited applies edits to a message that is not in the request's body, as the splice
// does to those that are.
func (p *Protocol) Edited(m transcript.Message, edits []transcript.BlockEdit) (transcript.Message, error) {
	if len(edits) == 0 {
		return m, nil
	}
	open := `{"model":"","` + p.Array + `":[`
	r, err := p.Read([]byte(open + m.Raw() + `]}`))
	if err != nil {
		return transcript.Message{}, err
	}
	out, err := r.Splice(transcript.View{Messages: []transcript.ViewMessage{{Source: 0, Edits: edits}}})
	if err != nil {
		return transcript.Message{}, err
	}
	return p.Codec(out[len(open) : len(out)-2])
}

// Answer makes the messages that answer calls.
func (p *Protocol) Answer(calls []transcript.ToolCall, rs []transcript.ToolResult) ([]transcript.Message, error) {
	var out []transcript.Message
	for _, raw := range p.results(calls, rs) {
		m, err := p.Codec(raw)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// Alone is a message of the session as it goes out: without the name that binds it to others, which the
// view may not show, and without its client's cache markers, which have moved since.
func (p *Protocol) Alone(m transcript.Message) (transcript.Message, error) {
	if p == Responses {
		return m.Unnamed(), nil
	}
	if raw := wire.Unmarked([]byte(m.Raw())); len(raw) < len(m.Raw()) {
		return p.Codec(raw)
	}
	return m, nil
}

// Explain is an error of the provider for a client that already gets a stream: in the wire's own
// form, also where the provider said something else, or nothing.
func (p *Protocol) Explain(e *model.APIError) []byte {
	own := jsonspan.Value(e.Body).Get("error").Kind() == jsonspan.Object && json.Valid(e.Body)
	text := e.Error()
	if own {
		text = cmp.Or(e.Message, text)
	}
	switch {
	case e.Retryable(): // this is the one that clients try again after, whatever the status was
		return p.Refuse("overloaded_error", text)
	case own:
		return e.Body
	case e.Status < 400:
		return p.Refuse("api_error", text)
	}
	return p.Refuse(cmp.Or(errorTypes[e.Kind], "invalid_request_error"), text)
}

var errorTypes = map[model.ErrorKind]string{
	model.ErrorAuth: "authentication_error", model.ErrorPermission: "permission_error",
	model.ErrorBilling: "billing_error", model.ErrorNotFound: "not_found_error", model.ErrorTooLarge: "request_too_large",
}
