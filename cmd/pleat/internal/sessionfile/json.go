package sessionfile

import (
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
)

type compactJSON struct {
	Format   string       `json:"format"`
	Source   Source       `json:"source"`
	Session  string       `json:"session"` // in the store
	Policy   string       `json:"policy"`
	Tokens   Budget       `json:"tokens"`
	Messages []viewJSON   `json:"messages"`
	Folds    []Fold       `json:"folds"`
	Ledger   []Entry      `json:"ledger"`
	Pins     []pinJSON    `json:"pins"`
	Anchors  []anchorJSON `json:"anchors"`
	Report   reportJSON   `json:"report"`
}

// reportJSON is the engine's report without the folds.
type reportJSON struct {
	Messages int                  `json:"messages"` // in the session
	Shown    int                  `json:"shown"`    // in the view
	Levers   []library.LeverShare `json:"levers"`
	Epochs   []pleat.Epoch        `json:"epochs"`
	Snapshot fold.Snapshot        `json:"snapshot"`
	Cache    fold.CacheCost       `json:"cache"`
	// Digests says who wrote each digest that a model was asked for, and if code did, why.
	Digests []digest.Origin `json:"digests,omitempty"`
	Warning string          `json:"warning,omitempty"`
}

type viewJSON struct {
	Role    transcript.Role `json:"role"`
	Message int             `json:"message,omitempty"` // number in the session, from 1; none: pleat wrote it
	Handle  string          `json:"handle,omitempty"`  // if pleat wrote it: of the messages it stands for
	Blocks  []blockJSON     `json:"blocks"`
}

type blockJSON struct {
	Kind   string `json:"kind"`
	Text   string `json:"text,omitempty"` // also a call's input, or a result's text
	Tool   string `json:"tool,omitempty"`
	CallID string `json:"call_id,omitempty"`
	Error  bool   `json:"error,omitempty"`
	Type   string `json:"type,omitempty"`   // of images and of blocks that pleat does not know
	Handle string `json:"handle,omitempty"` // if the text is a stub: of what was folded
}

type pinJSON struct {
	Text string `json:"text"`
	Kind string `json:"kind"` // "pin"
}

// anchorJSON is an exact name in what was folded.
type anchorJSON struct {
	Text  string `json:"text"`
	Count int    `json:"count"` // how often what was folded has it
	Shown bool   `json:"shown"` // the view still has it
}

// Entry is a ledger entry with the place of its call.
type Entry struct {
	ledger.Entry
	Message int        `json:"message"`        // number of the message with the call, from 1
	Time    *time.Time `json:"time,omitempty"` // of that message, if the file says
}

// Folds are folds as the JSON has them.
func Folds(folds []*fold.Fold) []Fold {
	list := []Fold{}
	for _, f := range folds {
		j := Fold{
			f.Handle, f.Lever, f.Reason, [2]int{f.Start + 1, f.End}, nil, f.Before, f.After, f.Hash, f.Bytes, f.Lines,
		}
		if f.Block >= 0 {
			j.Block = &f.Block
		}
		list = append(list, j)
	}
	return list
}

// Entries are ledger entries as the JSON has them; times are those of the messages.
func Entries(entries []ledger.Entry, times []time.Time) []Entry {
	list := []Entry{}
	for _, e := range entries {
		j := Entry{Entry: e, Message: e.Call.Message + 1}
		if at := e.Call.Message; at < len(times) && !times[at].IsZero() {
			j.Time = &times[at]
		}
		list = append(list, j)
	}
	return list
}

// Budget has the sizes of a session and of its view, and the budget, in tokens.
type Budget struct {
	Before int `json:"before"`
	After  int `json:"after"`
	Budget int `json:"budget"`
}

// Fold is a fold as the JSON has it.
type Fold struct {
	Handle   string          `json:"handle"`
	Lever    string          `json:"lever"`
	Reason   string          `json:"reason"`
	Messages [2]int          `json:"messages"`        // first and last, from 1
	Block    *int            `json:"block,omitempty"` // only this block of the message, from 0
	Before   int             `json:"tokens_before"`
	After    int             `json:"tokens_after"`
	Hash     transcript.Hash `json:"sha256"`
	Bytes    int             `json:"bytes"`
	Lines    int             `json:"lines"`
}

// PartNames are the parts of a view in the order in which they are shown.
func PartNames(p fold.Parts) []Share {
	return []Share{
		{Name: "system prompt", Tokens: p.System},
		{Name: "tools", Tokens: p.Tools},
		{Name: "user", Tokens: p.User},
		{Name: "assistant", Tokens: p.Assistant},
		{Name: "thinking", Tokens: p.Thinking},
		{Name: "tool calls", Tokens: p.Calls},
		{Name: "tool results", Tokens: p.Results},
		{Name: "other", Tokens: p.Other},
		{Name: "stubs", Tokens: p.Stubs},
		{Name: "page: user's words", Tokens: p.Pins},
		{Name: "page: ledger", Tokens: p.Ledger},
		{Name: "page: the rest", Tokens: p.Digest},
	}
}
