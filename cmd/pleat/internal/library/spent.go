package library

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/transcript"
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

// Window is how full the window of an agent was at each request of a session.
type Window struct {
	Size     int   // tokens; 0: not known
	Largest  int   // request, in tokens
	Reported bool  // by the provider; otherwise the requests are estimated
	Requests []int // tokens of each
	At       []int // before which message each was sent, from 0

	Compactions []sessionlog.Compaction // by the agent itself
}

// Gauge reads a [Window] off the records of a session, one after the other.
type Gauge struct {
	Head int // tokens of the system prompt and the tools, as far as they are known

	running  int // tokens of messages since the last compaction
	next     int // compaction of the log
	estimate Window
	reported Window
}

// Add adds record i, whose message has so many tokens. The compactions are those that were
// read until now.
func (g *Gauge) Add(i int, rec sessionlog.Record, tokens int, compactions []sessionlog.Compaction) {
	for ; g.next < len(compactions) && compactions[g.next].At <= i; g.next++ {
		if !compactions[g.next].Partial { // what went before is no longer sent
			g.running = 0
		}
	}
	if rec.Message.Role() == transcript.RoleAssistant {
		g.estimate.add(i, g.Head+g.running)
	}
	if rec.Usage != nil && rec.Usage.Prompt() > 0 {
		g.reported.add(i, rec.Usage.Prompt())
	}
	g.running += tokens
}

func (w *Window) add(at, tokens int) {
	w.Requests, w.At = append(w.Requests, tokens), append(w.At, at)
}

// Read returns the window after the last record. The model is the session's, if the table of
// models has it.
func (g *Gauge) Read(info sessionlog.Info, m model.Model, known bool) Window {
	w := g.estimate
	if len(g.reported.Requests) > 0 {
		w = g.reported
		w.Reported = true
	}
	w.Compactions = info.Compactions
	w.Largest = slices.Max(append(w.Requests, 0))
	claude := info.Format == sessionlog.ClaudeCode && m.Window > sessionlog.ClaudeWindow
	switch {
	case info.Window > 0:
		w.Size = info.Window
	case known && !(claude && w.Largest <= sessionlog.ClaudeWindow): // else it may have been told to use less
		w.Size = m.Window
	}
	return w
}

// Window reads the window of an agent's session off its file. The function counts the tokens of
// a message. A session without a file has none.
func (l *Library) Window(ctx context.Context, s Info, tokens func(message int) int) (Window, error) {
	f, ok := l.fileNow(s.ID)
	if !ok {
		return Window{}, nil
	}
	in, err := f.open(false)
	if err != nil {
		return Window{}, err
	}
	defer in.Close()
	log, err := in.log()
	if err != nil {
		return Window{}, err
	}
	var g Gauge
	i := 0
	for rec, err := range log.Records() {
		if err != nil {
			return Window{}, err
		}
		if err := ctx.Err(); err != nil {
			return Window{}, err
		}
		g.Add(i, rec, tokens(i), log.Info().Compactions)
		i++
	}
	m, known := model.DefaultModels().Lookup(log.Info().Model)
	return g.Read(log.Info(), m, known), nil
}
