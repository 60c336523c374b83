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

// depth is how much of a session is read: until it has a title, all of it for its requests, or its
// tokens are counted, too.
type depth int

const (
	glance depth = iota
	requests
	tokensToo
)

// look is what a look into a session saw, and what the session was then.
type look struct {
	stamp string // see [Info.stamp]
	depth depth
	Info
	spent []Spent
}

// headSize is how much of a large file is read for its title.
const headSize = 512 << 10

// look completes what is known of the sessions in the list.
func (l *Library) look(ctx context.Context, list []Info, d depth) error {
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
			l.lookFile(s, marks[s.ID], d)
		}
	}
	return ctx.Err()
}

// looked returns what the last look into a session saw, if it was as deep and the session is as it was then.
func (l *Library) looked(s *Info, d depth) (look, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, ok := l.looks[s.ID]
	return last, ok && last.depth >= d && last.stamp == s.stamp()
}

// keep remembers what a look saw of a session that had this stamp.
func (l *Library) keep(stamp string, s Info, d depth, spent []Spent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looks[s.ID] = look{stamp, d, s, spent}
}

// Counted tells how many tokens a session was found to have, for lists.
func (l *Library) Counted(s Info, tokens int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.looks[s.ID]; ok && last.Info.Modified.Equal(s.Modified) {
		last.Tokens, last.Counted = tokens, true
		l.looks[s.ID] = last
	}
}

func (l *Library) lookFile(s *Info, m mark, d depth) []Spent {
	l.mu.Lock()
	f := l.files[s.ID]
	l.mu.Unlock()
	if m.Session != "" {
		s.Key = store.SessionKey{Tenant: l.o.Tenant, Session: m.Session}
	}
	last, ok := l.looked(s, d)
	if ok {
		last.Key = s.Key
		if *s = last.Info; m.is(f) {
			m.tell(s)
		}
		return last.spent
	}
	if m.is(f) && (d == glance || m.Counted && d == tokensToo) {
		m.tell(s)
		return nil // not remembered: a mark does not have the requests
	}
	stamp := s.stamp()
	spent, err := s.read(f, d)
	if err != nil {
		s.Problem = err.Error() // not remembered: it may be gone next time
		return nil
	}
	l.keep(stamp, *s, d, spent)
	return spent
}

// read takes the title from the log, or else from the first words that a person typed.
func (s *Info) read(f file, d depth) ([]Spent, error) {
	in, err := f.open(d == glance)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	s.Bytes, s.Modified, s.Tokens = f.size, f.modified, f.tokens()
	if d == glance && in.Size() > headSize {
		in.SectionReader = io.NewSectionReader(in.SectionReader, 0, headSize)
	}
	log, err := in.all()
	if err != nil {
		return nil, err
	}
	t := Tally{ID: s.ID}
	for rec, err := range log.Records() {
		if err != nil {
			return nil, err
		}
		if t.Add(log, rec); d == glance && (t.First != "" || t.Messages > 50) {
			break
		}
	}
	info := log.Info()
	s.Title, s.Project, s.Model, s.Parent = t.Title(info), info.Dir, info.Model, f.beside(info.Parent)
	if d == glance {
		return nil, nil
	}
	s.Messages, s.USD, s.Compacts = t.Messages, t.End(info), len(info.Compactions)
	s.Requests = len(t.Spent)
	if d < tokensToo {
		return t.Spent, nil
	}
	m, _ := model.DefaultModels().Lookup(info.Model)
	counter := tokens.NewTokenizer(m, nil)
	s.Tokens, s.Counted = 0, true
	for rec, err := range log.Records() {
		if err != nil {
			return nil, err
		}
		if !aside(rec) {
			s.Tokens += counter.CountMessage(rec.Message)
		}
	}
	return t.Spent, nil
}

// Tally adds up what records say.
type Tally struct {
	ID       string // of the session
	First    string // what a person typed first
	Messages int
	Last     time.Time // when something was said
	Spent    []Spent
}

// aside reports whether a record is of a sub-agent or an abandoned branch: only what it cost counts.
func aside(rec sessionlog.Record) bool { return rec.Sidechain || rec.Abandoned }

// Add adds a record of a log.
func (t *Tally) Add(log *sessionlog.Log, rec sessionlog.Record) {
	if rec.Time.After(t.Last) {
		t.Last = rec.Time.UTC()
	}
	if rec.Usage != nil && rec.Usage.Prompt()+rec.Usage.Output > 0 {
		info := log.Info()
		t.spend(Request{rec.Time, cmp.Or(rec.Model, info.Model), *rec.Usage, 0}, info.Dir)
	}
	if aside(rec) {
		return
	}
	if t.Messages++; t.First == "" {
		if typed, ok := userwords.TypedText(rec.Message); ok {
			t.First = text.OneLine(typed, titleBytes)
		}
	}
}

func (t *Tally) spend(r Request, dir string) {
	usd, known := r.Cost()
	t.Spent = append(t.Spent, Spent{Request: r, USD: usd, Unpriced: !known, ID: t.ID, Dir: dir})
}

// End takes what the log has only of all requests: it counts as one, the newest. It returns what all of them came to.
func (t *Tally) End(info sessionlog.Info) (usd float64) {
	if info.Used != nil || info.USD > 0 {
		t.spend(Request{t.Last, info.Model, *cmp.Or(info.Used, &model.Usage{}), info.USD}, info.Dir)
	}
	for _, s := range t.Spent {
		usd += s.USD
	}
	return usd
}

const titleBytes = 200

// Title is the session's own, or what a person typed first.
func (t *Tally) Title(info sessionlog.Info) string {
	return cmp.Or(text.OneLine(info.Title, titleBytes), t.First)
}

// Described is what is known of a stored session without opening it, and of its requests.
func Described(ctx context.Context, st Store, info Info) (Info, []Spent) {
	spent := New(Options{Store: st}).lookStored(ctx, &info)
	return info, spent
}

// lookStored finds out what a session is that no agent left a file of.
func (l *Library) lookStored(ctx context.Context, s *Info) []Spent {
	if last, ok := l.looked(s, glance); ok {
		*s = last.Info
		return last.spent
	}
	stamp, spent := s.stamp(), []Spent(nil)
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
		case store.EntryUsage:
			r := Spent{Request: Request{Time: e.Time}, ID: s.ID, Stored: true}
			_ = json.Unmarshal(e.Data, &r) // what cannot be read says nothing
			if s.Model, s.USD = cmp.Or(r.Model, s.Model), s.USD+r.USD; r.Usage.Prompt()+r.Usage.Output > 0 {
				_, known := r.Cost()
				r.Unpriced = r.USD == 0 && !known && !IsRehearsal(s.Key.Session)
				spent = append(spent, r)
			}
		default:
			_ = json.Unmarshal(e.Data, &data)
			s.Model = cmp.Or(data.Model, s.Model)
			s.Project, s.Budget, s.Head = data.Project, data.Budget, data.Head
			if s.Budget.Check() != nil { // one token is written as all of them are
				s.Budget = fold.Budget{Window: s.Budget.Window}
			}
		}
	}
	if !s.Counted { // as its page counts it
		s.Tokens += s.Head.System + s.Head.Tools
	}
	if failed == nil {
		l.keep(stamp, *s, tokensToo, spent)
	}
	return spent
}
