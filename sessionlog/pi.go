package sessionlog

import (
	"fmt"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// readPi reads pi sessions: the first versions are linear, later ones trees. Two passes
// serve both: an index of the entries, then the path.
func readPi(l *Log, s *sink) error {
	t := newTree()
	linear := true
	err := l.lines(func(ln line, v value) error {
		m := piEntry(v)
		if !m.typ.isString() {
			return damaged(errShape)
		}
		n := node{off: ln.off, size: ln.size, num: int32(ln.num), kind: linkNode}
		switch {
		case m.typ.is("session"):
			piSession(&l.info, v)
			return nil
		case m.typ.is("message") && !m.message.isObject():
			return damaged(errShape)
		case oneOf(m.typ.str(), []string{"message", "compaction", "branch_summary", "custom_message"}):
			n.kind = userNode
		case classifyLine(v) != "" && classifyLine(v) != Pi:
			return damaged(errShape)
		}
		linear = linear && !m.parent.isString()
		t.add(m.id.str(), m.parent.str(), n)
		return nil
	})
	if err != nil {
		return err
	}
	if linear {
		t.all()
	} else {
		t.walk(t.leaf())
	}
	return piRecords(l, s, t)
}

func piRecords(l *Log, s *sink, t *tree) error {
	var buf []byte
	for _, n := range t.nodes {
		rec := Record{Line: int(n.num), Abandoned: !n.on}
		if !n.on {
			if n.kind != linkNode {
				l.info.Abandoned++
			}
			if !l.opts.Abandoned {
				continue
			}
		}
		v, err := l.again(n, &buf)
		if err != nil {
			return err
		}
		if err := piLine(l, s, rec, v); err != nil {
			return err
		}
	}
	return s.err
}

// again reads the line of a node for the second time, into a buffer that the value uses.
func (l *Log) again(n node, buf *[]byte) (value, error) {
	if c := int64(cap(*buf)); c < n.size || c > longLine && n.size < c/2 {
		*buf = nil // let go of the old one first
		*buf = make([]byte, n.size)
	}
	text := (*buf)[:n.size]
	if err := l.src.readAt(text, n.off); err != nil {
		return value{}, err
	}
	if n.num == 1 {
		text = trimBOM(text)
	}
	v, err := parse(text)
	if err != nil {
		return value{}, fmt.Errorf("line %d changed while it was read: %w", n.num, err)
	}
	return v, nil
}

type piFields struct{ typ, id, parent, stamp, message value }

func piEntry(v value) (m piFields) {
	for name, val := range v.fields() {
		switch name {
		case "type":
			m.typ = val
		case "id":
			m.id = val
		case "parentId":
			m.parent = val
		case "timestamp":
			m.stamp = val
		case "message":
			m.message = val
		}
	}
	return m
}

func piSession(info *Info, v value) {
	info.Agent = "pi"
	info.Version = v.get("version").raw()
	info.SessionID = v.get("id").str()
	info.Dir = v.get("cwd").str()
	info.Model = v.get("modelId").str()
}

func piLine(l *Log, s *sink, rec Record, v value) error {
	m := piEntry(v)
	rec.Time = m.stamp.time()
	switch m.typ.str() {
	case "message":
		return piMessage(s, rec, m.message.keep().object())
	case "model_change":
		l.info.Model = v.get("modelId").str()
	case "session_info":
		l.info.Title = v.get("name").str()
	case "compaction":
		summary := v.get("summary").str()
		s.compaction(Compaction{Line: rec.Line, PreTokens: v.get("tokensBefore").num(), Summary: summary})
		return s.summary(rec, summary)
	case "branch_summary":
		return s.summary(rec, v.get("summary").str())
	case "custom_message":
		v = v.keep()
		rec.Message = transcript.NewMessage(transcript.RoleUser, piBlocks(v.get("content"))...).WithOrigin(transcript.OriginInjected)
		return s.add(rec)
	}
	return nil
}

func piMessage(s *sink, rec Record, m object) error {
	blocks := piBlocks(m.get("content"))
	switch role := m.get("role").str(); role {
	case "assistant":
		rec.Message = transcript.Assistant(blocks...)
		rec.Model = m.get("model").str()
		rec.Usage = piUsage(m.get("usage"))
		rec.Aborted = m.get("stopReason").is("aborted")
	case "toolResult":
		res := transcript.ToolResult{CallID: m.get("toolCallId").str(), Error: m.get("isError").isTrue(), Parts: transcript.BlocksOf(blocks...)}
		s.result(rec, res)
		return s.err
	case "bashExecution": // the person ran a command beside the conversation
		text := fmt.Sprintf("Ran `%s`\n%s", m.get("command").str(), m.get("output").str())
		rec.Message = transcript.User(text).WithOrigin(transcript.OriginInjected)
	case "user":
		rec.Message = transcript.NewMessage(transcript.RoleUser, blocks...).WithOrigin(blocksOrigin(blocks))
	case "compactionSummary", "branchSummary":
		return s.summary(rec, m.get("summary").str())
	default: // custom roles of extensions
		rec.Message = transcript.NewMessage(transcript.RoleUser, blocks...).WithOrigin(transcript.OriginInjected)
	}
	return s.add(rec)
}

func piBlocks(content value) []transcript.Block {
	if content.isString() {
		return []transcript.Block{transcript.Text{Text: content.content()}}
	}
	var blocks []transcript.Block
	for e := range content.elems() {
		b := e.object()
		switch typ := b.get("type").str(); typ {
		case "text":
			blocks = append(blocks, transcript.Text{Text: b.get("text").content()})
		case "thinking":
			think := transcript.Thinking{Text: b.get("thinking").content(), Signature: b.get("thinkingSignature").str()}
			think.Redacted = b.get("redacted").isTrue()
			blocks = append(blocks, think)
		case "toolCall":
			blocks = append(blocks, transcript.ToolCall{ID: b.get("id").str(), Name: b.get("name").str(), Input: arguments(b.get("arguments"))})
		case "image":
			blocks = append(blocks, transcript.Image{MediaType: b.get("mimeType").str(), Data: b.get("data").content()})
		default:
			blocks = append(blocks, transcript.Opaque{Type: typ, Raw: b.raw()})
		}
	}
	return blocks
}

func piUsage(v value) *model.Usage {
	if !v.isObject() {
		return nil
	}
	return &model.Usage{
		Input: v.get("input").num(), CacheRead: v.get("cacheRead").num(), CacheWrite: v.get("cacheWrite").num(), Output: v.get("output").num(),
	}
}
