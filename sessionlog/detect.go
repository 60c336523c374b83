package sessionlog

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

const (
	sniffLines = 64 // lines looked at to find a line format
	sniffBytes = 64 << 20
)

// detect finds the format and, for documents, reads the document.
//
// A first line that is a whole object makes a file of lines, or a document on one line.
// Otherwise the file is one document; if it is none, its first line may be damaged and
// the ones behind it tell.
func (l *Log) detect() error {
	whole, format, err := l.sniff()
	if err != nil {
		return err
	}
	if format != "" && whole {
		l.format = format
		return l.openLines()
	}
	if l.src.size <= l.opts.MaxDocument {
		v, err := l.readDocument()
		if err != nil {
			return err
		}
		if f := classifyDocument(v); f != "" && (format == "" || len(l.broken) == 0) {
			l.format, l.whole, l.doc, l.docAt = f, v, v, 1
			return nil
		}
	}
	if format != "" {
		l.format, l.broken = format, nil
		return l.openLines()
	}
	if l.src.size > l.opts.MaxDocument {
		return fmt.Errorf("no line format, and as a document %d bytes, limit %d: %w", l.src.size, l.opts.MaxDocument, ErrTooLarge)
	}
	return l.unknown()
}

func (l *Log) unknown() error {
	head := make([]byte, min(l.src.size, 512))
	if err := l.src.readAt(head, 0); err != nil {
		return err
	}
	why := "JSON, but none of: lines of Claude Code, Codex, Copilot CLI, pi or OpenHands; an opencode or Gemini CLI session; " +
		"a Messages, Chat Completions or Responses body; a tau-bench, SWE-agent or OpenHands trajectory"
	switch text := bytes.TrimSpace(trimBOM(head)); {
	case len(text) == 0:
		why = "the file is empty"
	case bytes.IndexByte(head, 0) >= 0:
		why = "the file is binary"
	case text[0] != '{' && text[0] != '[':
		why = "the file is not JSON"
	}
	return fmt.Errorf("%w: %s", ErrFormat, why)
}

// sniff looks at the first lines. It reports the format of the first one that has a line
// format, and whether the first line that is not blank was a whole object.
func (l *Log) sniff() (whole bool, format Format, err error) {
	lr := newLineReader(l.src, l.opts.MaxLine)
	for i := 0; i < sniffLines && lr.pos < sniffBytes; i++ {
		ln, err := lr.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return false, "", err
		}
		v, err := parse(ln.text)
		if err != nil || !v.isObject() {
			continue
		}
		if i == 0 {
			whole = true
		}
		if f := classifyLine(v); f != "" {
			return whole, f, nil
		}
	}
	return whole, "", nil
}

var claudeTypes = []string{
	"user", "assistant", "system", "summary", "progress", "attachment", "file-history-snapshot", "queue-operation",
	"custom-title", "ai-title", "last-prompt", "mode", "permission-mode", "pr-link", "agent-name", "tag",
}

var codexItems = []string{
	"message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
	"web_search_call", "local_shell_call", "compaction", "tool_search_call", "tool_search_output",
}

// classifyLine tells the line formats apart by the shape of one entry, "" if it is of
// none. Names that agents write into their files are not believed.
func classifyLine(v value) Format {
	m := members(v)
	typ := m["type"].str()
	switch {
	case m["payload"].isObject() && typ != "":
		return Codex
	case m["data"].isObject() && strings.Contains(typ, "."):
		return CopilotCLI
	case m["history"].isArray() && isOpenHands(m["history"].at(0)):
		return OpenHands
	case oneOf(typ, claudeTypes) && (m["uuid"].isString() || m["sessionId"].isString() || m["session_id"].isString() || m["leafUuid"].isString() || m["snapshot"].isObject()):
		return ClaudeCode
	case typ == "session" && (m["cwd"].exists() || m["version"].exists()):
		return Pi
	case typ == "message" && m["message"].isObject():
		return Pi
	case oneOf(typ, codexItems) && (m["role"].isString() || m["call_id"].isString() || m["summary"].isArray()):
		return Codex
	case m["record_type"].isString() && len(m) == 1:
		return Codex
	case m["messages"].isArray() || m["input"].exists() || m["traj"].isArray(): // a document a line
		return classifyDocument(v)
	}
	return ""
}

// classifyDocument tells the document formats apart, "" if it is none.
func classifyDocument(v value) Format {
	if v.isArray() {
		return classifyList(v)
	}
	m := members(v)
	switch first := m["messages"].at(0); {
	case m["messages"].isArray() && m["info"].isObject() && (first.get("parts").isArray() || !first.exists()):
		return OpenCode
	case m["messages"].isArray() && m["sessionId"].isString() && (first.get("type").isString() || !first.exists()):
		return GeminiCLI
	case m["traj"].isArray():
		return TauBench
	case m["history"].isArray() && isOpenHands(m["history"].at(0)):
		return OpenHands
	case m["trajectory"].isArray() && (m["history"].isArray() || m["trajectory"].at(0).get("observation").exists()):
		return SWEAgent
	case m["messages"].isArray() && (first.get("role").isString() || !first.exists() && m["model"].isString()):
		return messagesWire(m)
	case m["model"].isString() && (m["input"].isArray() || m["input"].isString()):
		return OpenAIResponses
	}
	return ""
}

func classifyList(v value) Format {
	first := v.at(0)
	m := members(first)
	switch {
	case m["traj"].isArray():
		return TauBench
	case isOpenHands(first), m["history"].isArray() && isOpenHands(m["history"].at(0)):
		return OpenHands
	case m["info"].isObject() && m["parts"].isArray():
		return OpenCode
	case m["role"].isString() && m["type"].is("message"), m["call_id"].isString():
		return OpenAIResponses
	case m["role"].isString():
		return messagesWire(map[string]value{"messages": v})
	}
	return ""
}

func isOpenHands(event value) bool {
	if event.isArray() { // action and observation in a pair
		event = event.at(0)
	}
	m := members(event)
	return m["source"].isString() && (m["action"].isString() || m["observation"].isString()) ||
		m["action"].isString() && m["args"].isObject()
}

// messagesWire tells Anthropic Messages from Chat Completions. Both are lists of roles
// and contents; what only one of them has decides.
func messagesWire(body map[string]value) Format {
	found := Format("")
	for msg := range body["messages"].elems() {
		m := members(msg)
		if role := m["role"].str(); role == "tool" || role == "system" || role == "developer" || role == "function" || m["tool_calls"].exists() {
			found = OpenAIChat
		}
		for b := range m["content"].elems() {
			switch b.get("type").str() {
			case "tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "server_tool_use":
				found = Anthropic
			case "image_url", "input_audio", "file", "refusal":
				found = OpenAIChat
			}
			if found != "" {
				break
			}
		}
		if found != "" {
			break
		}
	}
	tool := body["tools"].at(0)
	switch {
	case found != "":
		return found
	case body["system"].exists(), body["anthropic_version"].exists(), tool.get("input_schema").exists():
		return Anthropic
	case tool.get("function").exists():
		return OpenAIChat
	case strings.Contains(body["model"].str(), "claude") && body["max_tokens"].exists():
		return Anthropic
	}
	return OpenAIChat
}

func members(v value) map[string]value {
	m := make(map[string]value)
	for name, val := range v.fields() {
		m[strings.Clone(name)] = val
	}
	return m
}

func oneOf(s string, list []string) bool {
	for _, x := range list {
		if s == x {
			return true
		}
	}
	return false
}
