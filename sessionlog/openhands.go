package sessionlog

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// openHandsReader reads OpenHands events. An answer of the model is several actions if it
// calls several tools; observations answer actions.
type openHandsReader struct {
	log    *Log
	sink   *sink
	answer string         // id of the newest answer, as its provider named it
	calls  map[int]string // by the action's id
}

func readOpenHands(l *Log, s *sink) {
	r := &openHandsReader{log: l, sink: s, calls: make(map[int]string)}
	l.info.Agent = "OpenHands"
	list := l.doc
	if l.doc.isObject() {
		list = l.doc.get("history")
		l.info.SessionID = l.doc.get("instance_id").str()
		l.info.Model = l.doc.get("metadata", "llm_config", "model").str()
	}
	l.each(list, func(e value, num int) bool {
		if e.isArray() { // the first versions wrote pairs
			for e := range e.elems() {
				if r.event(e, num); s.err != nil {
					break
				}
			}
		} else {
			r.event(e, num)
		}
		return s.err == nil
	})
}

func (r *openHandsReader) event(elem value, num int) {
	e := elem.keep().object()
	rec := Record{Line: num, Time: e.get("timestamp").time()}
	action, observation := e.get("action").str(), e.get("observation").str()
	switch {
	case observation != "":
		r.observation(rec, e, observation)
	case action == "":
		r.sink.err = r.log.damage(num, errShape)
	case action == "system":
		r.log.info.System = e.get("args", "content").str()
		r.log.info.Tools = tools(e.get("args", "tools"))
	case action == "condensation":
		summary := e.get("args", "summary").str()
		r.sink.compaction(Compaction{Line: num, Summary: summary})
		_ = r.sink.summary(rec, summary)
	case e.get("tool_call_metadata").isObject():
		r.call(rec, e)
	case action == "message":
		r.message(rec, e)
	case e.get("source").is("agent") && (action == "run" || action == "run_ipython" || action == "finish" || action == "think"):
		// An agent without function calling: its words are in the thought.
		rec.Message = transcript.Assistant(textBlocks(e.get("args", "thought"), e.get("args", "command"), e.get("args", "code"))...)
		_ = r.sink.add(rec)
	}
}

func (r *openHandsReader) message(rec Record, e object) {
	blocks := textBlocks(e.get("args", "content"))
	for u := range e.get("args", "image_urls").elems() {
		blocks = append(blocks, imageFrom(u.str(), "", ""))
	}
	if e.get("source").is("user") {
		rec.Message = transcript.NewMessage(transcript.RoleUser, blocks...)
	} else {
		rec.Message = transcript.Assistant(blocks...)
	}
	_ = r.sink.add(rec)
}

// call takes an action that came of a tool call. OpenHands keeps the whole answer with
// each of its actions, which follow one another with their observations between them;
// the first brings the answer with all of its calls.
func (r *openHandsReader) call(rec Record, e object) {
	meta := e.get("tool_call_metadata")
	id, response := meta.get("tool_call_id").str(), meta.get("model_response")
	r.calls[e.get("id").num()] = id
	answer := response.get("id").str()
	if answer != "" && answer == r.answer {
		return
	}
	r.answer = answer
	msg := response.get("choices").at(0).get("message").object()
	blocks := textBlocks(msg.get("content"))
	known := false
	for _, b := range chatCalls(msg) {
		c := b.(transcript.ToolCall)
		c.Raw = ""
		known = known || c.ID == id
		blocks = append(blocks, c)
	}
	if !known {
		blocks = append(blocks, transcript.ToolCall{ID: id, Name: meta.get("function_name").str(), Input: arguments(e.get("args"))})
	}
	rec.Message = transcript.Assistant(blocks...)
	rec.Model = response.get("model").str()
	rec.Usage = openHandsUsage(response.get("usage"))
	_ = r.sink.add(rec)
}

func (r *openHandsReader) observation(rec Record, e object, kind string) {
	text := e.get("content")
	id := e.get("tool_call_metadata", "tool_call_id").str()
	if id == "" && e.get("cause").exists() {
		id = r.calls[e.get("cause").num()]
	}
	if id == "" { // nothing asked for it: context, or the refusal of a malformed call
		if blocks := textBlocks(text); kind != "agent_state_changed" && kind != "null" {
			rec.Message = transcript.NewMessage(transcript.RoleUser, blocks...).WithOrigin(transcript.OriginInjected)
			_ = r.sink.add(rec)
		}
		return
	}
	res := transcript.ToolResult{CallID: id, Parts: transcript.BlocksOf(transcript.Text{Text: text.content()})}
	code := e.get("extras", "metadata", "exit_code")
	res.Error = kind == "error" || code.exists() && code.num() != 0 || strings.HasPrefix(head(text.content()), "ERROR:")
	r.sink.result(rec, res)
	if kind == "edit" && !res.Error {
		r.changed(rec, e, id)
	}
}

func (r *openHandsReader) changed(rec Record, e object, id string) {
	c := FileChange{Path: e.get("extras", "path").str(), Op: Edited, CallID: id, Line: rec.Line}
	if e.get("extras", "prev_exist").b.Kind() == jsonspan.False {
		c.Op = Created
	}
	c.Added, c.Removed = diffCount(e.get("extras", "diff").str())
	r.sink.change(c)
}

func textBlocks(texts ...value) []transcript.Block {
	var blocks []transcript.Block
	for _, t := range texts {
		if c := t.content(); !c.IsEmpty() {
			blocks = append(blocks, transcript.Text{Text: c})
		}
	}
	return blocks
}

func openHandsUsage(v value) *model.Usage {
	if !v.isObject() {
		return nil
	}
	cached := v.get("prompt_tokens_details", "cached_tokens").num()
	return &model.Usage{Input: max(v.get("prompt_tokens").num()-cached, 0), CacheRead: cached, Output: v.get("completion_tokens").num()}
}
