package library

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Open opens a session that [Library.Find] finds, after the store has got what is new in its
// file. Its tokens are estimated. Callers share it: it is for looking things up, and for
// notes and pins. To fold it, fork it.
func (l *Library) Open(ctx context.Context, id string) (*pleat.Session, error) {
	info, err := l.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.open(ctx, info)
}

func (l *Library) open(ctx context.Context, info Info) (*pleat.Session, error) {
	key, err := l.Bring(ctx, info)
	if err != nil {
		return nil, err
	}
	return l.session(ctx, key)
}

// mostOpen is how many sessions stay open, openMemory the bytes of messages that each keeps.
const mostOpen, openMemory = 16, 4 << 20

// opened is a session that stays open.
type opened struct {
	*pleat.Session
	as counting
}

// counting is how tokens are counted: as a model does, by a rule that may be a session's own. The zero value
// estimates them.
type counting struct {
	model string
	rule  model.TokenRule
}

// Reader opens a session to look at it: its tokens are counted as o.Model does.
func (l *Library) Reader(ctx context.Context, key store.SessionKey, o pleat.Options) (*pleat.Session, error) {
	o.Tokens = l.Counter(o.Model)
	return l.openAs(ctx, key, counting{o.Model.ID, o.Model.Tokenizer}, &o)
}

// session is a session whose tokens are estimated.
func (l *Library) session(ctx context.Context, key store.SessionKey) (*pleat.Session, error) {
	o := Roughly()
	o.Policy, o.Recall = policy.None(), pleat.UnfoldCall // nothing is spilled
	return l.openAs(ctx, key, counting{}, o)
}

