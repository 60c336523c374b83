package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf16"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/sessionlog"
)

// input is what agents say. Those whose hooks have no form of their own say it in Claude
// Code's.
type input struct {
	Session string `json:"session_id"`
	File    string `json:"transcript_path"`
	Source  string `json:"source"`
	Agent   string `json:"agent_id"` // of a sub-agent, whose conversation is not in the file
	Tokens  int    `json:"window"`   // of the model; 0 if unknown
	Used    int    `json:"used"`     // tokens of it that the newest request took; 0 if unknown
	// Messages is the session itself, of an agent that keeps it in no file.
	Messages json.RawMessage `json:"messages"`
	Trigger  string          `json:"trigger"` // why the agent compacts; "" if it is about to send a request
	Words    string          `json:"words"`   // the user's, with the compaction
	Rows     []row           `json:"rows"`    // what the agent would send; none if it goes on with a page alone
	status
}

// agent is how an agent takes what a hook gives it.
type agent struct {
	format  sessionlog.Format
	most    int // of a text that it takes whole, as size counts it
	size    func(text string) int
	drops   bool // a compaction drops its newest results, too
	whole   bool // and what the conversation began with
	summary int  // of what its PreCompact hook tells the model that writes its summary; 0: it tells nothing
}

// agents are the agents that run hooks. docs/inside.md says how the limits were measured.
var agents = map[string]agent{
	"claude":   {sessionlog.ClaudeCode, Parts * partSize, inUTF16, false, false, 0},
	"codex":    {sessionlog.Codex, 3 * CodexLimit, inBytes, true, true, 0},
	"pi":       {sessionlog.Pi, 24_000, inUTF16, false, true, 0},
	"qwen":     {"qwen-code", 9_500, inUTF16, false, false, 4_000},
	"opencode": {sessionlog.OpenCode, 24_000, inUTF16, false, false, 0},
}

// Claude Code takes 10,000 characters of a hook, and as many of each of several.
const Parts, partSize = 3, 9_300

// CodexLimit is how many tokens Codex is told to take of a hook, of at least three bytes each.
const CodexLimit = 20_000

func inBytes(text string) int { return len(text) }

func inUTF16(text string) int { return len(utf16.Encode([]rune(text))) }

// answer stores the session and, where the event has a place for it, writes its page or folds it.
func (h *hook) answer(ctx context.Context, st library.Store, agent agent, event string) (any, error) {
	lib := library.New(library.Options{
		Home: h.Home, Store: st, Tenant: h.Tenant, Logger: slog.New(slog.DiscardHandler),
	})
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
	if event == "replace" && len(h.in.Rows) > 0 {
		h.state.Session = info.ID
		return h.replace(ctx, lib, info, agent)
	}
	o := library.PageOptions{Most: h.most(agent), Size: agent.size, Seen: !agent.drops, Program: h.Program}
	page, brief, size := "", "", int64(0)
	switch {
	case event == "session-start":
		page, size, err = lib.KeptPage(ctx, info.ID)
	case event == "pre-compact" && agent.summary > 0:
		short := o
		short.Most = agent.summary - len(copyThis)
		brief, err = lib.Page(ctx, info, short)
	}
	if err == nil && (page == "" || info.Bytes < size || info.Bytes > size+samePage) {
		page, err = lib.Page(ctx, info, o)
	}
	if err != nil {
		return nil, err
	}
	h.state.Session = info.ID
	notice := "pleat keeps what this compaction drops: pleat store page " + info.ID
	switch {
	case event == "session-start":
		if h.Part > 0 {
			page = part(page, h.Part)
		}
		if page == "" {
			return nil, nil
		}
		if h.Part > 1 { // they may come in any order
			page = fmt.Sprintf("[pleat: the page of this conversation goes on, part %d]\n%s", h.Part, page)
		}
		return object{"hookSpecificOutput": contextOf("SessionStart", page)}, nil
	case event != "pre-compact":
		return object{"page": page, "session": info.ID}, nil
	case h.Agent == "claude": // which shows what it gets, also JSON
		return nil, h.say(notice)
	case brief != "":
		return object{"systemMessage": notice, "hookSpecificOutput": contextOf("PreCompact", copyThis+brief)}, nil
	}
	return object{"systemMessage": notice}, nil // the agent takes the page only afterwards, when it is at hand
}

// part is the nth part of a page, cut at the ends of lines.
func part(page string, n int) string {
	for ; n > 0; n-- {
		rest := page
		for page = ""; rest != ""; {
			line, after, _ := strings.Cut(rest, "\n")
			if line += "\n"; page != "" && inUTF16(page)+inUTF16(line) > partSize {
				break
			}
			page, rest = page+line, after
		}
		if n > 1 {
			page = rest
		}
	}
	return page
}

// copyThis precedes what a model is told that writes an agent's summary.
const copyThis = "Copy what follows into the summary, word for word, names and handles, too:\n\n"

// contextOf is how a hook adds a text to what a model is told.
func contextOf(event, text string) object {
	return object{"hookEventName": event, "additionalContext": text}
}

// most is how long a page may be: what the agent takes, and about an eighth of the window.
func (h *hook) most(agent agent) int {
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
	name = filepath.Join(dir, h.Agent, filepath.Base(h.in.Session)+".json")
	return name, func() { _ = os.RemoveAll(dir) }, term.WriteIn(name, h.in.Messages)
}
