package library

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/store"
)

// Request is a request to a provider, as the file of a session records it. Agents copy lines
// when they resume a session: equal requests with a time are one.
type Request struct {
	Time  time.Time // zero: not known
	Model string
	Usage model.Usage
	Said  float64 // what the agent says that it cost, in USD; 0: nothing
}

// Cost is what the request cost: by the price list, unless only the agent knows what was used.
func (r Request) Cost() (usd float64, known bool) {
	if r.Said > 0 {
		return r.Said, true
	}
	m, _ := model.DefaultModels().Lookup(r.Model)
	return m.Cost(r.Usage)
}

// Requests visits the requests of a session file whose usage it records, those of sub-agents
// and of abandoned branches included. dir is the folder that the agent worked in. What a file has only in all
// counts as one request, the newest.
func Requests(file io.Reader, visit func(r Request, dir string)) (info sessionlog.Info, err error) {
	log, err := sessionlog.Open(file, &sessionlog.Options{Sidechains: true, Abandoned: true})
	if err != nil {
		return info, err
	}
	var newest time.Time
	for rec, err := range log.Records() {
		if err != nil {
			return info, err
		}
		if rec.Time.After(newest) {
			newest = rec.Time
		}
		if rec.Usage != nil && rec.Usage.Prompt()+rec.Usage.Output > 0 {
			info := log.Info()
			visit(Request{rec.Time, cmp.Or(rec.Model, info.Model), *rec.Usage, 0}, info.Dir)
		}
	}
	if info = log.Info(); info.Used != nil || info.USD > 0 {
		visit(Request{newest, info.Model, *cmp.Or(info.Used, &model.Usage{}), info.USD}, info.Dir)
	}
	return info, nil
}

// Spent is what a request came to.
type Spent struct {
	Request
	USD    float64 // 0: the price of the model is not known
	ID     string  // of the session
	Stored bool    // the store has it, of a session that pleat stood in; else a file
}

// recorded is what a session spent, and what its file or the session was then.
type recorded struct {
	size     int64
	modified time.Time
	spent    []Spent
}

// Spent returns the requests that agents' files and the store record of sessions that were
// used since a time, each once. A session that an agent ran through pleat's proxy is in both.
// What has not changed since the last call is not read again.
func (l *Library) Spent(ctx context.Context, since time.Time) ([]Spent, error) {
	l.spending.Lock()
	defer l.spending.Unlock()
	now := make(map[string]recorded)
	keep := func(id string, size int64, modified time.Time, read func() ([]Spent, error)) error {
		if modified.Before(since) {
			return nil
		}
		r := l.recorded[id]
		if r.size != size || !r.modified.Equal(modified) {
			spent, err := read()
			if err != nil {
				return err
			}
			for i := range spent {
				spent[i].ID = id
			}
			r = recorded{size, modified, spent}
		}
		now[id] = r
		return ctx.Err()
	}
	for _, f := range l.scan("") {
		if err := keep(f.id, f.size, f.modified, func() ([]Spent, error) { return f.spent(), nil }); err != nil {
			return nil, err
		}
	}
	var stored []store.SessionInfo
	var err error
	if l.o.Store != nil {
		stored, err = Conversations(ctx, l.o.Store, l.o.Tenant)
	}
	for _, s := range stored {
		if _, copied := owner(s.Key); err == nil && !copied && OwnerOf(s.Key) == "" {
			err = keep(l.storedID(s.Key), int64(s.Entries), s.Last,
				func() ([]Spent, error) { return l.spent(ctx, s.Key) })
		}
	}
	if err != nil {
		return nil, err
	}
	l.recorded = now
	var list []Spent
	seen := make(map[Request]bool)
	for _, r := range now {
		for _, s := range r.spent {
			if s.Time.IsZero() || !seen[s.Request] {
				seen[s.Request] = true
				list = append(list, s)
			}
		}
	}
	return list, nil
}

// spent is what the requests in a file came to. What cannot be read has no usage.
func (f file) spent() (list []Spent) {
	in, err := f.open(false)
	if err != nil {
		return nil
	}
	defer in.Close()
	_, _ = Requests(in, func(r Request, _ string) {
		usd, _ := r.Cost()
		list = append(list, Spent{Request: r, USD: usd})
	})
	return list
}

// spent is what the requests of a stored session came to.
func (l *Library) spent(ctx context.Context, key store.SessionKey) (list []Spent, err error) {
	for e, err := range l.o.Store.Scan(ctx, key, 1, store.EntryUsage) {
		if err != nil {
			return nil, err
		}
		s := Spent{Request: Request{Time: e.Time}, Stored: true}
		if json.Unmarshal(e.Data, &s) == nil && s.Usage.Prompt()+s.Usage.Output > 0 {
			list = append(list, s)
		}
	}
	return list, nil
}
