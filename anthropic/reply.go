package anthropic

import (
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/jsonspan"
)

// DecodeReply reads a complete answer, the body of a response that was not streamed.
// The body must not be changed afterwards.
//
// Reply.Messages has one message, whose Raw is the element to send back in the next
// request; it has none when the answer has no content. Blocks of nothing but white
// space, which models sometimes produce and the provider does not take back, are left
// out. Reply.Usage is what the provider says of the answer itself, without compactions and
// other calls on the way.
//
// An error body gives a Reply with only Err set, and no error.
func DecodeReply(body []byte) (pleat.Reply, error) {
	if !valid(body, jsonspan.Object) {
		return pleat.Reply{}, fmt.Errorf("decode reply: %w", notObject(body))
	}
	if text(lookup(body, "type")) == "error" {
		return pleat.Reply{Err: pleat.ClassifyError(0, "", body)}, nil
	}
	var r pleat.Reply
	var content []byte
	var m meter
	for name, value := range members(body) {
		switch name {
		case "id":
			r.ID = text(value)
		case "model":
			r.Model = text(value)
		case "stop_reason":
			r.StopRaw = text(value)
		case "usage":
			m.merge(value)
		case "content":
			content = value
		}
	}
	if kindOf(content) != jsonspan.Array {
		return pleat.Reply{}, fmt.Errorf("decode reply: no content array")
	}
	r.Stop, r.Usage = stopReason(r.StopRaw), m.usage
	var blocks [][]byte
	for _, b := range elements(content) {
		blocks = append(blocks, b)
	}
	r.Messages = assistant(blocks)
	return r, nil
}

// notObject says why a text is no JSON object.
func notObject(body []byte) error {
	var c jsonspan.Cursor
	c.Reset(body, jsonspan.Limits{})
	c.Object()
	for _, ok := c.NextKey(); ok; _, ok = c.NextKey() {
		c.Skip()
	}
	return c.End()
}

// assistant makes the message of an answer from its blocks, or none of no blocks.
func assistant(blocks [][]byte) []pleat.Message {
	blocks = slices.DeleteFunc(blocks, emptyText)
	if len(blocks) == 0 {
		return nil
	}
	raw := []byte(`{"role":"assistant","content":[`)
	for i, b := range blocks {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(raw, b...)
	}
	raw = append(raw, "]}"...)
	d := decoder{data: raw, req: &Request{}, section: sectionMessages}
	d.c.Reset(raw, jsonspan.Limits{})
	m, ok := d.walkMessage()
	if !ok { // nested deeper than Decode takes: what cannot be sent back is no message
		return nil
	}
	return []pleat.Message{m}
}

// emptyText reports whether a block is text that the provider would not take back.
func emptyText(block []byte) bool {
	if text(lookup(block, "type")) != "text" {
		return false
	}
	lit := lookup(block, "text")
	return kindOf(lit) == jsonspan.String && blank(string(lit))
}
