package agent

import (
	"context"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
)

// EventKind says what an event is about.
type EventKind string

// The kinds of event, by their names in the JSON form.
const (
	EventSnapshot   EventKind = "snapshot"    // the meter, before and after every decision of the session
	EventText       EventKind = "text"        // a piece of the model's answer
	EventThinking   EventKind = "thinking"    // a piece of the model's reasoning
	EventToolCall   EventKind = "tool_call"   // a tool is about to run, or was refused
	EventToolOutput EventKind = "tool_output" // a piece of a running tool's output
	EventToolResult EventKind = "tool_result" // a tool answered; its result is about to be recorded
	EventFold       EventKind = "fold"        // one fold came into force
	EventSpill      EventKind = "spill"       // a large result was folded as it arrived
	EventEpoch      EventKind = "epoch"       // an epoch opened
	EventDigest     EventKind = "digest"      // a digest was written
	EventWriting    EventKind = "writing"     // a model is asked for a digest, which may take minutes
	// The run goes on, but not as it should: still red, no digest, no plain copy.
	EventWarning EventKind = "warning"
	EventRecall  EventKind = "recall" // something folded was asked for
	EventUsage   EventKind = "usage"  // what a request cost, also one for a digest
	EventError   EventKind = "error"  // something went wrong; a run that cannot go on returns it too
	EventDone    EventKind = "done"   // the run is over
)

// Event is what observers get. The first five fields apply to every event; each of the
// others is set only in events of the kinds that its comment names. An event is made to be
// written as JSON, one a line.
type Event struct {
	Kind    EventKind `json:"event"`
	Time    time.Time `json:"time"`
	Session string    `json:"session"`         // where it happened: a sub-agent has its own session
	Depth   int       `json:"depth,omitempty"` // 0: the main conversation; 1: a sub-agent's
	Turn    int       `json:"turn,omitempty"`  // number of the request in this run, counted from 1

	Snapshot *fold.Snapshot  `json:"snapshot,omitempty"`      // EventSnapshot, EventEpoch (after it)
	Text     string          `json:"text,omitempty"`          // EventText, EventThinking, EventToolOutput
	Call     *Call           `json:"call,omitempty"`          // EventToolCall, EventToolOutput, EventToolResult
	Result   *CallResult     `json:"result,omitempty"`        // EventToolResult
	Fold     *fold.Fold      `json:"fold,omitempty"`          // EventFold, EventSpill, EventDigest
	Before   tokens.Reported `json:"tokens_before,omitempty"` // EventEpoch: the view before it
	Plan     *fold.Plan      `json:"plan,omitempty"`          // EventEpoch; EventWarning that nothing could be folded
	Recall   string          `json:"recall,omitempty"`        // EventRecall: the handle or query
	Usage    *Spent          `json:"usage,omitempty"`         // EventUsage
	Digest   bool            `json:"digest,omitempty"`        // EventUsage: of a digest by a model; EventWarning: a model did not write one
	Writing  *Writing        `json:"writing,omitempty"`       // EventWriting
	Warning  string          `json:"warning,omitempty"`       // EventWarning
	Error    string          `json:"error,omitempty"`         // EventError
	Err      error           `json:"-"`                       // EventError: the same as a value
	Done     *Result         `json:"done,omitempty"`          // EventDone
}

// Writing is a digest that a model is asked for.
type Writing struct {
	Model string `json:"model"`
	From  int    `json:"from"` // messages, counted from 1
	To    int    `json:"to"`
}

// CallResult is how a tool call ended.
type CallResult struct {
	Text  string        `json:"text"`            // as it is recorded
	Error bool          `json:"error,omitempty"` // the tool failed, or was not run
	Took  time.Duration `json:"took_ns"`
}

// Spent is what a request cost, or a run.
type Spent struct {
	Input      int     `json:"input"` // neither read from nor written to the cache
	CacheRead  int     `json:"cache_read"`
	CacheWrite int     `json:"cache_write"`
	Output     int     `json:"output"`
	USD        float64 `json:"usd,omitempty"` // 0 where the model's prices are not known
}

// Tokens is the sum of all tokens, in and out.
func (s Spent) Tokens() int { return s.Input + s.CacheRead + s.CacheWrite + s.Output }

// Plus is the sum of both.
func (s Spent) Plus(o Spent) Spent {
	return Spent{
		Input: s.Input + o.Input, CacheRead: s.CacheRead + o.CacheRead, CacheWrite: s.CacheWrite + o.CacheWrite,
		Output: s.Output + o.Output, USD: s.USD + o.USD,
	}
}

// spend adds to what this run has spent, sub-agents included, and returns the sum.
func (a *Agent) spend(s Spent) Spent {
	a.spentMu.Lock()
	defer a.spentMu.Unlock()
	a.spent = a.spent.Plus(s)
	return a.spent
}

// tell passes an event to the observer. Tools run in parallel, so events come from several
// goroutines; the observer gets them one at a time.
func (a *Agent) tell(e Event) {
	if a.o.Observe == nil {
		return
	}
	e.Time, e.Session, e.Depth, e.Turn = a.o.Now(), a.o.Key.Session, a.depth, int(a.turn.Load())
	a.out.Lock()
	defer a.out.Unlock()
	a.o.Observe(e)
}

// fromSession passes on the session's events. It is called in the middle of the session's
// work and must not call the session.
func (a *Agent) fromSession(ctx context.Context, key store.SessionKey, e pleat.Event) {
	out := Event{
		Kind: EventKind(e.Kind), Snapshot: e.Snapshot, Fold: e.Fold, Before: e.Before, Plan: e.Plan, Recall: e.Recall, Err: e.Err,
	}
	out.Warning, out.Digest = e.Warning, e.Kind == pleat.EventWarning && e.Digest != nil && e.Digest.By != "model"
	if e.Kind == pleat.EventWriting {
		out.Writing = &Writing{e.Digest.Model, e.Digest.Start + 1, e.Digest.End}
	}
	if e.Err != nil {
		out.Error = e.Err.Error()
	}
	a.tell(out)
	if a.inner != nil {
		a.inner(ctx, key, e)
	}
}

func (a *Agent) tellError(err error) {
	a.tell(Event{Kind: EventError, Err: err, Error: err.Error()})
}
