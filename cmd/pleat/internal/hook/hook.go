// Package hook answers the hooks that agents run around their own compaction: it keeps the session, writes the
// page that the agent goes on with, and notes how that went, for "pleat doctor".
package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/store"
)

// Name is the command that runs hooks.
const Name = "hook"

// Options are what a hook needs of its surroundings.
type Options struct {
	Wrong error     // why the hook cannot run, which is noted; nil: it can
	In    io.Reader // what the agent says, as JSON
	Out   io.Writer // what it is answered
	Agent string    // the name of one of those that run hooks
	Part  int       // which part of the page is the answer, for an agent that runs a hook for each; 0 if all of it
	// Off: only the status line is answered.
	Off bool
	// Proxied: the agent was set up to send its requests through a proxy, which folds already. Base is the
	// server that it sends them to, if its environment names one: perhaps a proxy.
	Proxied bool
	Base    string
	Program string // pleat, as a shell names it
	Folder  string // notes how hooks went; "": nothing does
	// Open opens the user's store, and waits no longer for others that have locked it.
	Open   func(ctx context.Context, busy time.Duration) (library.Store, error)
	Tenant string
	Home   string // the folder in which agents keep theirs
}

type hook struct {
	Options
	in    input
	state State
}

// Run answers an event. Whatever fails is noted, too: the agent goes on as without pleat.
func Run(ctx context.Context, event string, o Options) (err error) {
	h := &hook{Options: o}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
		h.end(err)
	}()
	if o.Wrong != nil {
		return o.Wrong
	}
	return h.run(ctx, event)
}

// samePage is how much an agent writes to its file between the hooks of one compaction, at
// most. If there is more, the page before the compaction could not be written.
const samePage = 64 << 10

// Time is how long an agent waits at most, busyTime how long of that for a store that is
// locked. It has to wait longer itself.
const Time, busyTime = 5 * time.Second, time.Second

func (h *hook) run(ctx context.Context, event string) error {
	agent, ok := agents[h.Agent]
	if !ok {
		return fmt.Errorf("unknown agent %q", h.Agent)
	}
	if err := json.NewDecoder(io.LimitReader(h.In, 512<<20)).Decode(&h.in); err != nil {
		return fmt.Errorf("read what %s says: %w", h.Agent, err)
	}
	if event == "status-line" {
		return h.statusLine()
	}
	if h.Off || h.in.Agent != "" || event == "session-start" && h.in.Source != "compact" {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, Time)
	defer stop()
	if h.behindProxy(ctx) {
		return nil // which folds already
	}
	if event == "session-start" && h.replaced() {
		return nil // the page is there
	}
	h.begin(event)
	answer, err := h.stored(ctx, agent, event)
	if err != nil && (event == "session-start" || event == "replace" && len(h.in.Rows) == 0) { // a page needs no more than the file
		page, failed := h.answer(ctx, store.NewMemory(), agent, event)
		answer, err = page, errors.Join(err, failed)
	}
	if answer == nil {
		return err
	}
	enc := json.NewEncoder(h.Out)
	enc.SetEscapeHTML(false)
	return errors.Join(err, enc.Encode(answer))
}

// stored answers with the user's store.
func (h *hook) stored(ctx context.Context, agent agent, event string) (answer any, err error) {
	st, err := h.Open(ctx, busyTime)
	if err != nil {
		return nil, err
	}
	answer, err = h.answer(ctx, st, agent, event)
	return answer, errors.Join(err, st.Close())
}

func (h *hook) say(line string) error {
	_, err := fmt.Fprintln(h.Out, line)
	return err
}

// behindProxy reports whether the agent's requests go through a proxy of pleat's.
func (h *hook) behindProxy(ctx context.Context) bool {
	if h.Proxied || h.Base == "" {
		return h.Proxied
	}
	ctx, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	return tally.Runs(ctx, h.Base)
}

// status is what Claude Code tells a status line.
type status struct {
	Window struct {
		Used int `json:"total_input_tokens"`
		Size int `json:"context_window_size"`
	} `json:"context_window"`
	Cost struct {
		USD float64 `json:"total_cost_usd"`
	} `json:"cost"`
}

// statusLine says how full the window is, what the session has cost, and what pleat keeps of it.
func (h *hook) statusLine() error {
	line := fmt.Sprintf("pleat: %s of %s tokens, %s", term.Short(h.in.Window.Used), term.Short(h.in.Window.Size),
		term.Cents(h.in.Cost.USD))
	if s, err := Read(h.Folder, h.Agent); err == nil && s.Client == h.in.Session && s.Error == "" {
		line += ", compacted and kept as " + s.Session
	}
	return h.say(line)
}

// State is what is known of the newest run of an agent's hooks.
type State struct {
	Event   string    `json:"event"`
	Begun   time.Time `json:"begun"`
	Ended   time.Time `json:"ended,omitzero"`
	Client  string    `json:"client,omitempty"`  // the session, as the agent names it
	Session string    `json:"session,omitempty"` // as pleat does
	Why     string    `json:"why,omitempty"`     // the agent compacted by itself
	Error   string    `json:"error,omitempty"`
}

func stateFile(folder, agent string) string {
	return filepath.Join(folder, filepath.Base(agent)+".json")
}

// Read reads what was noted in a folder of the hooks of an agent.
func Read(folder, agent string) (s State, err error) {
	if folder == "" {
		return s, fs.ErrNotExist
	}
	data, err := term.ReadRegular(stateFile(folder, agent))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s)
}

// replaced reports whether the agent's compaction was answered by [hook.replace].
func (h *hook) replaced() bool {
	s, err := Read(h.Folder, h.Agent)
	return err == nil && s.Event == "replace" && s.Client == h.in.Session && s.Why == ""
}

// begin notes that a hook runs, so that one which is killed is known.
func (h *hook) begin(event string) {
	h.state = State{Event: event, Begun: time.Now().UTC(), Client: h.in.Session}
	h.keepState()
}

func (h *hook) end(err error) {
	if err == nil && h.state.Begun.IsZero() {
		return
	}
	h.state.Ended = time.Now().UTC()
	if err != nil {
		h.state.Error = term.WithoutPassword(err.Error())
		h.state.Why = cmp.Or(h.state.Why, h.state.Error)
	}
	h.keepState()
}

// keepState does what it can: nobody is there to be told.
func (h *hook) keepState() {
	if h.Folder == "" {
		return
	}
	if data, err := json.Marshal(h.state); err == nil {
		_ = term.WriteIn(stateFile(h.Folder, h.Agent), data)
	}
}
