package gemini

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Request is a decoded request. Which model is asked, and whether the answer is streamed,
// is in the URL and not here. Changing the fields changes no bytes.
type Request struct {
	System   []transcript.Block // systemInstruction
	Tools    []model.Tool       // function declarations, and the provider's own tools by their names
	Messages []transcript.Message

	body         wire.Body
	declarations jsonspan.Span // the last list of function declarations; zero: none
	cached       bool
}

// Decode reads the body of a request. The request's messages share the body's memory, so it
// must not be changed afterwards.
//
// It refuses what is not JSON and what has no contents array. Requests that the provider
// would refuse for other reasons are decoded: see [Request.Check].
func Decode(body []byte) (*Request, error) { return DecodeAfter(nil, body) }

// DecodeAfter is [Decode] for a body that probably begins with the messages of an earlier one:
// those that have the same bytes in the same place of the array are not decoded again. The
// earlier request may be nil; else the messages of the result share memory with it, and
// no longer with the body.
func DecodeAfter(earlier *Request, body []byte) (*Request, error) {
	d := newDecoder(body)
	if earlier != nil {
		d.After(earlier.Messages, earlier.body)
	}
	if err := d.Walk(d.member); err != nil {
		return nil, fmt.Errorf("decode gemini request: %w", err)
	}
	if d.Body.Array.IsZero() {
		return nil, errors.New("decode gemini request: no contents array")
	}
	d.req.Messages, d.req.body = d.Messages, d.Body
	return d.req, nil
}

// Earlier returns what [DecodeAfter] needs of the request, without its body.
func (r *Request) Earlier() *Request {
	return &Request{Messages: r.Messages, body: r.body.Earlier()}
}

// Matches returns how many of the request's messages a body begins with, at the same places.
func (r *Request) Matches(body []byte) int { return r.body.Matches(r.Messages, body) }

// Declares reports whether the request has function declarations, which others can be added to.
func (r *Request) Declares() bool { return !r.declarations.IsZero() }

// Partial reports whether the provider holds what comes before the contents: the request
// names cached content. It should pass untouched.
func (r *Request) Partial() bool { return r.cached }

// Splice returns the body with the view's messages in place of its own: the sources of
// the view are indices into Messages. Everything that the view does not change stays
// byte for byte; the whole view returns the body itself. Messages that the view adds are
// encoded as by [EncodeMessage]; results among them become parts of the content that holds
// the other results of the same answer, because the provider takes them only together, and
// responses get the ids of the calls that they are shown behind.
//
// A result's text becomes the only string of its response, where it has one, else the member
// output of a new response. A call with a signature may only be kept or dropped.
//
// The tools are added after the request's own function declarations. A request without any
// gets none: the provider's own tools do not always go together with functions.
func (r *Request) Splice(v transcript.View, tools ...model.Tool) ([]byte, error) {
	var more []jsonspan.Edit
	if len(tools) > 0 && r.Declares() {
		more = append(more, wire.Insert(r.body.Data, r.declarations, declare(tools)))
	}
	out, err := r.body.Splice(v, wire.Made{Encode: EncodeMessage}, more...)
	if err == nil && slices.ContainsFunc(v.Messages, func(m transcript.ViewMessage) bool {
		blocks := m.Made.Blocks()
		return m.Source < 0 && (blocks.Has(transcript.KindToolCall) || blocks.Has(transcript.KindToolResult))
	}) {
		if out, err = joinResponses(out); err == nil {
			out, err = alignIDs(out)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("splice gemini request: %w", err)
	}
	return out, nil
}

// joinResponses makes one content of neighbours that answer the calls of one answer.
func joinResponses(body []byte) ([]byte, error) {
	r, err := Decode(body)
	if err != nil {
		return nil, err
	}
	var edits []jsonspan.Edit
	joined := -1 // the edit that adds to the first content of a run
	for i, m := range r.Messages {
		e := r.body.Elements[i]
		if m.Role() == transcript.RoleAssistant || !m.Blocks().Has(transcript.KindToolResult) {
			joined = -1
			continue
		}
		end := e.Span.Start + e.Places[len(e.Places)-1].Whole.End
		if joined < 0 {
			joined = len(edits)
			edits = append(edits, jsonspan.Edit{Span: jsonspan.Span{Start: end, End: end}})
			continue
		}
		edits[joined].With = append(append(edits[joined].With, ','), body[e.Span.Start+e.Places[0].Whole.Start:end]...)
		edits = append(edits, jsonspan.Edit{Span: jsonspan.Span{Start: r.body.Elements[i-1].Span.End, End: e.Span.End}})
	}
	return jsonspan.Splice(body, edits)
}

// alignIDs gives each response the id that its call has on the wire, or none: an answer may
// be shown as the provider gave it in front of responses by a client that knows its calls by
// other ids.
func alignIDs(body []byte) ([]byte, error) {
	r, err := Decode(body)
	if err != nil {
		return nil, err
	}
	var edits []jsonspan.Edit
	var calls []transcript.ToolCall
	for i, m := range r.Messages {
		for j, b := range m.Blocks().All() {
			res, ok := b.(transcript.ToolResult)
			at := slices.IndexFunc(calls, func(c transcript.ToolCall) bool { return c.ID == res.CallID })
			if !ok || at < 0 {
				continue
			}
			want, have := wireID(calls[at].Raw), wireID(res.Raw)
			if calls = slices.Delete(calls, at, at+1); string(want) != string(have) {
				e := r.body.Elements[i]
				whole := e.Places[j].Whole.Move(e.Span.Start)
				edits = append(edits, jsonspan.Edit{Span: whole, With: withID(res.Raw, want)})
			}
		}
		calls = m.Calls()
	}
	return jsonspan.Splice(body, edits)
}

// wireID is the literal of the id in a call or response.
func wireID(raw string) jsonspan.Value {
	_, v := function(raw)
	return v.Get("id")
}

// withID is a response with another id, or without one.
func withID(raw string, id jsonspan.Value) []byte {
	part := jsonspan.Value(raw)
	name, _ := function(raw)
	if id == nil {
		return part.Without("id", name)
	}
	return part.Set(id, name, "id")
}

// function finds the call or response in a part, under either of its names.
func function(raw string) (name string, v jsonspan.Value) {
	for name, v := range jsonspan.Value(raw).Fields() {
		if plain := camel(name); plain == "functionCall" || plain == "functionResponse" {
			return name, v
		}
	}
	return "", nil
}

// MessageHash returns a hash of an element of a contents array that stays the same when the
// client sends the message again: space does not count, and neither does the word for a
// signature that is missing, which Gemini CLI adds to the calls of the current turn and then
// leaves out. The element must be valid JSON.
func MessageHash(raw []byte) transcript.Hash {
	if !bytes.Contains(raw, []byte(unsigned)) {
		return wire.Hash(raw)
	}
	word := []byte(`,"thoughtSignature":"` + unsigned + `"`)
	return transcript.HashOf(bytes.ReplaceAll(wire.AppendNormal(nil, raw), word, nil))
}
