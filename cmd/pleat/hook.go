package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"
	"unicode/utf16"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/store"
)

const hookName = "hook"

// hookCommand is what "pleat setup AGENT --inside" makes an agent run around its own
// compaction. Whatever fails, it ends well and says nothing: the agent goes on as without it,
// and "pleat doctor" tells.
func hookCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use: hookName + " EVENT", Hidden: true,
		Short:              "answer a hook of an agent: JSON in, JSON out",
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
	}
	fs := c.Flags()
	h := &hook{p: p, store: stores.Declare(fs)}
	fs.StringVar(&h.agent, "agent", "claude", "the `AGENT` that runs it")
	fs.BoolVar(&h.inside, "inside", true, "false: do nothing, as a line in a project's pleat.toml can say")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("%v", r)
			}
			h.end(err)
		}()
		debug.SetGCPercent(400) // an agent waits, and it is over soon
		if _, err := settle(p, c); err != nil {
			return err
		}
		if len(args) != 1 {
			return errors.New("want one event")
		}
		return h.run(c.Context(), args[0])
	}
	return c
}

type hook struct {
	p      *term.Console
	store  *stores.Flags
	agent  string
	inside bool

	in      hookInput
	state   hookState
	stating bool // the state is kept
}

// hookInput is what agents say. Those whose hooks have no form of their own say it in Claude
// Code's.
type hookInput struct {
	Session string `json:"session_id"`
	File    string `json:"transcript_path"`
	Source  string `json:"source"`
	Agent   string `json:"agent_id"` // of a sub-agent, whose conversation is not in the file
	Tokens  int    `json:"window"`   // of the model; 0: not told
	Head    int    `json:"head"`     // tokens of it that stand before the messages
	// Messages is the session itself, of an agent that keeps it in no file.
	Messages json.RawMessage `json:"messages"`
	status
}

// hookAgent is how an agent takes what a hook gives it.
type hookAgent struct {
	format  sessionlog.Format
	most    int // of a text that it takes whole, as size counts it
	size    func(text string) int
	drops   bool // a compaction drops its newest results, too
	summary int  // of what its PreCompact hook tells the model that writes its summary; 0: it tells nothing
}

// hookAgents are the agents that run hooks. docs/inside.md says how the limits were measured.
var hookAgents = map[string]hookAgent{
	"claude":   {sessionlog.ClaudeCode, 9_500, inUTF16, false, 0},
	"codex":    {sessionlog.Codex, 9_500, inBytes, true, 0},
	"pi":       {sessionlog.Pi, 24_000, inUTF16, false, 0},
	"qwen":     {"qwen-code", 9_500, inUTF16, false, 4_000},
	"opencode": {sessionlog.OpenCode, 24_000, inUTF16, false, 0},
}

func inBytes(text string) int { return len(text) }

func inUTF16(text string) int { return len(utf16.Encode([]rune(text))) }

// samePage is how much an agent writes to its file between the hooks of one compaction, at
// most. If there is more, the page before the compaction could not be written.
const samePage = 64 << 10

// hookTime is how long an agent waits at most, busyTime how long of that for a store that is
// locked. It has to wait longer itself.
const hookTime, busyTime = 5 * time.Second, time.Second

