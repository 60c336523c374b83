package anthropic

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/sse"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
)

// NewRecorder makes a [model.Recorder] for an event stream of this wire. Its Write hands each piece of
// the answer to onDelta, which may be nil. An answer may take limit bytes of memory; 0: 64 MiB.
func NewRecorder(onDelta func(model.Delta), limit int) model.Recorder {
	r := &recorder{Stream: wire.Stream{OnDelta: onDelta, Limit: limit}}
	r.Event = r.event
	return r
}

// recorder keeps or ignores unknown events, blocks and members, and never refuses them. A
// surrogate pair that the server cut in two is whole in the reply but not in the deltas.
type recorder struct {
	wire.Stream
	meter  meter
	blocks []*streamBlock // in the order of their start
}

// Reply returns one message, whose Raw is the element to send back in the next request: the
// blocks in the order of the stream, each with the members it began with and the deltas filled
// in. If the stream is incomplete, it has the complete blocks and the text of an incomplete one.
//
// A tool call whose input is not a JSON object (the answer was cut off, or the provider did
// not check it) gets {"INVALID_JSON": …} as its input, so that it can be sent back with an
// error result.
func (r *recorder) Reply() (model.Reply, error) {
	r.End()
	reply := r.Answer
	reply.Stop, reply.Usage = stopReasons[reply.StopRaw], r.meter.usage
	var blocks [][]byte
	for _, b := range r.blocks {
		if raw := b.finish(); raw != nil {
			blocks = append(blocks, raw)
		}
	}
	reply.Messages = assistant(blocks)
	return r.Finish(reply)
}

// event takes one event. The type inside the data counts, because not all servers of this
// format send the other one.
func (r *recorder) event(raw []byte, v jsonspan.Value) {
	if r.Over {
		return
	}
	switch cmp.Or(v.Get("type").Text(), sse.Type(raw)) {
	case "message_start":
		r.start(v.Get("message"))
	case "content_block_start":
		r.blockStart(v)
	case "content_block_delta":
		r.blockDelta(v)
	case "content_block_stop":
		if b := r.open(v); b != nil {
			b.stopped = true
		}
	case "message_delta":
		r.Answer.StopRaw = cmp.Or(v.Get("delta", "stop_reason").Text(), r.Answer.StopRaw)
		r.meter.merge(v.Get("usage"))
	case "message_stop":
		r.Over = true
	case "error":
		r.Answer.Err = model.ClassifyError(200, "", bytes.Clone(v))
	}
}

func (r *recorder) start(message jsonspan.Value) {
	r.Answer.ID = cmp.Or(r.Answer.ID, message.Get("id").Text())
	r.Answer.Model = cmp.Or(message.Get("model").Text(), r.Answer.Model)
	r.Answer.StopRaw = cmp.Or(message.Get("stop_reason").Text(), r.Answer.StopRaw)
	r.meter.merge(message.Get("usage"))
}

// open returns the newest block with the event's index that has not stopped.
func (r *recorder) open(event jsonspan.Value) *streamBlock {
	index := event.Get("index").Int()
	for _, b := range slices.Backward(r.blocks) {
		if b.index == index && !b.stopped {
			return b
		}
	}
	return nil
}
