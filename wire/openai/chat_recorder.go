package openai

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// NewChatRecorder makes a [model.Recorder] for a stream of Chat Completions. Its Write hands each piece of
// the answer to onDelta, which may be nil. An answer may take limit bytes of memory; 0: 64 MiB.
func NewChatRecorder(onDelta func(model.Delta), limit int) model.Recorder {
	r := &chatRecorder{Stream: wire.Stream{OnDelta: onDelta, Limit: limit}}
	r.Event = r.event
	return r
}

// chatRecorder collects, of several choices, the one with index 0. A character that the server
// cut in two is whole in the reply but not in the deltas.
type chatRecorder struct {
	wire.Stream
	s        scanner // of the newest delta
	started  bool    // a choice was seen
	content  piece
	refusal  piece
	thinking piece // reasoning_content
	thought  piece // reasoning
	calls    []*streamedCall
	extra    []member
	next     int // index of the next new block for deltas
}

// piece collects a string of the answer as the inside of a JSON literal. Pieces are joined
// with their escapes, so that a surrogate pair that the server cut in two becomes whole
// again.
type piece struct {
	lit   []byte
	index int // of its deltas, from 1; 0: none yet
}

type streamedCall struct {
	index    int
	id, name string
	typ      string
	input    piece
	extra    []member
}

// member is a member that this package does not know.
type member struct {
	key string
	raw []byte
}

// Reply returns a message that can be sent back as it is.
func (r *chatRecorder) Reply() (model.Reply, error) {
	r.End()
	reply := r.Answer
	if r.started {
		if msg, ok := r.message(); ok {
			reply.Messages = []transcript.Message{msg}
			reply.Stop = chatStop(reply.StopRaw, msg, len(r.refusal.lit) > 0)
		}
	}
	r.Over = r.Over || reply.StopRaw != "" // some servers end without [DONE]
	return r.Finish(reply)
}

func (r *chatRecorder) event(_ []byte, v jsonspan.Value) {
	if v.Get("error") != nil {
		r.Answer.Err = model.ClassifyError(0, "", bytes.Clone(v))
	}
	r.Answer.ID = cmp.Or(r.Answer.ID, v.Get("id").Text())
	r.Answer.Model = cmp.Or(r.Answer.Model, v.Get("model").Text())
	if u, ok := usage(v.Get("usage")); ok {
		r.Answer.Usage = u
	}
	choice := wire.First(v.Get("choices"))
	if choice == nil {
		return
	}
	r.started = true
	if delta := choice.Get("delta"); delta.Kind() == jsonspan.Object {
		r.s.Begin(delta)
		r.delta(r.s.Object(r.s.Value()))
	}
	r.Answer.StopRaw = cmp.Or(choice.Get("finish_reason").Text(), r.Answer.StopRaw)
}

func (r *chatRecorder) delta(m object) {
	thinking, thought, content := m.Get("reasoning_content"), m.Get("reasoning"), m.Get("content")
	r.piece(&r.thinking, thinking, transcript.KindThinking)
	if thinking.IsString() && thought.IsString() { // the same twice, under two names
		r.thought.lit = r.Keep(r.thought.lit, inner(&r.s, thought))
	} else {
		r.piece(&r.thought, thought, transcript.KindThinking)
	}
	r.piece(&r.content, content, transcript.KindText)
	for _, p := range r.s.List(content) {
		r.piece(&r.content, r.s.said(p), transcript.KindText)
	}
	r.piece(&r.refusal, m.Get("refusal"), transcript.KindText)
	for _, c := range r.s.List(m.Get("tool_calls")) {
		r.call(c)
	}
	r.extra = r.keepUnknown(r.extra, m, deltaMembers)
}

// inner returns the bytes between the quotes of a string.
func inner(s *scanner, v value) string {
	lit := s.Raw(v)
	return lit[1 : len(lit)-1]
}

// piece adds the next piece of a string, if there is one, and shows it.
func (r *chatRecorder) piece(p *piece, v value, kind transcript.Kind) {
	if text := r.s.Text(v); text != "" {
		p.lit = r.Keep(p.lit, inner(&r.s, v))
		r.show(p, model.Delta{Kind: kind, Text: text})
	}
}

// show calls onDelta. Blocks are numbered in the order of their first piece.
func (r *chatRecorder) show(p *piece, d model.Delta) {
	if p.index == 0 {
		r.next++
		p.index = r.next
	}
	if r.OnDelta != nil && r.Err == nil {
		d.Index = p.index - 1
		d.Text = strings.Clone(d.Text) // the event's memory is used again
		r.OnDelta(d)
	}
}