func (h *hook) run(ctx context.Context, event string) error {
	agent, ok := hookAgents[h.agent]
	if !ok {
		return fmt.Errorf("unknown agent %q", h.agent)
	}
	if err := json.NewDecoder(io.LimitReader(h.p.Stdin, 512<<20)).Decode(&h.in); err != nil {
		return fmt.Errorf("read what %s says: %w", h.agent, err)
	}
	if event == "status-line" {
		return h.statusLine()
	}
	if !h.inside || h.in.Agent != "" || event == "session-start" && h.in.Source != "compact" {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, hookTime)
	defer stop()
	if h.behindProxy(ctx) {
		return nil // which folds already
	}
	h.begin()
	answer, err := h.stored(ctx, agent, event)
	if err != nil && (event == "session-start" || event == "compact") { // a page needs no more than the file
		page, failed := h.answer(ctx, store.NewMemory(), agent, event)
		answer, err = page, errors.Join(err, failed)
	}
	if answer == nil {
		return err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if failed := enc.Encode(answer); failed != nil {
		return failed
	}
	_, failed := h.p.Stdout.Write(out.Bytes())
	return errors.Join(err, failed)
}

// stored answers with the user's store.
func (h *hook) stored(ctx context.Context, agent hookAgent, event string) (answer any, err error) {
	h.store.Busy = busyTime
	st, err := stores.Open(ctx, h.p, h.store)
	if err != nil {
		return nil, err
	}
	answer, err = h.answer(ctx, st, agent, event)
	return answer, errors.Join(err, st.Close())
}

func (h *hook) say(line string) error {
	_, err := fmt.Fprintln(h.p.Stdout, line)
	return err
}

// answer stores the session and, where the event has a place for it, writes its page or folds it.
func (h *hook) answer(ctx context.Context, st library.Store, agent hookAgent, event string) (any, error) {
	lib := libraryIn(h.p, "", st, h.store.Tenant, slog.New(slog.DiscardHandler))
	defer lib.Close()
	file, done, err := h.file()
	if err != nil {
		return nil, err
	}
	defer done()
	info, err := lib.At(agent.format, file)
	if err != nil {
		return nil, err
	}
	if event == "view" {
		masks, err := lib.Masks(ctx, info, h.in.Tokens, h.in.Head)
		h.state.Session = info.ID
		return object{"masks": masks}, err
	}
	program, _ := os.Executable()
	o := library.PageOptions{
		Most: h.most(agent), Size: agent.size, Seen: !agent.drops, Program: shellWord(runtime.GOOS, program),
	}
	page, brief, size := "", "", int64(0)
	if event == "pre-compact" && agent.summary > 0 {
		short := o
		short.Most = agent.summary - len(copyThis)
		brief, err = lib.Page(ctx, info, short)
	} else if event == "session-start" {
		page, size, err = lib.KeptPage(ctx, info.ID)
	}
	if err == nil && (page == "" || info.Bytes < size || info.Bytes > size+samePage) {
		page, err = lib.Page(ctx, info, o)
	}
	if err != nil {
		return nil, err
	}
	h.state.Session, h.state.Page = info.ID, len(page)
	if event == "pre-compact" { // the agent takes the page only afterwards, when it is at hand
		notice := "pleat keeps what this compaction drops: pleat store page " + info.ID
		if h.agent == "claude" { // which shows what it gets, also JSON
			return nil, h.say(notice)
		}
		answer := object{"systemMessage": notice}
		if brief != "" {
			answer["hookSpecificOutput"] = contextOf("PreCompact", copyThis+brief)
		}
		return answer, nil
	}
	if event == "session-start" {
		return object{"hookSpecificOutput": contextOf("SessionStart", page)}, nil
	}
	return object{"page": page, "session": info.ID}, nil
}

// copyThis precedes what a model is told that writes an agent's summary.
const copyThis = "Copy what follows into the summary, word for word, names and handles, too:\n\n"

// contextOf is how a hook adds a text to what a model is told.
func contextOf(event, text string) object {
	return object{"hookEventName": event, "additionalContext": text}
}

// most is how long a page may be: what the agent takes, and about an eighth of the window.
func (h *hook) most(agent hookAgent) int {
	if h.in.Tokens <= 0 {
		return agent.most
	}
	return min(agent.most, max(h.in.Tokens/2, 2_000))
}

type object map[string]any

// file is the file with the session; done deletes it if it was made for this.
func (h *hook) file() (name string, done func(), err error) {
	if h.in.File != "" || len(h.in.Messages) == 0 {
		return h.in.File, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "pleat-hook-*")
	if err != nil {
		return "", nil, err
	}
	name = filepath.Join(dir, h.agent, filepath.Base(h.in.Session)+".json")
	if err = os.MkdirAll(filepath.Dir(name), 0o700); err == nil {
		err = os.WriteFile(name, h.in.Messages, 0o600)
	}
	return name, func() { _ = os.RemoveAll(dir) }, err
}

// behindProxy reports whether the agent's requests go through a proxy of pleat's.
func (h *hook) behindProxy(ctx context.Context) bool {
	if undo, err := undoFile(h.p, h.agent); err == nil && !missing(undo) {
		return true
	}
	base := cmp.Or(h.p.Getenv("ANTHROPIC_BASE_URL"), h.p.Getenv("OPENAI_BASE_URL"))
	if base == "" {
		return false
	}
	ctx, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	return tally.Runs(ctx, base)
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
	if s, err := readHookState(h.p, h.agent); err == nil && s.Client == h.in.Session && s.Error == "" {
		line += ", compacted and kept as " + s.Session
	}
	return h.say(line)
}

// hookState is what is known of the newest run of an agent's hooks.
type hookState struct {
	Begun   time.Time `json:"begun"`
	Ended   time.Time `json:"ended,omitzero"`
	Client  string    `json:"client,omitempty"`  // the session, as the agent names it
	Session string    `json:"session,omitempty"` // as pleat does
	Page    int       `json:"page,omitempty"`    // bytes of the page that the agent got
	Error   string    `json:"error,omitempty"`
}

func hookStateFile(p *term.Console, agent string) (string, error) {
	path, err := stores.Path(p, "")
	return filepath.Join(filepath.Dir(path), "hook", agent+".json"), err
}

func readHookState(p *term.Console, agent string) (s hookState, err error) {
	path, err := hookStateFile(p, agent)
	if err != nil {
		return s, err
	}
	data, err := term.ReadRegular(path)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s)
}

// begin notes that a hook runs, so that one which is killed is known.
func (h *hook) begin() {
	h.stating, h.state = true, hookState{Begun: time.Now().UTC(), Client: h.in.Session}
	h.keepState()
}

func (h *hook) end(err error) {
	if err == nil && !h.stating {
		return
	}
	h.state.Ended = time.Now().UTC()
	if err != nil {
		h.state.Error = term.WithoutPassword(err.Error())
	}
	h.keepState()
}

// keepState does what it can: nobody is there to be told.
func (h *hook) keepState() {
	path, err := hookStateFile(h.p, filepath.Base(h.agent))
	if err != nil {
		return
	}
	data, err := json.Marshal(h.state)
	if err == nil && os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		_ = term.ReplaceFile(context.Background(), path, 0o600, func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
	}
}
