package openai

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// NewResponsesRecorder makes a [model.Recorder] for a stream of Responses. Its Write hands each piece of
// the answer to onDelta, which may be nil. An answer may take limit bytes of memory; 0: 64 MiB.
func NewResponsesRecorder(onDelta func(model.Delta), limit int) model.Recorder {
	r := &responsesRecorder{Stream: wire.Stream{OnDelta: onDelta, Limit: limit}}
	r.Event = r.event
	return r
}

// responsesRecorder takes each item from the event that says that it is done, as the server
// wrote it, so that it can be sent back. Items without such an event come from the response that ends the
// stream.
type responsesRecorder struct {
	wire.Stream // a delta's index is that of the item
	items       []recordedItem
	last        jsonspan.Value // the response that ended the stream
}

type recordedItem struct {
	index int
	id    string
	raw   []byte
}

// Reply returns a message for each item that is complete.
func (r *responsesRecorder) Reply() (model.Reply, error) {
	r.End()
	reply := responsesReply(r.last, r.allItems())
	reply.ID, reply.Model = cmp.Or(reply.ID, r.Answer.ID), cmp.Or(reply.Model, r.Answer.Model)
	reply.Err = cmp.Or(r.Answer.Err, reply.Err)
	r.Over = r.last != nil // not at [DONE]
	return r.Finish(reply)
}

// allItems returns the recorded items in order, and those which only the last response
// has.
func (r *responsesRecorder) allItems() [][]byte {
	items, i := slices.Clone(r.items), 0
	output := r.last.Get("output")
	for at := range output.Elements() {
		it := recordedItem{i, jsonspan.Value(at.Of(output)).Get("id").Text(), at.Of(output)}
		known := slices.ContainsFunc(items, func(old recordedItem) bool {
			return old.index == it.index || it.id != "" && old.id == it.id
		})
		if !known {
			items = append(items, it)
		}
		i++
	}
	slices.SortStableFunc(items, func(a, b recordedItem) int { return cmp.Compare(a.index, b.index) })
	out := make([][]byte, len(items))
	for i, it := range items {
		out[i] = it.raw
	}
	return out
}

func (r *responsesRecorder) event(_ []byte, v jsonspan.Value) {
	switch v.Get("type").Text() {
	case "response.created", "response.in_progress", "response.queued":
		if response := v.Get("response"); r.Answer.ID == "" { // for streams that break off
			r.Answer.ID, r.Answer.Model = response.Get("id").Text(), response.Get("model").Text()
		}
	case "response.output_item.added":
		r.added(v)
	case "response.output_item.done":
		r.itemDone(v)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done":
		if response := v.Get("response"); response.Kind() == jsonspan.Object {
			r.last, r.Over = r.Keep([]byte{}, string(response)), true
		}
	case "error":
		r.Answer.Err = model.ClassifyError(0, "", bytes.Clone(v))
	case "response.output_text.delta", "response.refusal.delta":
		r.show(transcript.KindText, v)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		r.show(transcript.KindThinking, v)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		r.show(transcript.KindToolCall, v)
	}
}

func (r *responsesRecorder) show(kind transcript.Kind, event jsonspan.Value) {
	if text := event.Get("delta").Text(); r.OnDelta != nil && text != "" {
		r.OnDelta(model.Delta{Kind: kind, Index: event.Get("output_index").Int(), Text: text})
	}
}

// added shows the beginning of a tool call.
func (r *responsesRecorder) added(event jsonspan.Value) {
	item := event.Get("item")
	if r.OnDelta == nil || item.Kind() != jsonspan.Object {
		return
	}
	msgs, facts := decodeItems([][]byte{bytes.Clone(item)})
	if !facts.calls {
		return
	}
	if c, ok := msgs[0].Blocks().At(0).(transcript.ToolCall); ok {
		index := event.Get("output_index").Int()
		r.OnDelta(model.Delta{Kind: transcript.KindToolCall, Index: index, CallID: c.ID, Name: c.Name})
	}
}

func (r *responsesRecorder) itemDone(event jsonspan.Value) {
	item := event.Get("item")
	if item.Kind() != jsonspan.Object {
		return
	}
	raw := r.Keep(nil, string(item))
	if r.Err != nil {
		return
	}
	it := recordedItem{index: event.Get("output_index").Int(), id: item.Get("id").Text(), raw: raw}
	same := func(old recordedItem) bool { return old.index == it.index && old.id == it.id }
	if i := slices.IndexFunc(r.items, same); i >= 0 {
		r.items[i] = it
	} else {
		r.items = append(r.items, it)
	}
}
