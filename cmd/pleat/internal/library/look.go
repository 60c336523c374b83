package library

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/userwords"
)

// look is what a look into a session saw, and what the session was then.
type look struct {
	size     int64
	modified time.Time
	Info
}

// headSize is how much of a large file is read for its title.
const headSize = 512 << 10

// look completes what is known of the sessions in the list. With count it reads all of each.
func (l *Library) look(ctx context.Context, list []Info, count bool) error {
	var ids []string
	for _, s := range list {
		if s.File != "" {
			ids = append(ids, s.ID)
		}
	}
	marks, err := l.marks(ctx, l.o.Tenant, ids...)
	if err != nil {
		return err
	}
	for i := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s := &list[i]; s.File == "" {
			l.lookStored(ctx, s)
		} else {
			l.lookFile(s, marks[s.ID], count)
		}
	}
	return ctx.Err()
}

// looked returns what the last look into a session saw, if the session is as it was then.
func (l *Library) looked(s *Info) (Info, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, ok := l.looks[s.ID]
	return last.Info, ok && last.size == s.Bytes && last.modified.Equal(s.Modified)
}

// keep remembers what a look saw of a session that was as it is in before.
func (l *Library) keep(before, s Info) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looks[s.ID] = look{before.Bytes, before.Modified, s}
}

func (l *Library) lookFile(s *Info, m mark, count bool) {
	l.mu.Lock()
	f := l.files[s.ID]
	l.mu.Unlock()
	if m.Session != "" {
		s.Key = store.SessionKey{Tenant: l.o.Tenant, Session: m.Session}
	}
	if last, ok := l.looked(s); ok && (last.Counted || !count) {
		last.Key = s.Key
		if *s = last; m.is(f) {
			m.tell(s)
		}
		return
	}
	before := *s
	if m.is(f) && (m.Counted || !count) {
		m.tell(s)
	} else if err := s.read(f, count); err != nil {
		s.Problem = err.Error() // not remembered: it may be gone next time
		return
	}
	l.keep(before, *s)
}

// read takes the title from the log, or else from the first words that a person typed.
// It reads on only to count.
func (s *Info) read(f file, count bool) error {
	in, err := f.open(!count)
	if err != nil {
		return err
	}
	defer in.Close()
	s.Bytes, s.Modified, s.Tokens = f.size, f.modified, f.tokens()
	if !count && in.Size() > headSize {
		in.SectionReader = io.NewSectionReader(in.SectionReader, 0, headSize)
	}
	log, err := in.log()
	if err != nil {
		return err
	}
	t := tally{}
	for rec, err := range log.Records() {
		if err != nil {
			return err
		}
		if t.add(rec); !count && (t.first != "" || t.messages > 50) {
			break
		}
	}
	info := log.Info()
	s.Title, s.Project, s.Model = t.title(info), info.Dir, info.Model
	if count {
		m, _ := model.DefaultModels().Lookup(info.Model)
		counter := tokens.NewTokenizer(m, nil)
		s.Tokens, s.Counted, s.Messages, s.USD = 0, true, t.messages, t.cost(info)
		for rec, err := range log.Records() {
			if err != nil {
				return err
			}
			s.Tokens += counter.CountMessage(rec.Message)
		}
	}
	return nil
}

// tally adds up what records say.
type tally struct {
	first    string // what a person typed first
	messages int
	usd      float64
	last     time.Time // when something was said
}

func (t *tally) add(rec sessionlog.Record) {
	if t.messages++; t.first == "" {
		if typed, ok := userwords.TypedText(rec.Message); ok {
			t.first = text.OneLine(typed, titleBytes)
		}
	}
	if rec.Time.After(t.last) {
		t.last = rec.Time.UTC()
	}
	if rec.Usage == nil || rec.Model == "" {
		return
	}
	usd, _ := Request{Model: rec.Model, Usage: *rec.Usage}.Cost()
	t.usd += usd
}

// cost is what the requests came to, or what the log says of all of them.
func (t *tally) cost(info sessionlog.Info) float64 {
	if t.usd == 0 && (info.Used != nil || info.USD > 0) {
		t.usd, _ = Request{Model: info.Model, Usage: *cmp.Or(info.Used, &model.Usage{}), Said: info.USD}.Cost()
	}
	return t.usd
}

const titleBytes = 200

func (t *tally) title(info sessionlog.Info) string {
	return cmp.Or(text.OneLine(info.Title, titleBytes), t.first)
}

// Described is what is known of a stored session without opening it.
func Described(ctx context.Context, st Store, s store.SessionInfo) Info {
	l := New(Options{Store: st})
	info := storedInfo(l.storedID(s.Key), s)
	l.lookStored(ctx, &info)
	return info
}

// lookStored finds out what a session is that no agent left a file of.
func (l *Library) lookStored(ctx context.Context, s *Info) {
	if last, ok := l.looked(s); ok {
		*s = last
		return
	}
	before := *s
	var failed error // not remembered: it may be gone next time
	s.Title, failed = Begins(ctx, l.o.Store, s.Key)
	kinds := []store.EntryKind{store.EntrySession, store.EntryMessage, store.EntryUsage, store.EntryPrefix}
	for e, err := range l.o.Store.Scan(ctx, s.Key, 1, kinds...) {
		if err != nil {
			s.Problem, failed = err.Error(), err
			break
		}
		var data struct {
			Model, Project string
			USD            float64
			Budget         fold.Budget
			Head           fold.Parts
		}
		switch e.Kind {
		case store.EntryMessage:
			s.Messages++
		case store.EntryPrefix:
			if m, ok := readMark(e); ok { // its file is gone
				m.tell(s)
			}
			s.counted(e)
		default:
			_ = json.Unmarshal(e.Data, &data) // what cannot be read says nothing
			s.Model = cmp.Or(data.Model, s.Model)
			s.USD += data.USD
			if e.Kind == store.EntrySession {
				s.Project, s.Budget, s.Head = data.Project, data.Budget, data.Head
				if s.Budget.Check() != nil { // one token is written as all of them are
					s.Budget = fold.Budget{Window: s.Budget.Window}
				}
			}
		}
	}
	if !s.Counted { // as its page counts it
		s.Tokens += s.Head.System + s.Head.Tools
	}
	if failed == nil {
		l.keep(before, *s)
	}
}
