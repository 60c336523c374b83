package sessionlog

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

// ClaudeCode is the format of Claude Code sessions.
const ClaudeCode Format = "claude-code"

// ClaudeWindow is the window in tokens that Claude Code uses unless it is told to use a
// larger one that the model has, which its log does not say.
const ClaudeWindow = 200_000

var claudeFormat = format{
	name:          ClaudeCode,
	agent:         "Claude Code",
	folders:       map[string][]string{".claude/projects": {"*/*.jsonl"}},
	bytesPerToken: 12,
	line: func(e value) bool {
		if !slices.Contains(claudeTypes, e.get("type").str()) {
			return false
		}
		return e.get("snapshot").isObject() ||
			slices.ContainsFunc([]string{"uuid", "sessionId", "session_id", "leafUuid"},
				func(name string) bool { return e.get(name).isString() })
	},
	read: readClaude,
}

var claudeTypes = []string{
	"user", "assistant", "system", "summary", "progress", "attachment", "file-history-snapshot", "queue-operation",
	"custom-title", "ai-title", "last-prompt", "mode", "permission-mode", "pr-link", "agent-name", "tag",
}

// readClaude reads a Claude Code log in two passes: an index of the tree, then the lines of
// the conversation, joined into messages.
func readClaude(s *sink) error {
	x, err := indexClaude(s.Log)
	if err != nil {
		return err
	}
	r := &claudeReader{sink: s, index: x}
	for _, nodes := range x.steps() {
		if err := r.step(nodes); err != nil {
			return err
		}
	}
	return nil
}

type claudeReader struct {
	*sink
	index *claudeIndex
	buf   []byte
	// the message that is being assembled
	parts  bytes.Buffer
	rec    Record
	role   string
	origin transcript.Origin
}

func (r *claudeReader) step(nodes []int) error {
	first := r.index.nodes[nodes[0]]
	r.rec = Record{Line: int(first.num), Sidechain: first.side, Abandoned: !first.on && !first.side}
	info, opts := &r.info, r.opts
	if first.kind != markNode {
		if r.rec.Sidechain {
			info.Sidechain++
		} else if r.rec.Abandoned {
			info.Abandoned++
		}
	}
	if r.rec.Sidechain && !opts.Sidechains || r.rec.Abandoned && !opts.Abandoned {
		return nil
	}
	switch first.kind {
	case queuedNode:
		v, err := r.reread(first, &r.buf)
		if err != nil {
			return err
		}
		text := r.index.queued[nodes[0]]
		r.rec.Time = v.get("timestamp").time()
		origin := transcript.OriginUnknown
		if notTyped(v) {
			origin = transcript.OriginInjected
		}
		return r.user(r.rec, origin, transcript.Say(text))
	case markNode:
		return r.mark(first)
	}
	return r.message(nodes)
}

func (r *claudeReader) mark(n node) error {
	v, err := r.reread(n, &r.buf)
	if err != nil {
		return err
	}
	meta := v.get("compactMetadata")
	partial := v.get("subtype").is("microcompact_boundary")
	if partial {
		meta = v.get("microcompactMetadata")
	}
	c := Compaction{Line: int(n.num), Trigger: meta.get("trigger").str(), Partial: partial}
	c.PreTokens = meta.get("preTokens").num()
	if c.Trigger == "auto" && !partial && c.PreTokens > 0 && c.PreTokens <= ClaudeWindow {
		r.info.Window = ClaudeWindow // it was full
	}
	r.compaction(c)
	return nil
}

