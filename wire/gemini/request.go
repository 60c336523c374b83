package gemini

import (
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
	System    []transcript.Block // systemInstruction
	Tools     []model.Tool       // function declarations, and the provider's own tools by their names
	MaxTokens int                // generationConfig.maxOutputTokens; 0: none was given
	Messages  []transcript.Message

	body         wire.Body
	system       jsonspan.Span
	declarations jsonspan.Span // the last list of function declarations; zero: none
	cached       bool
}

var errNoContents = errors.New("no contents array")

// Decode reads the body of a request. The request's messages share the body's memory, so it
// must not be changed afterwards.
//
// It refuses what is not JSON and what has no contents array. Requests that the provider
// would refuse for other reasons are decoded: see [Request.Check].
func Decode(body []byte) (*Request, error) {
	d := decoder{data: body, req: &Request{body: wire.Body{Data: body}}}
	d.c.Reset(body, jsonspan.Limits{})
	for name := range d.c.Fields {
		d.member(camel(name))
	}
	if err := d.c.End(); err != nil {
		return nil, fmt.Errorf("decode gemini request: %w", err)
	}
	if d.req.body.Array.IsZero() {
		return nil, fmt.Errorf("decode gemini request: %w", errNoContents)
	}
	return d.req, nil
}

// Body returns the bytes that were decoded.
func (r *Request) Body() []byte { return r.body.Data }

// Partial reports whether the provider holds what comes before the contents: the request
// names cached content. It should pass untouched.
func (r *Request) Partial() bool { return r.cached }

// Splice returns the body with the view's messages in place of its own: the sources of
// the view are indices into Messages. Everything that the view does not change stays
// byte for byte; the whole view returns the body itself. Messages that the view adds are
// encoded as by [EncodeMessage]; results among them become parts of the content that holds
// the other results of the same answer, because the provider takes them only together.
//
// A result's text becomes the only string of its response, where it has one, else the member
// output of a new response. A call keeps its signature whatever its arguments become.
func (r *Request) Splice(v transcript.View) ([]byte, error) { return r.SpliceWith(v, nil) }

// SpliceWith is [Request.Splice] with tools added after the request's own function
// declarations. A request without any gets none: the provider's own tools do not always go
// together with functions.
func (r *Request) SpliceWith(v transcript.View, tools []model.Tool) ([]byte, error) {
	var more []jsonspan.Edit
	if len(tools) > 0 && !r.declarations.IsZero() {
		list, err := declare(tools)
		if err != nil {
			return nil, fmt.Errorf("splice gemini request: %w", err)
		}
		more = append(more, wire.Insert(r.body.Data, r.declarations, list))
	}
	out, err := r.body.Splice(v, EncodeMessage, more...)
	if err == nil && slices.ContainsFunc(v.Messages, func(m transcript.ViewMessage) bool {
		return m.Source < 0 && has(m.Made, transcript.KindToolResult)
	}) {
		out, err = joinResponses(out)
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
		if m.Role() == transcript.RoleAssistant || !has(m, transcript.KindToolResult) {
			joined = -1
			continue
		}
		end := e.Places[len(e.Places)-1].Whole.End
		if joined < 0 {
			joined = len(edits)
			edits = append(edits, jsonspan.Edit{Span: jsonspan.Span{Start: end, End: end}})
			continue
		}
		edits[joined].With = append(append(edits[joined].With, ','), body[e.Places[0].Whole.Start:end]...)
		edits = append(edits, jsonspan.Edit{Span: jsonspan.Span{Start: r.body.Elements[i-1].Span.End, End: e.Span.End}})
	}
	return jsonspan.Splice(body, edits)
}

// has reports whether a message has a block of the kind.
func has(m transcript.Message, kind transcript.Kind) bool {
	for _, b := range m.Blocks().All() {
		if b.Kind() == kind {
			return true
		}
	}
	return false
}

// Hashes returns a hash of each message that stays the same when the client sends the
// message again: space does not count.
func (r *Request) Hashes() []transcript.Hash { return r.body.Hashes() }

// MessageHash returns the hash that [Request.Hashes] gives an element of a contents array.
// The element must be valid JSON.
func MessageHash(raw []byte) transcript.Hash { return wire.Hash(raw) }

// HeadHash returns the hash of what comes before the messages: system instruction and tools.
func (r *Request) HeadHash() transcript.Hash {
	buf := jsonspan.AppendCompact(nil, r.system.Of(r.body.Data))
	for _, t := range r.Tools {
		buf = jsonspan.AppendCompact(append(buf, '\n'), []byte(t.Raw))
	}
	return transcript.HashOf(buf)
}
