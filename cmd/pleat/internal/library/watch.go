package library

import (
	"context"
	"time"
)

// watched is how many files [Library.Watch] keeps up with: the newest.
const watched = 200

// Watch keeps the sessions of the newest files up to date in the store until ctx ends, one
// at a time, so that a search need not wait for them. It looks for changes at the given
// interval. A file that cannot be read is logged once, and tried again when it changes.
func (l *Library) Watch(ctx context.Context, every time.Duration) {
	failed := make(map[string]time.Time) // by ID: when the file was changed
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		l.keepUp(ctx, failed)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (l *Library) keepUp(ctx context.Context, failed map[string]time.Time) {
	files := l.scan("")
	files = files[:min(len(files), watched)]
	var ids []string
	for _, f := range files {
		ids = append(ids, f.id)
	}
	marks, err := l.marks(ctx, l.o.Tenant, ids...)
	if err != nil && ctx.Err() == nil {
		l.o.Logger.Warn("the store cannot be read", "error", err)
	}
	for _, f := range files {
		m := marks[f.id]
		at, bad := failed[f.id]
		if err != nil || ctx.Err() != nil {
			return
		}
		if m.is(f) && !m.Held && m.Counted || bad && at.Equal(f.modified) {
			continue
		}
		delete(failed, f.id)
		if _, err := l.bring(ctx, f.info()); err != nil && ctx.Err() == nil {
			failed[f.id] = f.modified
			l.o.Logger.Warn("a session was not brought into the store", "session", f.id, "error", err)
		}
	}
}
