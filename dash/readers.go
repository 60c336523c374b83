package dash

import (
	"context"
	"slices"
	"sync"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/library"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
)

// readers are open sessions whose tokens are counted, unlike those of a library: those used
// last. They cannot be written to.
type readers struct {
	mu   sync.Mutex
	list []*pleat.Session // the last used first
}

// mostReaders is how many sessions stay open, readerMemory how many bytes of messages each
// holds.
const mostReaders, readerMemory = 8, 2 << 20

// open opens a session, with all that the store has of it.
func (l *readers) open(ctx context.Context, st store.Store, key store.SessionKey, modelName string, window int) (*pleat.Session, error) {
	l.mu.Lock()
	var s *pleat.Session
	if i := slices.IndexFunc(l.list, func(s *pleat.Session) bool { return s.Key() == key }); i >= 0 {
		s = l.list[i]
		l.list = slices.Insert(slices.Delete(l.list, i, i+1), 0, s)
	}
	l.mu.Unlock()
	if s != nil {
		return s, s.Refresh(ctx)
	}
	m, known := model.DefaultModels().Lookup(modelName)
	if window > 0 && (!known || m.Window > window) {
		m.Window = window
	}
	s, err := pleat.OpenSession(ctx, reading(st), key, &pleat.Options{Codecs: library.Codecs(), Memory: readerMemory, Model: m})
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.Insert(l.list, 0, s)
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
