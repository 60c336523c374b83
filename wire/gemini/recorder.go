package gemini

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// DecodeReply reads an answer that was not streamed as events: one response, or the array of
// them that streamGenerateContent sends without alt=sse. Reply.Messages has one message,
// whose Raw is the element to send back in the next request, or none if the answer has no
// parts. An answer that is an error becomes the reply's Err.
func DecodeReply(body []byte) (model.Reply, error) {
	r := recorder{Stream: wire.Stream{Limit: max(len(body), 1)}}
	whole := jsonspan.Value(body)
	switch whole.Kind() {
	case jsonspan.Array:
		for e := range whole.Elements() {
			r.chunk(e.Of(body))
		}
	default:
		r.chunk(body)
	}
	if err := whole.Valid(jsonspan.Invalid); err != nil {
		return model.Reply{}, fmt.Errorf("decode gemini reply: %w", err)
	}
	if r.Answer.Err == nil && !r.started {
		return model.Reply{}, errors.New("decode gemini reply: neither an answer nor an error")
	}
	r.Over = true
	return r.Reply()
}

// NewRecorder makes a [model.Recorder] for an event stream of this wire. Its Write hands each piece of
// the answer to onDelta, which may be nil. An answer may take limit bytes of memory; 0: 64 MiB.
func NewRecorder(onDelta func(model.Delta), limit int) model.Recorder {
	r := &recorder{Stream: wire.Stream{OnDelta: onDelta, Limit: limit}}
	r.Event = func(_ []byte, data jsonspan.Value) { r.chunk(data) }
	return r
}

// recorder makes one part of pieces of text that follow each other. A part with a signature is
// never joined with another, and every part that is not plain text is kept byte for byte.
type recorder struct {
	wire.Stream
	pieces  []piece
	tail    []byte // the end of the stream
	started bool   // a candidate or a refusal of the prompt was seen
}

// tailSize is how much of the end of a stream is kept for an error.
const tailSize = 8 << 10

// piece is a part of the answer: plain text so far, or a part as it came.
type piece struct {
	thought bool
	lit     []byte // the inside of the text's literal
	raw     []byte
}

func (r *recorder) Write(b []byte) (int, error) {
	_, _ = r.Stream.Write(b)
	if r.tail = append(r.tail, b[max(len(b)-tailSize, 0):]...); len(r.tail) > 2*tailSize {
		r.tail = append(r.tail[:0], r.tail[len(r.tail)-tailSize:]...)
	}
	return len(b), nil
}

// Reply returns a message that can be sent back as it is.
func (r *recorder) Reply() (model.Reply, error) {
	r.End()
	r.bareError()
	reply := r.Answer
	m, ok := r.message()
	if ok {
		reply.Messages = []transcript.Message{m}
	}
	if reply.Stop = stopReasons[reply.StopRaw]; reply.Stop == model.StopEnd && m.Blocks().Has(transcript.KindToolCall) {
		reply.Stop = model.StopToolUse
	}
	return r.Finish(reply)
}

// bareError finds an error at the end of a stream that the provider did not send as an event
// but as JSON by itself.
func (r *recorder) bareError() {
	if at := bytes.LastIndex(r.tail, []byte("\n{")) + 1; !r.Over && r.Answer.Err == nil && at < len(r.tail) {
		body := jsonspan.Value(r.tail[at:])
		if body.Get("error").Kind() == jsonspan.Object && body.Valid(jsonspan.Object) == nil {
			r.Answer.Err = model.ClassifyError(0, "", bytes.Clone(body))
		}
	}
}

// chunk takes one response of a stream. Each is complete in itself.
func (r *recorder) chunk(data jsonspan.Value) {
	for name, v := range data.Fields() {
		switch camel(name) {
		case "error":
			if v.Kind() == jsonspan.Object {
				r.Answer.Err = model.ClassifyError(0, "", bytes.Clone(data))
			}
		case "responseId":
			r.Answer.ID = cmp.Or(r.Answer.ID, v.Text())
		case "modelVersion":
			r.Answer.Model = cmp.Or(r.Answer.Model, v.Text())
		case "usageMetadata":
			r.Answer.Usage = usage(v)
		case "promptFeedback":
			if reason := v.Get("blockReason").Text(); reason != "" {
				r.started, r.Over, r.Answer.StopRaw = true, true, reason
			}
		case "candidates":
			if c := wire.First(v); c != nil {
				r.candidate(c)
			}
		}
	}
}

