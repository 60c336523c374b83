package sessionlog

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/transcript"
)

var openHandsFormat = format{
	name:  "openhands",
	agent: "OpenHands",
	line:  isOpenHandsRun,
	document: func(doc value) bool {
		return isOpenHandsRun(doc) || isOpenHands(doc.at(0)) || isOpenHandsRun(doc.at(0))
	},
	read: readOpenHands,
}

// isOpenHandsRun reports whether a value is an object with a list of events.
func isOpenHandsRun(e value) bool { return isOpenHands(e.get("history").at(0)) }

// isOpenHands reports whether a value is an event.
func isOpenHands(e value) bool {
	if e.isArray() { // a pair of action and observation
		e = e.at(0)
	}
	action := e.get("action").isString()
	return e.get("source").isString() && (action || e.get("observation").isString()) ||
		action && e.get("args").isObject()
}

// openHandsReader reads OpenHands events. An answer of the model that calls several tools is
// several actions; observations answer actions.
type openHandsReader struct {
	*sink
	answer string         // the provider's id of the newest answer
	calls  map[int]string // by the action's id
}

func readOpenHands(s *sink) error {
	r := &openHandsReader{sink: s, calls: make(map[int]string)}
	list := s.doc
	if s.doc.isObject() {
		list = s.doc.get("history")
		s.info.SessionID = s.doc.get("instance_id").str()
		s.info.Model = s.doc.get("metadata", "llm_config", "model").str()
	}
	return s.each(list, func(e value, num int) error {
		for e := range e.list() { // the first versions wrote pairs
			if err := s.skip(r.event(e, num), num); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *openHandsReader) event(e value, num int) error {
	rec := Record{Line: num, Time: e.get("timestamp").time()}
	action, observation := e.get("action").str(), e.get("observation").str()
	switch {
	case observation != "":
		return r.observation(rec, e, observation)
	case action == "":
		return errShape
	case action == "system":
		r.info.System = e.get("args", "content").str()
		r.info.Tools = tools(e.get("args", "tools"))
	case action == "condensation":
		return r.compacted(rec, Compaction{Summary: e.get("args", "summary").str()})
	case e.get("tool_call_metadata").isObject():
		return r.call(rec, e)
	case action == "message":
		return r.message(rec, e)
	case e.get("source").is("agent") && slices.Contains([]string{"run", "run_ipython", "finish", "think"}, action):
		// An agent without function calling: its words are in the thought.
		return r.sink.answer(rec, textBlocks(e.get("args", "thought"), e.get("args", "command"), e.get("args", "code")))
	}
	return nil
}

func (r *openHandsReader) message(rec Record, e value) error {
	blocks := textBlocks(e.get("args", "content"))
	for u := range e.get("args", "image_urls").elems() {
		blocks = append(blocks, transcript.ImageAt(u.str()))
	}
	if e.get("source").is("user") {
		return r.user(rec, transcript.OriginUnknown, blocks...)
	}
	return r.sink.answer(rec, blocks)
}

// call reads an action that a tool call caused. OpenHands keeps the whole answer with each
// of its actions, so the first one brings the answer with all of its calls.
func (r *openHandsReader) call(rec Record, e value) error {
	meta := e.get("tool_call_metadata")
	id, response := meta.get("tool_call_id").str(), meta.get("model_response")
	r.calls[e.get("id").num()] = id
	answer := response.get("id").str()
	if answer != "" && answer == r.answer {
		return nil
	}
	r.answer = answer
	msg := response.get("choices").at(0).get("message")
	blocks := textBlocks(msg.get("content"))
	known := false
	for call := range msg.get("tool_calls").elems() {
		f := call.get("function")
		c := callOf(call.get("id"), f.get("name"), f.get("arguments"))
		known = known || c.ID == id
		blocks = append(blocks, c)
	}
	if !known {
		blocks = append(blocks, callOf(meta.get("tool_call_id"), meta.get("function_name"), e.get("args")))
	}
	rec.Model = response.get("model").str()
	rec.Usage = response.get("usage").usageOf("prompt_tokens", "prompt_tokens_details.cached_tokens", "",
		"completion_tokens", "")
	return r.sink.answer(rec, blocks)
}

func (r *openHandsReader) observation(rec Record, e value, kind string) error {
	text := e.get("content")
	id := e.get("tool_call_metadata", "tool_call_id").str()
	if id == "" && e.get("cause").exists() {
		id = r.calls[e.get("cause").num()]
	}
	if id == "" { // nothing asked for it: context, or the refusal of a malformed call
		if kind == "agent_state_changed" || kind == "null" {
			return nil
		}
		return r.user(rec, transcript.OriginInjected, textBlocks(text)...)
	}
	res := transcript.ToolResult{CallID: id, Parts: transcript.BlocksOf(transcript.Text{Text: text.content()})}
	code := e.get("extras", "metadata", "exit_code")
	res.Error = kind == "error" || code.exists() && code.num() != 0 || strings.HasPrefix(text.str(), "ERROR:")
	return r.result(rec, res)
}
