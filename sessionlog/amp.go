package sessionlog

import (
	"net/url"
	"strings"

	"github.com/pleat-dev/pleat/transcript"
)

// ampFormat is what "amp threads export" prints, and the files of versions that kept threads on
// the machine.
var ampFormat = format{
	name:    "amp",
	agent:   "amp",
	folders: map[string][]string{".local/share/amp/threads": {"T-*.json", "*/T-*.json"}},
	document: func(doc value) bool {
		return strings.HasPrefix(doc.get("id").str(), "T-") && doc.get("created").exists() && doc.get("messages").isArray()
	},
	read: readAmp,
}

// readAmp reads messages that are like those of the Messages API, but for their results.
func readAmp(l *Log, s *sink) error {
	env := l.doc.get("env", "initial")
	l.info.SessionID, l.info.Title = l.doc.get("id").str(), l.doc.get("title").str()
	l.info.Version = env.get("platform", "clientVersion").str()
	if u, err := url.Parse(env.get("trees").at(0).get("uri").str()); err == nil && u.Scheme == "file" {
		l.info.Dir = u.Path
	}
	return l.each(l.doc.get("messages"), func(e value, num int) error {
		m := e.keep()
		rec := Record{Line: num, Time: m.get("meta", "sentAt").time()}
		switch m.get("role").str() {
		case "assistant":
			u := m.get("usage")
			rec.Time, rec.Model = u.get("timestamp").time(), u.get("model").str()
			rec.Usage = u.usage("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens")
			return s.answer(rec, plainBlocks(m.get("content")))
		case "user":
			return ampUser(s, rec, m.get("content"))
		case "info": // what Amp says to the person, or a summary in place of what was before
			if summary := m.get("content").at(0).get("summary", "summary").str(); summary != "" {
				return s.compacted(rec, Compaction{Summary: summary})
			}
			return nil
		}
		return errShape
	})
}

func ampUser(s *sink, rec Record, content value) error {
	var said []transcript.Block
	for b := range content.list() {
		if !b.get("type").is("tool_result") {
			said = append(said, plainBlocks(b)...)
			continue
		}
		run := b.get("run")
		res := transcript.Result(b.get("toolUseID").str(), ampText(run.get("result"), run.get("error"), run.get("status")))
		res.Error = !run.get("status").is("done")
		if err := s.result(rec, res); err != nil {
			return err
		}
	}
	return s.user(rec, blocksOrigin(said), said...)
}

// ampText is the first of some values that is there, as text: tools put theirs into members of
// different names.
func ampText(values ...value) string {
	for _, v := range values {
		for _, name := range []string{"output", "content", "message"} {
			if text := v.get(name); text.isString() {
				v = text
			}
		}
		if v.isString() {
			return v.str()
		}
		if v.exists() {
			return v.raw()
		}
	}
	return ""
}
