package library

import (
	"context"
	"slices"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/transcript"
)

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
