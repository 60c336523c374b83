package sessionlog

import (
	"cmp"
	"strings"
)

// geminiLines are sessions as Gemini CLI 0.61 writes them. A line is what is known of the session, a message, a newer
// version of a message of the same id, {"$rewindTo":ID} before which the user went back, or {"$set":{…}} with what
// has changed. That may be all messages as they are sent from now on: results are shortened in them, or most are
// replaced by a summary.
var geminiLines = format{
	name: geminiFormat.name, agent: geminiFormat.agent,
	line: func(e value) bool {
		return e.get("sessionId").isString() && e.get("projectHash").isString() && !e.get("messages").exists() ||
			e.get("$set").isObject() || e.get("$rewindTo").isString()
	},
	read: readGeminiLines,
}

// geminiPlace is where a message is: in a line of its own, or at a place in a list of them.
type geminiPlace struct {
	id   string
	line line // without its text
	at   int  // -1: in a line of its own
	left bool // the user went back before it
}

type geminiReader struct {
	*sink
	known []geminiPlace
	at    map[string]int // by id
}

func readGeminiLines(s *sink) error {
	r := geminiReader{sink: s, at: make(map[string]int)}
	if err := s.lines(r.line); err != nil {
		return err
	}
	var text []byte
	var whole value
	read := int64(-1)
	for _, p := range r.known {
		if p.left {
			s.info.Abandoned++
		}
		if p.left && !s.opts.Abandoned {
			continue
		}
		if p.line.off != read {
			var err error
			if text, err = s.src.again(&text, p.line.off, p.line.size); err != nil {
				return err
			}
			whole, _ = parse(text) // which it was before
			read = p.line.off
		}
		m, rec := whole, Record{Line: p.line.num, Abandoned: p.left}
		if p.at >= 0 {
			m = whole.get("$set", "messages").at(p.at)
			if words := m.get("content").texts(); strings.HasPrefix(words, "<state_snapshot>") {
				rec.Time = m.get("timestamp").time()
				_ = s.compacted(rec, Compaction{Summary: words})
				continue
			}
		}
		if err := s.skip(geminiMessage(s, m, rec), rec.Line); err != nil {
			return err
		}
	}
	return s.err
}

func (r *geminiReader) line(ln line, v value) error {
	ln.text = nil
	set := v.get("$set")
	switch {
	case v.get("id").isString():
		r.put(geminiPlace{id: v.get("id").str(), line: ln, at: -1})
	case v.get("$rewindTo").isString():
		r.rewind(v.get("$rewindTo").str())
	case set.isObject():
		r.info.Title = cmp.Or(set.get("summary").str(), r.info.Title)
		r.replace(ln, set.get("messages"))
	case v.get("sessionId").isString():
		r.info.SessionID, r.info.Title = v.get("sessionId").str(), v.get("summary").str()
	default:
		return errShape
	}
	return nil
}

// put adds a message, or a newer version of it.
func (r *geminiReader) put(p geminiPlace) {
	if i, ok := r.at[p.id]; ok {
		r.known[i] = p
		return
	}
	r.at[p.id] = len(r.known)
	r.known = append(r.known, p)
}

// rewind leaves a message and what came after it. Without the message all are left, as the agent does.
func (r *geminiReader) rewind(id string) {
	for i := r.at[id]; i < len(r.known); i++ {
		r.known[i].left = true
		delete(r.at, r.known[i].id)
	}
}

// replace takes the messages that are new in a list of all. Of the others there are whole versions already.
func (r *geminiReader) replace(ln line, list value) {
	i := 0
	for m := range list.elems() {
		id := m.get("id").str()
		if _, known := r.at[id]; !known {
			r.put(geminiPlace{id: id, line: ln, at: i})
		}
		i++
	}
}
