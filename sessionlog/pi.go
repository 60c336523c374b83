package sessionlog

import (
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Pi is the format of pi sessions.
const Pi Format = "pi"

var piFormat = format{
	name: Pi,
	line: func(e object) bool {
		return e.get("type").is("session") && (e.get("cwd").exists() || e.get("version").exists()) ||
			e.get("type").is("message") && e.get("message").isObject()
	},
	read: readPi,
}

// readPi reads pi sessions. The first versions are linear, later ones are trees. Two passes
// serve both: an index of the entries, then the path.
func readPi(l *Log, s *sink) error {
	t := newTree()
	linear := true
	err := l.lines(func(ln line, v value) error {
		e := v.object()
		typ := e.get("type")
		n := node{off: ln.off, size: ln.size, num: int32(ln.num), kind: linkNode}
		switch {
		case !typ.isString(), typ.is("message") && !e.get("message").isObject():
			return errShape
		case typ.is("session"):
			l.info.Agent = "pi"
			l.info.Version = e.get("version").raw()
			l.info.SessionID = e.get("id").str()
			l.info.Dir = e.get("cwd").str()
			l.info.Model = e.get("modelId").str()
			return nil
		case slices.Contains([]string{"message", "compaction", "branch_summary", "custom_message"}, typ.str()):
			n.kind = userNode
		case l.foreign(v):
			return errShape
		}
		parent := e.get("parentId")
		linear = linear && !parent.isString()
		t.add(e.get("id").str(), parent.str(), n)
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
	return l.path(s, t, piLine)
}

// path reads the lines of a tree that are on the way to its last leaf.
func (l *Log) path(s *sink, t *tree, read func(l *Log, s *sink, rec Record, v value) error) error {
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
		v, err := l.reread(n, &buf)
		if err != nil {
			return err
		}
		if err := read(l, s, rec, v); err != nil {
			return err
		}
	}
	return s.err
}

func piLine(l *Log, s *sink, rec Record, v value) error {
	e := v.object()
	rec.Time = e.get("timestamp").time()
	switch e.get("type").str() {
	case "message":
		return piMessage(s, rec, e.get("message").keep().object())
	case "model_change":
		l.info.Model = e.get("modelId").str()
	case "session_info":
		l.info.Title = e.get("name").str()
	case "compaction":
		summary := e.get("summary").str()
		s.compaction(Compaction{Line: rec.Line, PreTokens: e.get("tokensBefore").num(), Summary: summary})
		return s.summary(rec, summary)
	case "branch_summary":
		return s.summary(rec, e.get("summary").str())
	case "custom_message":
		rec.Message = transcript.NewMessage(transcript.RoleUser, plainBlocks(e.get("content").keep())...).WithOrigin(transcript.OriginInjected)
		return s.add(rec)
	}
	return nil
}

func piMessage(s *sink, rec Record, m object) error {
	blocks := plainBlocks(m.get("content"))
	switch role := m.get("role").str(); role {
	case "assistant":
		rec.Message = transcript.Assistant(blocks...)
		rec.Model = m.get("model").str()
		u := m.get("usage").object()
		rec.Usage = u.usage(model.Usage{
			Input: u.get("input").num(), CacheRead: u.get("cacheRead").num(), CacheWrite: u.get("cacheWrite").num(), Output: u.get("output").num(),
		})
		rec.Aborted = m.get("stopReason").is("aborted")
	case "toolResult":
		return s.result(rec, transcript.ToolResult{CallID: m.get("toolCallId").str(), Error: m.get("isError").isTrue(), Parts: transcript.BlocksOf(blocks...)})
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
