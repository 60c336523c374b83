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
	Changes  []Change    // of files, in order, as far as the log itself vouches for them

	// Compactions are the places where the session's own agent compacted, with the
	// summary that it went on from.
	Compactions []Compaction

	truth *truth // of a made-up session
}

// Change is a change of a file that the log vouches for: not what a call asked for but
// what was done.
type Change struct {
	Message int // index of the message that tells of it
	Path    string
	Op      ChangeOp
}

// Compaction is a place where an agent replaced its history by a summary.
type Compaction struct {
	At      int    // index of the message that follows
	Summary string // empty: one that only its provider can read
}

// ReadSession reads the first session of a file, in any format that package sessionlog
// knows, or of a benchmark's trajectory.
func ReadSession(ctx context.Context, path string) (Session, error) {
	f, err := os.Open(path)
	if err != nil {
		return Session{}, fmt.Errorf("read session: %w", err)
	}
	defer f.Close()
	s := Session{Name: filepath.Base(path)}
	log, err := sessionlog.Open(f, nil)
	if errors.Is(err, sessionlog.ErrFormat) {
		if ok, failed := s.readTrajectory(path); ok || failed != nil {
			return s, failed
		}
	}
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
	data, err := os.ReadFile(path)
	if err != nil {
		return Session{}, fmt.Errorf("read session: %w", err)
	}
	answered := s.answered()
	for _, c := range changesOf(data) {
		if at, ok := answered[c.call]; ok && c.path != "" {
			s.Changes = append(s.Changes, Change{Message: at, Path: c.path, Op: c.op})
		}
	}
	for _, c := range log.Info().Compactions {
		if c.Partial || c.At > len(place) {
			continue
		}
		at := len(s.Messages)
		if c.At < len(place) {
			at = place[c.At]
		}
		s.Compactions = append(s.Compactions, Compaction{At: at, Summary: c.Summary})
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

// readTrajectory reads the first session of a benchmark's trajectory. It reports false if the
// file is none.
func (s *Session) readTrajectory(path string) (bool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return false, fmt.Errorf("read session: %w", err)
	}
	sessions, err := readTrajectories(data)
	if err != nil || len(sessions) == 0 {
		return false, err
	}
	for _, m := range sessions[0] {
		s.add(m, time.Time{})
	}
	return true, nil
}

// answered are the messages that hold the results of calls: some logs have all of a session
// on one line.
func (s *Session) answered() map[string]int {
	at := make(map[string]int)
	for i, m := range s.Messages {
		for _, b := range m.Blocks().All() {
			if r, ok := b.(transcript.ToolResult); ok {
				at[r.CallID] = i
			}
		}
	}
	return at
}

// notSessions are folders of the public data that hold other things.
var notSessions = []string{"eval", "trail", "model", "LICENSES"}

// SessionFiles lists the files below a folder that may hold sessions, in order of name.
func SessionFiles(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != dir && slices.Contains(notSessions, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if ext := filepath.Ext(path); ext == ".json" || ext == ".jsonl" || ext == ".traj" {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return files, nil
}

// ReadCorpus reads every session below a folder. Files that hold no session are left out.
// The names are the paths below the folder.
func ReadCorpus(ctx context.Context, dir string) ([]Session, error) {
	files, err := SessionFiles(dir)
	if err != nil {
		return nil, err
	}
	var list []Session
	for _, file := range files {
		s, err := ReadSession(ctx, file)
		if errors.Is(err, sessionlog.ErrFormat) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(s.Messages) == 0 {
			continue
		}
		if rel, err := filepath.Rel(dir, file); err == nil {
			s.Name = filepath.ToSlash(rel)
		}
		list = append(list, s)
	}
	return list, nil
}

// span is a part of a session with a cut: an arm compacts the messages before the cut,
// and what the agent did from there to the end tells what it needed.
type span struct {
	cut, end int
	own      string // the summary that the session's own agent made at this cut, if it did
}

// futureSpan cuts a session at 70 % of its longest stretch without a compaction, because
// after a compaction an agent can only use what its own summary kept. The cut is before
// an answer of the model.
func (s *Session) futureSpan() span {
	from, to, best, at := 0, len(s.Messages), -1, 0
	for i := range len(s.Compactions) + 1 {
		end := len(s.Messages)
		if i < len(s.Compactions) {
			end = s.Compactions[i].At
		}
		if n := s.chars(at, end); n > best {
			best, from, to = n, at, end
		}
		at = max(at, end)
	}
	cut := from
	for part := 0; cut < to && part < best*7/10; cut++ {
		part += s.chars(cut, cut+1)
	}
	return span{cut: s.request(cut, to), end: to}
}

// request is the first message from i on, before end, that is the beginning of an answer:
// what is before it was sent as a request. Without one it is end.
func (s *Session) request(i, end int) int {
	answers := func(i int) bool { return i >= 0 && s.Messages[i].Role() == transcript.RoleAssistant }
	for i < end && (!answers(i) || answers(i-1)) {
		i++
	}
	return i
}

// ownSpans are the cuts that the session's own agent made and whose summaries can be read.
func (s *Session) ownSpans() []span {
	var out []span
	for i, c := range s.Compactions {
		if c.Summary == "" || c.At == 0 {
			continue
		}
		end := len(s.Messages)
		if i+1 < len(s.Compactions) {
			end = s.Compactions[i+1].At
		}
		out = append(out, span{cut: c.At, end: end, own: c.Summary})
	}
	return out
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

// messageText is all that the blocks of a message say.
func messageText(m transcript.Message) string {
	var all []byte
	for _, b := range m.Blocks().All() {
		if t := transcript.BlockText(b); t != "" {
			all = append(append(all, t...), '\n')
		}
	}
	return string(all)
}
