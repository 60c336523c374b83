package library

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/store"
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
	s, err := l.session(ctx, key)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(key)
	l.opened = slices.Insert(l.opened, 0, s)
	l.opened = l.opened[:min(len(l.opened), mostOpen)]
	return s, nil
}

// drop takes a session from those that stay open. The caller has the lock.
func (l *Library) drop(key store.SessionKey) {
	l.opened = slices.DeleteFunc(l.opened, func(o *pleat.Session) bool { return o.Key() == key })
}

// session is a session that is open, as it is now in the store, or else it is opened.
func (l *Library) session(ctx context.Context, key store.SessionKey) (*pleat.Session, error) {
	l.mu.Lock()
	i := slices.IndexFunc(l.opened, func(o *pleat.Session) bool { return o.Key() == key })
	var s *pleat.Session
	if i >= 0 {
		s = l.opened[i]
	}
	l.mu.Unlock()
	if s != nil {
		return s, s.Refresh(ctx)
	}
	o := Roughly()
	o.Policy, o.Memory = policy.None(), openMemory // nothing is spilled
	return pleat.OpenSession(ctx, l.o.Store, key, o)
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
	for try := 0; ; try++ {
		marks, err := l.marks(ctx, l.o.Tenant, info.ID)
		if err != nil {
			return mark{}, err
		}
		old := marks[info.ID]
		still := time.Since(f.modified) > Quiet
		if old.is(f) && (!old.Held || !still) {
			return old, nil
		}
		b := bringing{l: l, id: info.ID, file: f, old: old, still: still}
		m, err := b.run(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			return m, err
		case errors.Is(err, store.ErrConflict) && try < 3: // another process did the same
		case old.Session != "" && !isStoreError(err):
			l.o.Logger.Warn("the file cannot be read; its session is as it was", "file", f.path(), "error", err)
			return old, nil
		default:
			return m, err
		}
	}
}

var storeErrors = []error{
	store.ErrConflict, store.ErrCorrupt, store.ErrFull, store.ErrClosed, store.ErrReadOnly, store.ErrSchema,
}

func isStoreError(err error) bool {
	return slices.ContainsFunc(storeErrors, func(e error) bool { return errors.Is(err, e) })
}

// bringing is one reading of a file.
type bringing struct {
	l     *Library
	id    string
	file  file
	old   mark
	still bool // nobody has written to the file lately

	mark
	s     *pleat.Session
	tally tally
	batch []transcript.Message
	size  int
}

func (b *bringing) run(ctx context.Context) (mark, error) {
	b.mark = mark{Session: b.id, Size: b.file.size, Modified: b.file.modified}
	if b.old.Session != "" {
		b.Session = b.old.Session
	}
	in, err := b.file.open(false)
	if err != nil {
		return mark{}, err
	}
	defer in.Close()
	log, err := in.log()
	if err != nil {
		return mark{}, fmt.Errorf("read %s: %w", b.file.path(), err)
	}
	key := store.SessionKey{Tenant: b.l.o.Tenant, Session: b.Session}
	if b.old.Session == "" { // one that is open may have been deleted from the store
		b.l.mu.Lock()
		b.l.drop(key)
		b.l.mu.Unlock()
	}
	if b.s, err = b.l.session(ctx, key); err != nil {
		return mark{}, err
	}
	same := b.s.Len() == b.old.Count // else a reading was interrupted
	if same {
		same, err = b.stream(ctx, log)
	}
	if err == nil && !same {
		err = b.sync(ctx, log)
	}
	if err != nil {
		return mark{}, fmt.Errorf("read %s: %w", b.file.path(), err)
	}
	if b.Count == 0 {
		return mark{}, fmt.Errorf("read %s: a %s file without messages", b.file.path(), log.Format())
	}
	return b.mark, b.finish(ctx, log.Info())
}

// stream appends the messages behind those that the session has. It reports false, and has
// appended nothing, if the file no longer begins with those.
func (b *bringing) stream(ctx context.Context, log *sessionlog.Log) (same bool, err error) {
	err = b.records(ctx, log, func(m transcript.Message) error {
		if b.Count == b.old.Count && b.Chain != b.old.Chain {
			return errOther
		}
		if b.next(m); b.Count <= b.old.Count {
			return nil
		}
		return b.add(ctx, m)
	})
	if err == nil && (b.Count < b.old.Count || b.Count == b.old.Count && b.Chain != b.old.Chain) {
		err = errOther
	}
	if errors.Is(err, errOther) {
		return false, nil
	}
	if err == nil {
		err = b.flush(ctx)
	}
	return true, err
}

var errOther = errors.New("the file goes another way")

// sync goes on with a conversation that was rewound, or one whose reading was interrupted.
func (b *bringing) sync(ctx context.Context, log *sessionlog.Log) error {
	b.Count, b.Chain, b.tally = 0, transcript.Hash{}, tally{}
	var history []transcript.Message
	err := b.records(ctx, log, func(m transcript.Message) error {
		b.next(m)
		history = append(history, m)
		return nil
	})
	if err != nil || len(history) == 0 {
		return err
	}
	if b.s, err = b.s.Sync(ctx, history); err != nil {
		return err
	}
	b.Session = b.s.Key().Session
	return nil
}

// records yields the file's messages, without the last one if somebody may be writing it.
func (b *bringing) records(ctx context.Context, log *sessionlog.Log, each func(transcript.Message) error) error {
	var last *sessionlog.Record
	yield := func() error {
		if last == nil {
			return nil
		}
		b.tally.add(*last)
		return each(last.Message)
	}
	for rec, err := range log.Records() {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = yield()
		}
		if err != nil {
			return err
		}
		last = &rec
	}
	if b.Held = !b.still && last != nil && mayGrow(last.Message); b.Held {
		return nil
	}
	return yield()
}

// mayGrow reports whether agents write such a message in several lines: answers and results.
func mayGrow(m transcript.Message) bool {
	return m.Role() != transcript.RoleUser || m.Blocks().Has(transcript.KindToolResult)
}

// next takes a message into the chain.
func (b *bringing) next(m transcript.Message) {
	f := conv.Fingerprint(m)
	b.Chain = sha256.Sum256(append(b.Chain[:], f[:]...))
	b.Count++
}

// add appends a message together with others.
func (b *bringing) add(ctx context.Context, m transcript.Message) error {
	b.batch = append(b.batch, m)
	if b.size += len(m.Raw()) + 1<<10; len(b.batch) < 32 && b.size < 256<<10 {
		return nil
	}
	return b.flush(ctx)
}

func (b *bringing) flush(ctx context.Context) error {
	err := b.s.Append(ctx, b.batch...)
	clear(b.batch)
	b.batch, b.size = b.batch[:0], 0
	return err
}

// finish records what was read.
func (b *bringing) finish(ctx context.Context, info sessionlog.Info) error {
	b.Title, b.Project, b.Model, b.Bytes = b.tally.title(info), info.Dir, info.Model, b.file.size
	b.Tokens, b.USD = b.s.Tokens(0, b.s.Len()), b.tally.usd
	data, err := json.Marshal(b.mark)
	if err != nil {
		return fmt.Errorf("encode mark: %w", err)
	}
	_, err = b.s.Mark(ctx, markLabel+b.id, data)
	return err
}
