package pleat

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/digester"
	"github.com/pleat-dev/pleat/internal/table"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Options configure a session. The zero value works: the default policy, a window of
// [model.DefaultWindow] tokens, exact counting with o200k_base, no observers. Negative numbers
// are errors. A panic of a function given here reaches the program, unless the function's comment
// says otherwise.
type Options struct {
	Policy fold.Policy // zero: the policy "default"
	// Budget limits the view. Zero fields are the policy's, or else the defaults. A zero Window is the
	// policy's or the model's, whichever is smaller; a Window given here is used unchanged.
	Budget fold.Budget
	// Model is the model that sees the views; zero if unknown. If only its ID is set, and how the conversation
	// thinks, the rest comes from [model.DefaultModels], which has at least a window for every ID.
	Model model.Model

	// Wire sets Model, Codecs and Check together, where they are zero: anthropic.Messages,
	// openai.Chat and openai.Responses make one. Zero if there is no wire.
	Wire model.Wire

	// System is the system prompt, which counts and is never touched; empty if the messages
	// begin with it.
	System string
	Tools  []model.Tool // tool definitions, counted once; those of [RecallTools] among them are answered
	Child  bool         // the session of a sub-agent; some levers are for the main conversation only
	Ended  bool         // no model sees its views any more, so search calls nothing visible

	Before  string // what came before a new session: its views begin with it, after system messages
	Project string // the folder that the work is in; stored with a new session, for lists of sessions

	// Memory is about how many bytes of messages the session keeps in memory; 0 for
	// 32 MB. Older ones are read from the store when needed; an epoch reads them several times.
	Memory int

	Tokens tokens.MessageCounter                  // nil: a [tokens.Tokenizer] for the model
	Codecs map[transcript.Format]transcript.Codec // how stored messages of a wire are read back; see [transcript.Codec]

	Digest digest.Options // digests by a model; zero: by code
	Pages  fold.Writer    // writes the pages that replace folded turns; nil: pleat's own

	// Recall returns what a stub says on how to get content back. If nil, it is the call of the tool unfold of
	// [RecallTools], if Tools has that; otherwise stubs do not say.
	Recall   func(handle string) string
	NoRecall bool // stubs do not say, whatever the tools are
	// Check returns an error for views that the wire would refuse, beyond what every wire refuses; nil if
	// there is no wire. The wire packages make one for their format. It runs on the
	// view of every new epoch. If its error wraps [transcript.ErrIllegal], another view is planned.
	Check func(v transcript.View, t *transcript.Transcript) error
	// KeepFile keeps plain copies where a policy names folders, and returns the name that
	// the copy got: other sessions ask for the same names, and none may overwrite another's
	// file. Names are relative. If nil, no copies are kept, and stubs name handles instead.
	KeepFile func(name string, data []byte) (string, error)
	// ReadFile reads a file that calls of the conversation named, as it is now: files that come back after a fold
	// are then read again. It returns an error that wraps fs.ErrNotExist if there is none any more. If nil, or
	// if it fails, they come back as they were last seen.
	ReadFile func(ctx context.Context, name string) ([]byte, error)

	Hooks Hooks // zero: none
	// Observe gets every [Event], in order, with the context of the call that caused it. It must not call
	// the session, which would panic, nor wait for a goroutine that does. Nil if nobody does.
	Observe func(ctx context.Context, key store.SessionKey, e Event)
	Logger  *slog.Logger // nil: nothing is logged
	// Now is the clock for entry timestamps and model-call limits; nil for time.Now. No plan depends on it.
	Now func() time.Time

	byTools bool         // Recall follows from the tools
	past    []model.Tool // recall tools that were there before the head changed
}

// Hooks let a program take part in epochs. They are called in the middle of the session's
// work and must not call the session, which would panic.
type Hooks struct {
	// BeforeEpoch sees a copy of a plan before it is carried out. It can add pins: then the plan is
	// made again with them. It can veto the plan: an epoch that the window forces opens anyway,
	// and whoever asked for one gets an error. Pins that [Session.Pin] would refuse are an error, and
	// so is a panic.
	BeforeEpoch func(ctx context.Context, p *fold.Plan) (EpochDecision, error)
	// AfterEpoch sees what was done. A panic is logged: the epoch is open already.
	AfterEpoch func(ctx context.Context, r Report)
}

// EpochDecision is a hook's answer. The zero value lets the epoch open.
type EpochDecision struct {
	Veto bool     // do not open the epoch
	Pins []string // texts to pin first; nil: none
}

