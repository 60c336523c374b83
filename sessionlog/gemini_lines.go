package sessionlog

import (
	"bytes"
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

// geminiKnown is the newest version of a message.
type geminiKnown struct {
	id   string
	m    value
	num  int  // line
	sent bool // it is from a list of all, as they are sent
	left bool // the user went back before it
}

type geminiReader struct {
	*sink
	known []geminiKnown
	at    map[string]int // by id
}

func readGeminiLines(s *sink) error {
	r := geminiReader{sink: s, at: make(map[string]int)}
	if err := s.lines(r.line); err != nil {
		return err
	}
	for _, k := range r.known {
		if k.left {
			s.info.Abandoned++
		}
		if k.left && !s.opts.Abandoned {
			continue
		}
		rec := Record{Line: k.num, Abandoned: k.left}
		if words := k.m.get("content").texts(); k.sent && strings.HasPrefix(words, "<state_snapshot>") {
			rec.Time = k.m.get("timestamp").time()
			_ = s.compacted(rec, Compaction{Summary: words})
		} else if err := s.skip(geminiMessage(s, k.m, rec), k.num); err != nil {
			return err
		}
	}
	return s.err
}

func (r *geminiReader) line(ln line, v value) error {
	set := v.get("$set")
	switch {
	case v.get("id").isString():
		r.put(v, ln.num, false)
	case v.get("$rewindTo").isString():
		r.rewind(v.get("$rewindTo").str())
	case set.isObject():
		r.info.Title = cmp.Or(set.get("summary").str(), r.info.Title)
		for m := range set.get("messages").elems() { // of those that are known there are whole versions already
			if _, known := r.at[m.get("id").str()]; !known {
				r.put(m, ln.num, true)
			}
		}
	case v.get("sessionId").isString():
		r.info.SessionID, r.info.Title = v.get("sessionId").str(), v.get("summary").str()
	default:
		return errShape
	}
	return nil
}

// put adds a message, or a newer version of it.
func (r *geminiReader) put(m value, num int, sent bool) {
	k := geminiKnown{id: m.get("id").str(), m: value{b: bytes.Clone(m.b)}, num: num, sent: sent}
	if i, ok := r.at[k.id]; ok {
		r.known[i] = k
		return
	}
	r.at[k.id] = len(r.known)
	r.known = append(r.known, k)
}

// rewind leaves a message and what came after it. Without the message all are left, as the agent does.
func (r *geminiReader) rewind(id string) {
	for i := r.at[id]; i < len(r.known); i++ {
		r.known[i].left = true
		delete(r.at, r.known[i].id)
	}
}
