package anthropic

import (
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
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
func DecodeReply(body []byte) (model.Reply, error) {
	whole := jsonspan.Value(body)
	if err := whole.Valid(jsonspan.Object); err != nil {
		return model.Reply{}, fmt.Errorf("decode reply: %w", err)
	}
	if whole.Get("type").Text() == "error" {
		return model.Reply{Err: model.ClassifyError(0, "", body)}, nil
	}
	var r model.Reply
	var content jsonspan.Value
	var m meter
	for name, value := range whole.Fields() {
		switch name {
		case "id":
			r.ID = value.Text()
		case "model":
			r.Model = value.Text()
		case "stop_reason":
			r.StopRaw = value.Text()
		case "usage":
			m.merge(value)
		case "content":
			content = value
		}
	}
	if content.Kind() != jsonspan.Array {
		return model.Reply{}, fmt.Errorf("decode reply: no content array")
	}
	r.Stop, r.Usage = stopReason(r.StopRaw), m.usage
	var blocks [][]byte
	for b := range content.Elements() {
		blocks = append(blocks, b.Of(content))
	}
	r.Messages = assistant(blocks)
	return r, nil
}

// assistant makes the message of an answer from its blocks, or none of no blocks.
func assistant(blocks [][]byte) []transcript.Message {
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
	return []transcript.Message{m}
}

// emptyText reports whether a block is text that the provider would not take back.
func emptyText(block []byte) bool {
	v := jsonspan.Value(block)
	lit := v.Get("text")
	return v.Get("type").Text() == "text" && lit.Kind() == jsonspan.String && blank(string(lit))
}
