package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/transcript"
)

// Session is a conversation to be compacted: complete, without the summaries that its
// own agent put in its place, and without the system prompt, which is in every view and
// no part of a budget here.
type Session struct {
	Name     string
	Messages []transcript.Message
	Times    []time.Time // when each message was said, zero where nobody knows; nil: nobody knows

	// Compactions are the places where the session's own agent compacted, with the
	// summary that it went on from.
	Compactions []Compaction

	rules []constraint // of a made-up session, in the order of the messages
}

// Compaction is a place where an agent replaced its history by a summary.
type Compaction struct {
	At      int    // index of the message that follows
	Summary string // empty: one that only its provider can read
}

// readSession reads the first session of a file, in any format that package sessionlog
// knows.
func readSession(ctx context.Context, path string) (Session, error) {
	f, err := os.Open(path)
	if err != nil {
		return Session{}, fmt.Errorf("read session: %w", err)
	}
	defer f.Close()
	var s Session
	log, err := sessionlog.Open(f, nil)
	if err != nil {
		return Session{}, fmt.Errorf("read session %s: %w", path, err)
	}
	var place []int // of the log's records among our messages
	for rec, err := range log.Records() {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return Session{}, fmt.Errorf("read session %s: %w", path, err)
		}
		place = append(place, len(s.Messages))
		s.add(rec.Message, rec.Time)
	}
	place = append(place, len(s.Messages))
	for _, c := range log.Info().Compactions {
		if !c.Partial && c.At < len(place) {
			s.Compactions = append(s.Compactions, Compaction{At: place[c.At], Summary: c.Summary})
		}
	}
	return s, nil
}

// add adds a message, unless it is a summary or the system prompt.
func (s *Session) add(m transcript.Message, at time.Time) {
	system := m.Role() == transcript.RoleSystem || m.Role() == transcript.RoleDeveloper
	if m.Origin() == transcript.OriginSummary || len(s.Messages) == 0 && system {
		return
	}
	s.Messages, s.Times = append(s.Messages, m), append(s.Times, at)
}

// notSessions are folders of the public data that hold other things.
var notSessions = []string{"eval", "trail", "model", "LICENSES", "asked"}

// ReadCorpus reads every session below a folder, in order of name, and says which before it does. Files that hold no
// session are left out. The names are the paths below the folder.
func ReadCorpus(ctx context.Context, dir string, tell func(name string)) (list []Session, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch ext := filepath.Ext(path); {
		case err != nil:
			return err
		case d.IsDir() && path != dir && slices.Contains(notSessions, d.Name()):
			return fs.SkipDir
		case d.IsDir() || ext != ".json" && ext != ".jsonl":
			return nil
		}
		rel, _ := filepath.Rel(dir, path) // it is below
		name := filepath.ToSlash(rel)
		tell(name)
		s, err := readSession(ctx, path)
		if errors.Is(err, sessionlog.ErrFormat) {
			return nil
		}
		s.Name = name
		if len(s.Messages) > 0 {
			list = append(list, s)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read sessions of %s: %w", dir, err)
	}
	return list, nil
}

// span is a part of a session with a cut: an arm compacts the messages before the cut,
// and what the agent did from there to the end tells what it needed.
type span struct {
	cut, end int
	own      string // the summary that the session's own agent made at this cut, if it did
}

// stretches are the parts of a session between the compactions of its own agent, each with the summary that it
// begins with.
func (s *Session) stretches() []span {
	out := []span{{end: len(s.Messages)}}
	for _, c := range s.Compactions {
		out[len(out)-1].end = c.At
		out = append(out, span{cut: c.At, end: len(s.Messages), own: c.Summary})
	}
	return out
}

// futureSpan cuts a session at 70 % of its longest stretch without a compaction, because
// after a compaction an agent can only use what its own summary kept. The cut is before
// an answer of the model.
func (s *Session) futureSpan() span {
	var longest span
	most := -1
	for _, sp := range s.stretches() {
		if n := s.chars(sp.cut, sp.end); n > most {
			most, longest = n, sp
		}
	}
	cut, end := longest.cut, longest.end
	for part := 0; cut < end && part < most*7/10; cut++ {
		part += s.chars(cut, cut+1)
	}
	return span{cut: s.request(cut, end), end: end}
}

// request is the first message from i on, before end, that is the beginning of an answer:
// what is before it was sent as a request. Without one it is end.
func (s *Session) request(i, end int) int {
	for i < end && !answers(s.Messages, i) {
		i++
	}
	return i
}

// answers reports whether an answer begins with message i.
func answers(msgs []transcript.Message, i int) bool {
	said := func(i int) bool { return msgs[i].Role() == transcript.RoleAssistant }
	return said(i) && (i == 0 || !said(i-1))
}

// ownSpans are the cuts that the session's own agent made and whose summaries can be read.
func (s *Session) ownSpans() []span {
	return slices.DeleteFunc(s.stretches(), func(sp span) bool { return sp.own == "" || sp.cut == 0 })
}

func (s *Session) chars(from, to int) int {
	n := 0
	for _, m := range s.Messages[from:to] {
		for _, b := range m.Blocks().All() {
			n += len(transcript.BlockText(b))
		}
	}
	return n
}