func (r *recorder) candidate(c jsonspan.Value) {
	r.started = true
	parts := c.Get("content", "parts")
	for p := range parts.Elements() {
		r.part(p.Of(parts))
	}
	if reason := cmp.Or(c.Get("finishReason").Text(), c.Get("finish_reason").Text()); reason != "" {
		r.Over, r.Answer.StopRaw = true, reason
	}
}

// part adds a part, or a piece of the text before it.
func (r *recorder) part(raw jsonspan.Value) {
	var text jsonspan.Value
	thought, plain := false, raw.Kind() == jsonspan.Object
	for name, v := range raw.Fields() {
		switch {
		case name == "text" && v.Kind() == jsonspan.String:
			text = v
		case name == "thought" && (v.Kind() == jsonspan.True || v.Kind() == jsonspan.False):
			thought = v.Kind() == jsonspan.True
		default:
			plain = false
		}
	}
	if plain = plain && text != nil; plain && len(text) == len(`""`) || !r.Room(len(raw)) {
		return
	}
	n := len(r.pieces)
	switch {
	case !plain:
		r.pieces = append(r.pieces, piece{raw: bytes.Clone(raw)})
	case n > 0 && r.pieces[n-1].raw == nil && r.pieces[n-1].thought == thought:
		r.pieces[n-1].lit = append(r.pieces[n-1].lit, text[1:len(text)-1]...)
	default:
		r.pieces = append(r.pieces, piece{thought: thought, lit: bytes.Clone(text[1 : len(text)-1])})
	}
	if r.OnDelta != nil {
		r.show(raw)
	}
}

func (r *recorder) show(raw []byte) {
	block, _ := readPart(bytes.Clone(raw))
	if d, ok := model.DeltaOf(block, len(r.pieces)-1); ok && (d.Text != "" || d.Name != "") {
		r.OnDelta(d)
	}
}

// message makes the answer an element of a contents array.
func (r *recorder) message() (transcript.Message, bool) {
	var parts [][]byte
	for _, p := range r.pieces {
		if p.raw == nil {
			head := `{"text":"`
			if p.thought {
				head = `{"thought":true,"text":"`
			}
			p.raw = append(append([]byte(head), p.lit...), `"}`...)
		}
		parts = append(parts, p.raw)
	}
	if len(parts) == 0 {
		return transcript.Message{}, false
	}
	m, err := DecodeMessage(content("model", parts))
	return m, err == nil
}

// stopReasons are the provider's words; any other is [model.StopUnknown].
var stopReasons = map[string]model.StopReason{
	"STOP": model.StopEnd, "MAX_TOKENS": model.StopMaxTokens,
	"SAFETY": model.StopRefusal, "RECITATION": model.StopRefusal, "LANGUAGE": model.StopRefusal,
	"BLOCKLIST": model.StopRefusal, "PROHIBITED_CONTENT": model.StopRefusal, "SPII": model.StopRefusal,
	"IMAGE_SAFETY": model.StopRefusal, "IMAGE_PROHIBITED_CONTENT": model.StopRefusal,
}

// usage reads what a request cost. The provider counts cached tokens as part of the prompt,
// and thoughts apart from the answer.
func usage(v jsonspan.Value) model.Usage {
	count := func(name string) int { return v.Get(name).Int() }
	prompt, cached := count("promptTokenCount")+count("toolUsePromptTokenCount"), count("cachedContentTokenCount")
	thoughts := count("thoughtsTokenCount")
	return model.Usage{
		Input: max(prompt-cached, 0), CacheRead: cached,
		Output: count("candidatesTokenCount") + thoughts, Reasoning: thoughts,
	}
}
