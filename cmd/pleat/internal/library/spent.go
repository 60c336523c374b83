package library

import (
	"context"
	"errors"
	"time"

	"github.com/pleat-dev/pleat/model"
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

// Spent is what a request came to.
type Spent struct {
	Request
	USD      float64
	Unpriced bool   // the price of the model is not known, and it is no rehearsal
	ID       string // of the session
	Dir      string // the folder that its agent worked in then
	Stored   bool   // the store has it, of a session that pleat stood in; else a file
}

// Requests are the requests of a session whose usage is known, those of sub-agents and of abandoned
// branches included.
func (l *Library) Requests(ctx context.Context, s Info) ([]Spent, error) {
	var list []Spent
	if s.File == "" {
		list = l.lookStored(ctx, &s)
	} else {
		list = l.lookFile(&s, mark{}, requests)
	}
	if s.Problem != "" {
		return nil, errors.New(s.Problem)
	}
	return list, ctx.Err()
}

// Spending calls visit with the requests that the files of an agent, or of all and the store, record of sessions that
// were used since a time, each request once, session by session, the newest first. A session that an agent ran through
// pleat's proxy is in both. What has not changed since the last call is not read again. Of what cannot be read, visit
// gets the error.
func (l *Library) Spending(
	ctx context.Context, agent string, since time.Time, visit func(Info, []Spent, error) error,
) error {
	all, err := l.all(ctx, agent)
	seen := make(map[Request]bool)
	for i, s := range all {
		if s.Modified.Before(since) {
			continue
		}
		if l.o.Progress != nil {
			l.o.Progress(i, len(all))
		}
		list, unread := l.Requests(ctx, s)
		var once []Spent
		for _, r := range list {
			if r.Time.IsZero() || !seen[r.Request] {
				seen[r.Request] = true
				once = append(once, r)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := visit(s, once, unread); err != nil {
			return err
		}
	}
	return err
}

// Spent returns what [Library.Spending] finds of all agents and of the store. What cannot be read has no usage.
func (l *Library) Spent(ctx context.Context, since time.Time) (list []Spent, err error) {
	err = l.Spending(ctx, "", since, func(_ Info, once []Spent, _ error) error {
		list = append(list, once...)
		return nil
	})
	return list, err
}