func (r *chatRecorder) call(t object) {
	c, isNew := r.callFor(t)
	if t.Get("custom").Given() {
		c.typ = "custom"
	} else if c.typ == "" {
		c.typ = strings.Clone(r.s.Text(t.Get("type")))
	}
	r.input(c, t, isNew)
	c.extra = r.keepUnknown(c.extra, t, callMembers)
}

// input adds the next piece of a call's input and shows it.
func (r *chatRecorder) input(c *streamedCall, t object, isNew bool) {
	s := &r.s
	named, input := s.inside(t)
	if name := s.Text(named); c.name == "" && r.Room(len(c.id)+len(name)) {
		c.name = strings.Clone(name)
	}
	d := model.Delta{Kind: transcript.KindToolCall}
	if isNew {
		d.CallID, d.Name = c.id, c.name
	}
	if input.IsString() {
		c.input.lit = r.Keep(c.input.lit, inner(s, input))
		d.Text = s.Text(input)
	}
	if isNew || d.Text != "" {
		r.show(&c.input, d)
	}
}

// callFor finds the call that a piece belongs to, by its index. Servers that send no index,
// or the same one for all, tell calls apart by their ids.
func (r *chatRecorder) callFor(t object) (c *streamedCall, isNew bool) {
	id, numbered := r.s.Text(t.Get("id")), t.Get("index").Kind == jsonspan.Number
	index := len(r.calls) - 1
	if numbered {
		index = r.s.JSON(t.Get("index")).Int()
	}
	for _, c := range slices.Backward(r.calls) {
		byIndex := c.index == index && (id == "" || c.id == "" || c.id == id)
		if byIndex || id != "" && c.id == id && !numbered {
			if c.id == "" {
				c.id = strings.Clone(id)
			}
			return c, false
		}
	}
	c = &streamedCall{index: index, id: strings.Clone(id)}
	if !numbered {
		c.index = len(r.calls)
	}
	r.calls = append(r.calls, c)
	return c, true
}

var (
	deltaMembers = []string{
		"role", "content", "refusal", "reasoning_content", "reasoning", "tool_calls", "function_call", "audio",
	}
	callMembers = []string{"index", "id", "type", "function", "custom"}
)

// keepUnknown keeps unknown members: servers sign calls in members of their own and want
// them back. Lists are joined; of other values the last one counts.
func (r *chatRecorder) keepUnknown(list []member, o object, known []string) []member {
	for _, f := range o.Fields {
		key, v := f.Name, r.s.JSON(f.Value)
		if slices.Contains(known, key) || v.Kind() == jsonspan.Null {
			continue
		}
		if !r.Room(len(key) + len(v)) {
			break
		}
		i := slices.IndexFunc(list, func(m member) bool { return m.key == key })
		if i < 0 {
			i, list = len(list), append(list, member{key: strings.Clone(key)})
		}
		m := &list[i]
		if n := len(m.raw); v.Kind() == jsonspan.Array && n > 2 && m.raw[0] == '[' && len(v) > 2 {
			m.raw = append(append(m.raw[:n-1], ','), v[1:]...)
		} else {
			m.raw = bytes.Clone(v)
		}
	}
	return list
}

// message makes the answer an element of a messages array.
func (r *chatRecorder) message() (transcript.Message, bool) {
	var w writer
	w.raw("{").key("role").str("assistant").key("content")
	if len(r.content.lit) == 0 && (len(r.calls) > 0 || len(r.refusal.lit) > 0) {
		w.raw("null")
	} else {
		w.literal(r.content)
	}
	for _, p := range [...]struct {
		key string
		piece
	}{{"refusal", r.refusal}, {"reasoning_content", r.thinking}, {"reasoning", r.thought}} {
		if len(p.lit) > 0 {
			w.key(p.key).literal(p.piece)
		}
	}
	if len(r.calls) > 0 {
		w.key("tool_calls").raw("[")
		for _, c := range r.calls {
			w.streamedCall(c)
		}
		w.end("]")
	}
	for _, m := range r.extra {
		w.key(m.key).raw(string(m.raw))
	}
	_, msg, ok := readChatMessage(w.end("}").b)
	return msg, ok
}

func (w *writer) literal(p piece) *writer {
	w.raw(`"`)
	w.b = append(w.b, p.lit...)
	return w.end(`"`)
}

func (w *writer) streamedCall(c *streamedCall) {
	w.raw("{").key("id").str(c.id).key("type")
	inside, input := "function", "arguments"
	if c.typ == "custom" {
		inside, input = "custom", "input"
	}
	w.str(inside).key(inside).raw("{").key("name").str(c.name).key(input).literal(c.input).end("}")
	for _, m := range c.extra {
		w.key(m.key).raw(string(m.raw))
	}
	w.end("}")
}