func (r *claudeReader) message(nodes []int) error {
	r.parts.Reset()
	r.role, r.origin = "", transcript.OriginUnknown
	var content value
	for _, at := range nodes {
		v, err := r.reread(r.index.nodes[at], &r.buf)
		if err != nil {
			return err
		}
		if content = r.part(v); len(nodes) > 1 {
			r.append(content)
		}
	}
	if len(nodes) > 1 {
		content = value{b: append(append([]byte{'['}, r.parts.Bytes()...), ']')}
	}
	if err := r.assemble(content); err != nil {
		return err
	}
	if cap(r.buf) > longLine || r.parts.Cap() > longLine {
		r.buf, r.parts = nil, bytes.Buffer{} // the message has its own copy
	}
	if r.role == "user" && r.origin == transcript.OriginUnknown {
		blocks := r.rec.Message.Blocks()
		if annotate.IsSummary(r.rec.Message.Text()) { // old logs do not mark it in any other way
			r.origin = transcript.OriginSummary
		} else if !blocks.Has(transcript.KindText) && slices.ContainsFunc(blocks.List(), refusal) {
			r.origin = transcript.OriginTyped
		}
	}
	r.rec.Message = r.rec.Message.WithOrigin(r.origin)
	if r.origin == transcript.OriginSummary {
		r.summarized(r.rec.Line, r.rec.Message.Text())
	}
	rec := r.rec
	r.rec = Record{} // whoever gets it may let go of it
	return r.add(rec)
}

// refusal reports whether a block is a result in which Claude Code says that a person refused the call.
func refusal(b transcript.Block) bool {
	res, ok := b.(transcript.ToolResult)
	return ok && res.Error && annotate.Refused(res.Text())
}

// part takes one line's share of the message and returns its content.
func (r *claudeReader) part(e value) (content value) {
	e = e.indexed(nil)
	m := e.get("message").indexed(nil)
	content, r.role = m.get("content"), cmp.Or(m.get("role").str(), r.role)
	if name := m.get("model"); name.exists() {
		r.rec.Model = name.str()
	}
	if u := m.get("usage"); u.exists() {
		r.rec.Usage = anthropicUsage(u)
	}
	a := e.get("attachment")
	if a.exists() {
		r.role, content = "user", a.get("prompt")
	}
	if r.rec.Time.IsZero() {
		r.rec.Time = e.get("timestamp").time()
	}
	switch {
	case r.rec.Model == "<synthetic>": // the program itself speaks: errors, interruptions
		r.rec.Model, r.rec.Usage, r.origin = "", nil, transcript.OriginInjected
	case e.get("isCompactSummary").isTrue():
		r.origin = transcript.OriginSummary
	case notTyped(e) || notTyped(a):
		r.origin = transcript.OriginInjected
	}
	info := &r.info
	info.Dir = cmp.Or(info.Dir, e.get("cwd").str()) // where it began: a shell may go elsewhere
	if version := e.get("version"); version.exists() {
		info.Version = version.str()
	}
	return content
}

// notTyped reports whether a line or its attachment says that a program put it there, or that
// it came from elsewhere than the person at this agent: a chat channel, another agent.
func notTyped(e value) bool {
	kind := e.get("origin", "kind")
	return e.get("isMeta").isTrue() || kind.isString() && !kind.is("human")
}

// append collects the text of blocks; a string counts as a block.
func (r *claudeReader) append(content value) {
	for b := range content.list() {
		if r.parts.Len() > 0 && b.exists() {
			r.parts.WriteByte(',')
		}
		if b.isString() {
			fmt.Fprintf(&r.parts, `{"type":"text","text":%s}`, b.b)
		} else if b.exists() {
			r.parts.Write(b.b)
		}
	}
}

// assemble makes the message of the element that was on the wire.
func (r *claudeReader) assemble(content value) error {
	r.role = cmp.Or(r.role, "user")
	if !content.exists() {
		content.b = []byte("[]")
	}
	open := `{"messages":[{"role":` + transcript.Plain(r.role).Literal() + `,"content":`
	body, err := anthropic.Decode(slices.Concat([]byte(open), content.b, []byte("}]}")))
	if err != nil {
		return r.skip(damagedError{err}, r.rec.Line)
	}
	r.rec.Message = body.Messages[0]
	return nil
}
