package sessionlog

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/openai"
)

// Codex is the format of Codex rollouts.
const Codex Format = "codex"

var codexFormat = format{
	name:  Codex,
	agent: "codex",
	folders: map[string][]string{
		".codex/sessions":          {"*/*/*/*.jsonl", "*.jsonl"},
		".codex/archived_sessions": {"*.jsonl"},
	},
	bytesPerToken: 9,
	line: func(e value) bool {
		typ := e.get("type").str()
		switch {
		case typ == "":
			return e.get("record_type").isString()
		case e.get("payload").isObject():
			return true
		case !slices.Contains(codexItems, typ) || e.get("message").isObject():
			return false
		}
		return e.get("role").isString() || e.get("call_id").isString() || e.get("summary").isArray()
	},
	read: readCodex,
}

// codexItems are the types of the items that the first rollouts wrote without an envelope.
var codexItems = []string{
	"message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
	"web_search_call", "local_shell_call", "compaction", "tool_search_call", "tool_search_output",
}

// codexReader reads rollouts. Response items are the conversation; events repeat them for a
// screen and are read only for what the items do not say.
type codexReader struct {
	*sink
	held  []Record // the newest record and the results after it, to which later events may add
	left  []stretch
	total int // tokens of the session at the newest report
	model string
}

func readCodex(s *sink) error {
	left, err := codexLeft(s.src)
	if err != nil {
		return err
	}
	r := &codexReader{sink: s, left: left}
	if err := s.lines(r.line); err != nil {
		return err
	}
	return r.release()
}

func (r *codexReader) line(ln line, e value) error {
	typ, payload, stamp := e.get("type"), e.get("payload"), e.get("timestamp")
	if !payload.isObject() { // the first rollouts had bare items, and state between them
		switch {
		case slices.Contains(codexItems, typ.str()):
			return r.item(ln, e, stamp)
		case e.get("record_type").exists():
			return nil
		case e.get("id").isString() && stamp.isString() && !typ.exists():
			r.meta(e)
			return nil
		}
		return errShape
	}
	switch typ.str() {
	case "response_item":
		return r.item(ln, payload, stamp)
	case "event_msg":
		r.event(payload)
	case "turn_context":
		if m := payload.get("model"); m.isString() {
			r.model = m.str()
		}
	case "session_meta":
		r.meta(payload)
	case "compacted":
		return r.compacted(ln, payload, stamp)
	}
	return nil
}

func (r *codexReader) meta(v value) {
	info := &r.info
	if info.SessionID != "" {
		return // a fork repeats its origin's
	}
	info.SessionID = v.get("id").str()
	info.Agent = cmp.Or(v.get("originator").str(), info.Agent)
	info.Version = v.get("cli_version").str()
	info.Dir = v.get("cwd").str()
	info.Tools = tools(v.get("dynamic_tools"))
	info.System = cmp.Or(v.get("base_instructions", "text").str(), v.get("instructions").str())
}

func (r *codexReader) item(ln line, item, stamp value) error {
	msg, err := wireMessage(item, openai.DecodeItem)
	if err != nil {
		return err
	}
	rec := Record{Message: msg, Time: stamp.time(), Line: ln.num}
	rec.Abandoned = slices.ContainsFunc(r.left, func(s stretch) bool { return s.from <= ln.num && ln.num < s.to })
	switch msg.Role() {
	case transcript.RoleAssistant:
		rec.Model = r.model
	case transcript.RoleDeveloper, transcript.RoleSystem:
		rec.Message = msg.WithOrigin(transcript.OriginInjected)
	}
	return r.hold(rec)
}

func (r *codexReader) event(v value) {
	switch {
	case codexTyped(v):
		if rec := r.newest(); rec.Message.Role() == transcript.RoleUser {
			rec.Message = rec.Message.WithOrigin(transcript.OriginTyped)
		}
	case v.get("type").is("token_count"):
		r.used(v.get("info"))
	}
}

// used takes a report of usage. It comes after the answer or, in newer versions, after the
// results of its calls. A report with the total of the one before it is that one again.
func (r *codexReader) used(info value) {
	r.info.Window = cmp.Or(info.get("model_context_window").num(), r.info.Window)
	total, u := info.get("total_token_usage", "total_tokens").num(), info.get("last_token_usage")
	if len(r.held) == 0 || r.held[0].Message.Role() != transcript.RoleAssistant || total == r.total && total > 0 {
		return
	}
	r.total = total
	r.held[0].Usage = u.usageOf("input_tokens", "cached_input_tokens", "", "output_tokens", "reasoning_output_tokens")
}

func (r *codexReader) newest() *Record {
	if len(r.held) == 0 {
		return &Record{}
	}
	return &r.held[len(r.held)-1]
}

// compacted notes a compaction. Its replacement history repeats what the file has, so it is
// read only if the file has nothing else.
func (r *codexReader) compacted(ln line, v, stamp value) error {
	first := len(r.held) == 0 && r.n == 0
	if err := r.release(); err != nil {
		return err
	}
	c := Compaction{Line: ln.num, Summary: v.get("message").str()}
	for item := range v.get("replacement_history").elems() {
		c.Opaque = c.Opaque || strings.HasPrefix(item.get("type").str(), "compaction")
		if first {
			if msg, err := wireMessage(item, openai.DecodeItem); err == nil {
				_ = r.add(Record{Message: msg, Time: stamp.time(), Line: ln.num})
			}
		}
	}
	return r.sink.compacted(Record{Time: stamp.time(), Line: ln.num}, c)
}

func (r *codexReader) hold(rec Record) (err error) {
	if rec.Message.Role() != transcript.RoleTool {
		err = r.release()
	}
	r.held = append(r.held, rec)
	return err
}

func (r *codexReader) release() (err error) {
	for _, rec := range r.held {
		if rec.Abandoned {
			r.info.Abandoned++
		}
		if !rec.Abandoned || r.opts.Abandoned {
			err = r.add(rec)
		}
	}
	clear(r.held)
	r.held = r.held[:0]
	return err
}

// stretch is from one line to before another.
type stretch struct{ from, to int }

// codexLeft finds what the user rolled back: an event names the number of turns, each of which begins with what
// the user typed. Most rollouts have no such event, and are not read twice.
func codexLeft(src *source) (left []stretch, err error) {
	found := false
	for ln, err := range src.lines() {
		if err != nil {
			return nil, err
		}
		found = found || bytes.Contains(ln.text, []byte("thread_rolled_back"))
	}
	if !found {
		return nil, nil
	}
	var turns []int // where each begins
	newest := 0     // message of the user
	for ln, err := range src.lines() {
		if err != nil {
			return nil, err
		}
		v, _ := parse(ln.text) // damage is reported when it is read
		payload := v.get("payload")
		switch typ := payload.get("type"); {
		case v.get("type").is("response_item"):
			if payload.get("role").is("user") {
				newest = ln.num
			}
		case !v.get("type").is("event_msg"):
		case codexTyped(payload) && newest > 0:
			turns = append(turns, newest)
		case typ.is("thread_rolled_back"):
			if n := min(payload.get("num_turns").num(), len(turns)); n > 0 {
				left = append(left, stretch{turns[len(turns)-n], ln.num})
				turns = turns[:len(turns)-n]
			}
		}
	}
	return left, nil
}

// codexTyped reports whether an event says that the newest message is what the user typed.
func codexTyped(event value) bool {
	return event.get("type").is("user_message") ||
		event.get("type").is("item_completed") && event.get("item", "type").is("UserMessage")
}