func (o *Options) check() error {
	for _, f := range []struct {
		name string
		n    int
	}{
		{"Memory", o.Memory},
		{"Model.Window", o.Model.Window},
		{"Model.MaxInput", o.Model.MaxInput},
		{"Digest.Tokens", o.Digest.Tokens},
		{"Digest.Deadline", int(o.Digest.Deadline)},
	} {
		if f.n < 0 {
			return fmt.Errorf("%s is %d: leave it zero for the default", f.name, f.n)
		}
	}
	called := make(map[string]int, len(o.Tools))
	for i, t := range o.Tools {
		if t.Name == "" && t.Raw == "" { // tools of the provider have no name
			return fmt.Errorf("tool %d of %d has no name", i+1, len(o.Tools))
		}
		called[t.Name]++
	}
	for _, t := range o.Tools {
		if called[t.Name] > 1 && recall.ToolOf(t) != "" {
			return fmt.Errorf("two tools are called %q: put a prefix before the name of the one from RecallTools",
				t.Name)
		}
	}
	if o.Policy.IsZero() {
		return nil
	}
	return o.Policy.Check(lever.All()...)
}

func (o *Options) fill() error {
	o.fillWire()
	if o.Policy.IsZero() {
		o.Policy = policy.Default()
	}
	if o.Tokens == nil {
		var t tokens.Options
		if n := o.Policy.CharsPerToken; n > 0 {
			t.Counter = tokens.CharsPerToken(n)
		}
		o.Tokens = tokens.NewTokenizer(o.Model, &t)
	}
	if o.byTools = o.byTools || o.Recall == nil || o.NoRecall; o.byTools {
		o.Recall = o.unfoldCall()
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	digester.Fill(&o.Digest, o.Policy.Asks().Breaker, o.Model)
	return o.fillBudget()
}

// setHead changes the system prompt and the tools.
func (o *Options) setHead(system string, tools []model.Tool) {
	before := o.Tools
	if o.System, o.Tools = system, tools; !o.byTools {
		return
	}
	for _, t := range before {
		if o.recallTool(t.Name) == "" && recall.ToolOf(t) != "" {
			o.past = append(slices.Clip(o.past), t)
		}
	}
	o.Recall = o.unfoldCall()
}

// recallTool returns which recall tool the session's model knows by a name; empty: none.
func (o *Options) recallTool(name string) string {
	for _, tools := range [][]model.Tool{o.Tools, o.past} {
		for _, t := range tools {
			if t.Name == name {
				return recall.ToolOf(t)
			}
		}
	}
	return ""
}

// unfoldCall is the call of the tool unfold, by the name that it has; nil: there is none.
func (o *Options) unfoldCall() func(handle string) string {
	name := o.named(recall.ToolUnfold)
	if name == "" || o.NoRecall {
		return nil
	}
	prefix := strings.TrimSuffix(name, recall.ToolUnfold)
	return func(handle string) string { return prefix + UnfoldCall(handle) }
}

// named returns the name that the model has for a recall tool; empty: it has none.
func (o *Options) named(tool string) string {
	for _, t := range o.Tools {
		if recall.ToolOf(t) == tool {
			return t.Name
		}
	}
	return ""
}

func (o *Options) fillWire() {
	if o.Model.ID == "" && o.Model.Window == 0 {
		o.Model = o.Wire.Model
	}
	o.Model = table.Complete(o.Model)
	if o.Check == nil {
		o.Check = o.Wire.Check
	}
	if o.Wire.Codec != nil && o.Codecs[o.Wire.Format] == nil {
		codecs := map[transcript.Format]transcript.Codec{o.Wire.Format: o.Wire.Codec}
		maps.Copy(codecs, o.Codecs)
		o.Codecs = codecs
	}
}

// fillBudget completes the budget from the policy and the model.
func (o *Options) fillBudget() error {
	if err := o.Budget.Check(); err != nil {
		return fmt.Errorf("budget: %w", err)
	}
	window := o.Budget.Window
	o.Budget = o.Budget.Or(o.Policy.Budget)
	if m := o.Model.Window; window == 0 && m > 0 && (o.Budget.Window == 0 || o.Budget.Window > m) {
		o.Budget.Window = m // a policy's window is no larger than the model's
	}
	if l := o.Budget.Limits(); o.Model.MaxInput > 0 && l.Max > o.Model.MaxInput {
		o.Budget.Output = fold.Tokens(l.Window - o.Model.MaxInput) // the rest of the window is for the answer alone
	}
	merged := fold.Budget{Window: o.Budget.Window, Output: o.Budget.Output} // levels from two sources may cross
	if err := merged.Check(); err != nil {
		return fmt.Errorf("budget: %w", err)
	}
	return nil
}

func (o *Options) headParts() fold.Parts {
	var p fold.Parts
	if o.System != "" {
		p.System = o.Tokens.CountText(o.System)
	}
	if t, ok := o.Tokens.(interface{ CountTools([]model.Tool) int }); ok && len(o.Tools) > 0 {
		p.Tools = t.CountTools(o.Tools)
	}
	return p
}
