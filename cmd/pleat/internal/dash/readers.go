package dash

import (
	"context"
	"slices"
	"sync"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
)

// readers are the last used sessions, opened for reading. Unlike in those of a library, tokens
// are counted, not estimated.
type readers struct {
	mu     sync.Mutex
	list   []reader                       // the last used first
	counts map[counting]*tokens.Tokenizer // copies of a session share the counts
}

type reader struct {
	*pleat.Session
	as counting
}

// counting is how tokens are counted: as a model does, by a rule that may be a session's own.
type counting struct {
	model string
	rule  model.TokenRule
}

// count returns the counter of a model.
func (l *readers) count(m model.Model) *tokens.Tokenizer {
	l.mu.Lock()
	defer l.mu.Unlock()
	as := counting{m.ID, m.Tokenizer}
	t := l.counts[as]
	if t == nil {
		if t = tokens.NewTokenizer(m, nil); len(l.counts) >= mostReaders || l.counts == nil {
			l.counts = make(map[counting]*tokens.Tokenizer)
		}
		l.counts[as] = t
	}
	return t
}

// mostReaders is how many sessions stay open, readerMemory how many bytes of messages each
// holds.
const mostReaders, readerMemory = 8, 2 << 20

// open opens a session, with all that the store has of it.
func (l *readers) open(
	ctx context.Context, st store.Store, key store.SessionKey, o pleat.Options,
) (*pleat.Session, error) {
	as := counting{o.Model.ID, o.Model.Tokenizer}
	l.mu.Lock()
	var old reader
	if i := slices.IndexFunc(l.list, func(r reader) bool { return r.Key() == key && r.as == as }); i >= 0 {
		old = l.list[i]
		l.list = slices.Insert(slices.Delete(l.list, i, i+1), 0, old)
	}
	l.mu.Unlock()
	if old.Session != nil {
		return old.Session, old.Refresh(ctx)
	}
	o.Memory, o.Tokens = readerMemory, l.count(o.Model)
	s, err := pleat.OpenSession(ctx, reading(st), key, &o)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.Insert(l.list, 0, reader{s, as})
	l.list = l.list[:min(len(l.list), mostReaders)]
	return s, nil
}

// readOnly is a store that nothing can be written to.
type readOnly struct{ store.Store }

// Append implements [store.Store].
func (readOnly) Append(context.Context, store.SessionKey, uint64, ...store.Entry) (uint64, error) {
	return 0, store.ErrReadOnly
}

// reading returns the store for reading and, if it can do that, searching.
func reading(st store.Store) store.Store {
	if engine, ok := st.(store.Searcher); ok {
		return struct {
			readOnly
			store.Searcher
		}{readOnly{st}, engine}
	}
	return readOnly{st}
}
