package hook

import (
	"context"
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/page"
)

// row is a message, or a part of one, that an agent would send. Its numbers are in characters.
type row struct {
	Role    string         `json:"role"`
	Text    string         `json:"text"`
	Calls   map[string]int `json:"calls"`   // inputs, by the IDs of the calls
	Results map[string]int `json:"results"` // results, by the IDs of their calls
}

func (r row) isPage() bool { return strings.HasPrefix(r.Text, page.Start) }

// size is how many characters a row takes with these stubs.
func (r row) size(stubs map[string]string) int {
	n := inUTF16(r.Text)
	for _, c := range r.Calls {
		n += c
	}
	for id, c := range r.Results {
		if stub, ok := stubs[id]; ok {
			c = min(c, inUTF16(stub))
		}
		n += c
	}
	return n
}

// knows reports whether one of the row's calls or results is among ids.
func (r row) knows(ids map[string]bool) bool {
	for id := range r.Calls {
		if ids[id] {
			return true
		}
	}
	for id := range r.Results {
		if ids[id] {
			return true
		}
	}
	return false
}

// What becomes of a row.
const (
	rowKept    = "keep"
	rowStubbed = "stub" // some of its results
	rowDropped = "drop"
)

// replacement is what an agent sends in place of its rows. Without a page and stubs it sends them unchanged.
type replacement struct {
	Session string            `json:"session,omitempty"`
	Why     string            `json:"why,omitempty"`   // nothing is replaced
	Page    string            `json:"page,omitempty"`  // a message of the user's role, before the row At
	At      int               `json:"at"`              // where the page goes
	Stubs   map[string]string `json:"stubs,omitempty"` // in place of results, by the IDs of their calls
	Rows    []string          `json:"rows,omitempty"`  // what becomes of each
	Before  int               `json:"before"`          // characters
	After   int               `json:"after"`
}

// replace folds a session for an agent, which compacts if it says why, or else is about to send a request.
func (h *hook) replace(
	ctx context.Context, lib *library.Library, info library.Info, agent agent,
) (replacement, error) {
	sent := 0
	for _, r := range h.in.Rows {
		sent += r.size(nil)
	}
	window := h.in.Tokens
	if h.in.Used > 0 { // pleat takes four characters for a token, and sees neither system prompt nor tools
		window = int(float64(window) * min(1, float64(sent/4)/float64(h.in.Used)))
	}
	f, err := lib.Fold(ctx, info, library.FoldOptions{
		Window: window, Sent: sent / 4, Now: h.in.Trigger != "", Focus: h.in.Words, Whole: agent.whole,
	})
	if err != nil {
		return replacement{}, err
	}
	r := placed(h.in.Rows, f, agent.whole)
	r.Session, r.Before = f.Session, sent
	if h.in.Trigger == "" && len(r.Stubs) == 0 && r.Page == "" {
		r.Why = "there is room"
	} else if r.After >= r.Before {
		r = replacement{Session: f.Session, Before: sent, After: sent}
		r.Why = fmt.Sprintf("folded it would take %s of %s characters", term.Short(r.After), term.Short(sent))
	}
	h.state.Why = r.Why
	return r, nil
}

// placed says what becomes of an agent's rows. The file of a session may lack the newest of them, which stay.
func placed(rows []row, f library.Folded, whole bool) replacement {
	r := replacement{Page: f.Page, Stubs: make(map[string]string)}
	head, cut := 0, 0
	if f.Page != "" {
		if cut = newest(rows, f.Shown); !whole {
			head = headOf(rows)
		}
		if cut <= head { // nothing that could be dropped
			r.Page, cut = "", 0
		}
	}
	r.At = head
	for i, x := range rows {
		what := rowKept
		for id, n := range x.Results {
			if stub, ok := f.Stubs[id]; ok && inUTF16(stub) < n {
				what, r.Stubs[id] = rowStubbed, stub
			}
		}
		if r.Page != "" && (i >= head && i < cut || x.isPage()) {
			what = rowDropped
		} else {
			r.After += x.size(r.Stubs)
		}
		r.Rows = append(r.Rows, what)
	}
	r.After += inUTF16(r.Page)
	return r
}

// headOf is how many rows come before the first answer, or before the page of an earlier compaction.
func headOf(rows []row) int {
	for i, r := range rows {
		if r.Role == "assistant" || r.isPage() {
			return i
		}
	}
	return len(rows)
}

// newest is where the turns begin that a page leaves out: after the last row whose calls and results it replaces. Rows
// without any stay with those that follow.
func newest(rows []row, shown map[string]bool) int {
	last := len(rows) - 1
	for last >= 0 && !rows[last].knows(shown) {
		last--
	}
	for i := last; i >= 0; i-- {
		if len(rows[i].Calls)+len(rows[i].Results) > 0 && !rows[i].knows(shown) || rows[i].isPage() {
			return i + 1
		}
	}
	return 0
}
