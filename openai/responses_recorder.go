package openai

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/sse"
	"github.com/pleat-dev/pleat/internal/wire"
)

// ResponsesRecorder collects the answer of a streaming Responses request from the bytes
// that pass by. Write it the response body exactly as it comes, in pieces of any size;
// it never returns an error, so it can stand in an [io.MultiWriter] or [io.TeeReader]
// without harm. After the end of the stream ask for the [ResponsesRecorder.Reply].
//
// Items are taken from the event that says that they are done, as the server wrote them,
// so that they can be sent back; for items without such an event from the response that
// ends the stream. A ResponsesRecorder is not safe for concurrent use.
type ResponsesRecorder struct {
	// OnDelta, if set, is called from Write with each piece of the answer. Its index is
	// that of the item.
	OnDelta func(pleat.Delta)
	// Limit bounds the memory for the answer; zero means [DefaultLimit].
	Limit int

	stream stream
	s      scanner
	items  []recordedItem
	id     string
	model  string
	last   []byte // the response that ended the stream
	err    *pleat.APIError
}

type recordedItem struct {
	index int
	id    string
	raw   []byte
}

// Write collects what p holds. It always returns len(p) and no error.
func (r *ResponsesRecorder) Write(p []byte) (int, error) {
	r.stream.Write(p, r.Limit, r.event)
	return len(p), nil
}

// Reply returns the answer after the end of the stream, a message for each item. An
// error that the provider sent inside the stream is the reply's Err. If the stream broke
// off or was not what it should be, Reply returns the items that were complete, and an
// error.
func (r *ResponsesRecorder) Reply() (pleat.Reply, error) {
	r.stream.End(r.event)
	var s scanner
	var n responseNote
	if r.last != nil {
		s.reset(r.last)
		s.response(&n)
	}
	reply := s.finish(&n, r.allItems(&s, &n))
	reply.ID, reply.Model = cmp.Or(reply.ID, r.id), cmp.Or(reply.Model, r.model)
	if r.err != nil {
		reply.Err = r.err
	}
	return r.stream.result(reply, r.last != nil)
}

// Done reports whether the response is over, or the server has sent an error: nothing
// that belongs to the answer comes any more.
func (r *ResponsesRecorder) Done() bool { return r.last != nil || r.err != nil }

// allItems returns the recorded items in order, and those which only the last response
// has.
func (r *ResponsesRecorder) allItems(s *scanner, n *responseNote) [][]byte {
	items := slices.Clone(r.items)
	for i, v := range n.items {
		raw := v.Of(s.data)
		id := jsonspan.Value(raw).Get("id").Text()
		known := slices.ContainsFunc(items, func(it recordedItem) bool {
			return it.index == i || id != "" && it.id == id
		})
		if !known {
			items = append(items, recordedItem{i, id, raw})
		}
	}
	slices.SortStableFunc(items, func(a, b recordedItem) int { return cmp.Compare(a.index, b.index) })
	out := make([][]byte, len(items))
	for i, it := range items {
		out[i] = it.raw
	}
	return out
}

// eventNote is what the scanner notes of an event.
type eventNote struct {
	typ, index, delta, item, response value
}

func (r *ResponsesRecorder) event(e sse.Event) {
	data := e.Data
	if r.stream.Err != nil {
		return
	}
	if string(data) == "[DONE]" {
		return
	}
	s := &r.s
	s.reset(data)
	var n eventNote
	for key := range s.c.Fields {
		switch key {
		case "type":
			n.typ = s.value()
		case "output_index":
			n.index = s.value()
		case "delta":
			n.delta = s.value()
		case "item":
			n.item = s.value()
		case "response":
			n.response = s.value()
		}
	}
	if err := s.c.End(); err != nil {
		r.stream.Fail(fmt.Errorf("%w: %w", wire.ErrEvent, err))
		return
	}
	r.handle(&n, data)
}

func (r *ResponsesRecorder) handle(n *eventNote, data []byte) {
	switch typ := r.s.text(n.typ); typ {
	case "response.created", "response.in_progress", "response.queued":
		r.begin(n.response)
	case "response.output_item.added":
		r.added(n)
	case "response.output_item.done":
		r.itemDone(n)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done":
		if n.response.kind == jsonspan.Object {
			r.last = r.stream.keep([]byte{}, r.s.raw(n.response))
		}
	case "error":
		r.err = pleat.ClassifyError(0, "", bytes.Clone(data))
	case "response.output_text.delta", "response.refusal.delta":
		r.show(pleat.KindText, n)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		r.show(pleat.KindThinking, n)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		r.show(pleat.KindToolCall, n)
	}
}

// begin notes what the first events say, for streams that break off.
func (r *ResponsesRecorder) begin(response value) {
	if r.id != "" || response.kind != jsonspan.Object {
		return
	}
	v := jsonspan.Value(response.Of(r.s.data))
	r.id, r.model = v.Get("id").Text(), v.Get("model").Text()
}

func (r *ResponsesRecorder) show(kind pleat.Kind, n *eventNote) {
	if text := r.s.text(n.delta); r.OnDelta != nil && text != "" {
		r.OnDelta(pleat.Delta{Kind: kind, Index: r.s.number(n.index), Text: strings.Clone(text)})
	}
}

// added shows the beginning of a tool call.
func (r *ResponsesRecorder) added(n *eventNote) {
	if r.OnDelta == nil || n.item.kind != jsonspan.Object {
		return
	}
	msgs, facts := decodeItems([][]byte{bytes.Clone(n.item.Of(r.s.data))})
	if !facts.calls {
		return
	}
	if c, ok := msgs[0].Blocks().At(0).(pleat.ToolCall); ok {
		r.OnDelta(pleat.Delta{Kind: pleat.KindToolCall, Index: r.s.number(n.index), CallID: c.ID, Name: c.Name})
	}
}

func (r *ResponsesRecorder) itemDone(n *eventNote) {
	if n.item.kind != jsonspan.Object {
		return
	}
	raw := r.stream.keep(nil, r.s.raw(n.item))
	if r.stream.Err != nil {
		return
	}
	it := recordedItem{index: r.s.number(n.index), id: jsonspan.Value(raw).Get("id").Text(), raw: raw}
	for i := range r.items {
		if old := &r.items[i]; old.index == it.index && old.id == it.id {
			*old = it
			return
		}
	}
	r.items = append(r.items, it)
}