// openAs is a session that is open, as it is now in the store, or else it is opened. It is then the newest of those
// that stay open.
func (l *Library) openAs(
	ctx context.Context, key store.SessionKey, as counting, o *pleat.Options,
) (*pleat.Session, error) {
	is := func(o opened) bool { return o.Key() == key && o.as == as }
	l.mu.Lock()
	i := slices.IndexFunc(l.opened, is)
	var s opened
	if i >= 0 {
		s = l.opened[i]
	}
	l.mu.Unlock()
	var err error
	if s.Session != nil {
		err = s.Refresh(ctx)
	} else {
		o.Memory, s.as = openMemory, as
		s.Session, err = pleat.OpenSession(ctx, l.o.Store, key, o)
	}
	if err != nil {
		return s.Session, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opened = slices.Insert(slices.DeleteFunc(l.opened, is), 0, s)
	l.opened = l.opened[:min(len(l.opened), mostOpen)]
	return s.Session, nil
}

// Counter returns the counter of a model. Sessions share it, which copies of one gain by.
func (l *Library) Counter(m model.Model) *tokens.Tokenizer {
	l.mu.Lock()
	defer l.mu.Unlock()
	as := counting{m.ID, m.Tokenizer}
	t := l.counters[as]
	if t == nil {
		if t = tokens.NewTokenizer(m, nil); len(l.counters) >= mostOpen || l.counters == nil {
			l.counters = make(map[counting]*tokens.Tokenizer)
		}
		l.counters[as] = t
	}
	return t
}

// Bring gives the store what is new in the file of a session that was listed or found, if it
// has one, and returns the session's key there.
func (l *Library) Bring(ctx context.Context, info Info) (store.SessionKey, error) {
	if l.o.Store == nil {
		return store.SessionKey{}, errors.New("there is no store to open sessions in")
	}
	if info.File == "" {
		return info.Key, nil
	}
	m, err := l.bring(ctx, info)
	if err != nil {
		return store.SessionKey{}, fmt.Errorf("session %s: %w", info.ID, err)
	}
	return store.SessionKey{Tenant: l.o.Tenant, Session: m.Session}, nil
}

// Quiet is how long a file must not have changed until its last message counts as complete.
// Agents write an answer and the results of its calls in several lines.
const Quiet = 30 * time.Second

// bring brings the session of a file up to date in the store. What cannot be read leaves
// the session as it was.
func (l *Library) bring(ctx context.Context, info Info) (mark, error) {
	l.mu.Lock()
	lock := l.busy[info.ID]
	if lock == nil {
		lock = new(sync.Mutex)
		l.busy[info.ID] = lock
	}
	seen := l.files[info.ID]
	l.mu.Unlock()
	lock.Lock()
	defer lock.Unlock()
	f, err := seen.root.file(seen.name)
	if err != nil {
		f = seen
	}
	f.whole = seen.whole
	for try := 0; ; try++ {
		marks, err := l.marks(ctx, l.o.Tenant, info.ID)
		if err != nil {
			return mark{}, err
		}
		old := marks[info.ID]
		still := f.whole || time.Since(f.modified) > Quiet
		if old.is(f) && (!old.Held || !still) && (old.Counted || f.whole) {
			return old, nil
		}
		b := bringing{l: l, id: info.ID, file: f, old: old, still: still}
		m, err := b.run(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			return m, err
		case errors.Is(err, store.ErrConflict) && try < 3: // another process did the same
		case old.Session != "" && b.unread:
			l.o.Logger.Warn("the file cannot be read; its session is as it was", "file", f.path(), "error", err)
			return old, nil
		default:
			return m, err
		}
	}
}

// bringing is one reading of a file.
type bringing struct {
	l     *Library
	id    string
	file  file
	old   mark
	still bool // nobody has written to the file lately

	unread bool // the file cannot be read

	messages []transcript.Message
	tally    Tally
	info     sessionlog.Info
}

func (b *bringing) run(ctx context.Context) (mark, error) {
	m := mark{Session: cmp.Or(b.old.Session, b.id), Size: b.file.size, Modified: b.file.modified}
	held, err := b.read(ctx)
	if b.unread = err != nil || len(b.messages) == 0; err != nil {
		return mark{}, fmt.Errorf("read %s: %w", b.file.path(), err)
	}
	if b.unread {
		return mark{}, fmt.Errorf("read %s: a %s file without messages", b.file.path(), b.info.Format)
	}
	key := store.SessionKey{Tenant: b.l.o.Tenant, Session: m.Session}
	if b.old.Session == "" { // one that is open may have been deleted from the store
		b.l.mu.Lock()
		b.l.opened = slices.DeleteFunc(b.l.opened, func(o opened) bool { return o.Key() == key })
		b.l.mu.Unlock()
	}
	s, err := b.l.session(ctx, key)
	if err != nil {
		return mark{}, err
	}
	if s.Len() == 0 {
		err = s.Append(ctx, b.messages...)
	} else { // one that was rewound, or read while an answer was written, goes on in a fork
		_, err = s.Sync(ctx, b.messages)
	}
	if err != nil {
		return mark{}, err
	}
	m.Session, m.Held, m.Count = s.Key().Session, held, len(b.messages)
	m.Title, m.Project, m.Model, m.Bytes = b.tally.Title(b.info), b.info.Dir, b.info.Model, b.file.size
	m.Parent = b.file.beside(b.info.Parent)
	m.Tokens, m.Counted, m.USD, m.Last = s.Tokens(0, s.Len()), false, b.tally.End(b.info), b.tally.Last
	if !b.file.whole { // else whoever named the file waits, and an estimate does
		m.Tokens, m.Counted = b.count(m), true
	}
	data, err := json.Marshal(m)
	if err != nil {
		return mark{}, fmt.Errorf("encode mark: %w", err)
	}
	_, err = inside.Of(s).Mark(ctx, []string{markLabel + b.id}, data)
	return m, err
}

// count counts the tokens of the messages, of those that are new if the others were counted.
func (b *bringing) count(m mark) (n int) {
	model, _ := model.DefaultModels().Lookup(b.info.Model)
	counter, fresh := tokens.NewTokenizer(model, nil), b.messages
	if old := b.old; old.Counted && old.Session == m.Session && old.Model == m.Model && old.Count <= len(fresh) {
		n, fresh = old.Tokens, fresh[old.Count:]
	}
	for _, msg := range fresh {
		n += counter.CountMessage(msg)
	}
	return n
}

// read reads the messages of the file. The last one is left out, and held is true, if it may
// still be written and the session does not have it yet.
func (b *bringing) read(ctx context.Context) (held bool, err error) {
	in, err := b.file.open(false)
	if err != nil {
		return false, err
	}
	defer in.Close()
	log, err := in.all()
	if err != nil {
		return false, err
	}
	var last sessionlog.Record
	for rec, err := range log.Records() {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return false, err
		}
		if aside(rec) {
			b.tally.Add(log, rec)
			continue
		}
		if len(b.messages) > 0 {
			b.tally.Add(log, last)
		}
		b.messages, last = append(b.messages, rec.Message), rec
	}
	b.info = log.Info()
	if n := len(b.messages); n > 0 && n != b.old.Count && !b.still && mayGrow(last.Message) {
		b.messages = b.messages[:n-1]
		return true, nil
	}
	b.tally.Add(log, last)
	return false, nil
}

// mayGrow reports whether agents write such a message in several lines: answers and results.
func mayGrow(m transcript.Message) bool {
	return m.Role() != transcript.RoleUser || m.Blocks().Has(transcript.KindToolResult)
}
