package library

import (
	"context"
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/secrets"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/transcript"
)

// FoldOptions say how a session is folded for an agent that sends its own messages.
type FoldOptions struct {
	Window int    // tokens of the model's window; 0 if unknown
	Sent   int    // tokens of the messages that the agent would send; 0 if unknown
	Now    bool   // the agent compacts; otherwise only a full window is folded
	Focus  string // the user's words with the compaction
	Whole  bool   // a page replaces what the conversation began with, too
}

// Folded is what an agent sends in place of its messages.
type Folded struct {
	Session string            // its name in the store
	Stubs   map[string]string // in place of results, by the IDs of their calls
	Page    string            // in place of all turns between the head and the newest; empty if none are replaced
	Shown   map[string]bool   // the IDs of calls in the newest turns
}

// Fold folds a session for an agent that sends its own messages: results alone while that frees enough, else
// all turns but the newest as a page. The folds are in the store, so that the next answer has the same ones
// and perhaps more. A compaction frees three quarters, as does the proxy in a large window.
func (l *Library) Fold(ctx context.Context, info Info, fo FoldOptions) (Folded, error) {
	key, err := l.Bring(ctx, info)
	if err != nil {
		return Folded{}, err
	}
	o := Roughly()
	o.Policy, o.Memory = rowsOnly(policy.Default()), openMemory
	o.Policy.FoldHead = fo.Whole
	o.Budget = fold.Budget{Window: fo.Window}
	if fo.Now {
		o.Budget.Window = max(fo.Window, fo.Sent)
		o.Budget.Target = fold.Tokens(max(min(fo.Window, fo.Sent)/4, minTarget))
	}
	o.Recall = func(handle string) string { return fmt.Sprintf("unfold(%q, session: %q)", handle, key.Session) }
	s, err := pleat.OpenSession(ctx, l.o.Store, key, o)
	if err != nil {
		return Folded{}, err
	}
	if fo.Now {
		if _, err := s.Compact(ctx, fo.Focus); err != nil {
			return Folded{}, err
		}
	}
	view, err := s.View(ctx, pleat.Turn{})
	if err != nil {
		return Folded{}, err
	}
	return folded(ctx, s, view)
}

// minTarget is the least that a compaction folds to, in tokens.
const minTarget = 2_000

// folded reads what an agent needs off a view.
func folded(ctx context.Context, s *pleat.Session, view transcript.View) (Folded, error) {
	f := Folded{Session: s.Key().Session, Stubs: make(map[string]string), Shown: make(map[string]bool)}
	for _, m := range view.Messages {
		if m.Source < 0 {
			f.Page = strings.TrimLeft(f.Page+"\n\n"+secrets.Redact(m.Made.Text()), "\n")
			continue
		}
		source, err := s.Message(ctx, m.Source)
		if err != nil {
			return f, err
		}
		edits := m.Edits
		for i, b := range source.Blocks().All() {
			switch b := b.(type) {
			case transcript.ToolCall:
				f.Shown[b.ID] = true
			case transcript.ToolResult:
				f.Shown[b.CallID] = true
				if len(edits) > 0 && edits[0].Block == i && !edits[0].Drop {
					f.Stubs[b.CallID] = edits[0].Text
				}
			}
			if len(edits) > 0 && edits[0].Block == i {
				edits = edits[1:]
			}
		}
	}
	return f, nil
}

// rowsOnly is a policy that folds results of tools, each by itself, and turns as a page: an agent has a place for
// both. It keeps fewer than the default, for agents give up if they have to compact again at once.
func rowsOnly(p fold.Policy) fold.Policy {
	steps := p.AtRed
	p.Name, p.AtBirth, p.AtRed, p.OnRefusal = "rows", nil, nil, nil
	for _, l := range steps {
		switch l := l.(type) {
		case lever.Aim, lever.KeepReread, lever.Supersede:
			p.AtRed = append(p.AtRed, l)
		case lever.Mask:
			l.Keep = 1
			p.AtRed = append(p.AtRed, l)
		case lever.Digest:
			l.Keep = 4 // more stay where there is room
			p.AtRed = append(p.AtRed, l)
		}
	}
	return p
}
