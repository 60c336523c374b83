package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/secrets"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
)

// Options set up an agent. Generator is needed; everything else has a default that works.
type Options struct {
	// Store keeps the session; nil: memory, and the session is gone with the program.
	Store store.Store
	// Key names the session. If the store has it, the agent continues it. No name: "main".
	Key store.SessionKey
	// Session sets up the session: policy, budget, model, codecs, hooks. The agent fills
	// in System, Tools, Logger and Now. An observer in it is called as well.
	Session pleat.Options

	// Generator is the model.
	Generator model.Generator
	// Request has what all requests share: model id, system prompt, temperature, session
	// hint. The agent fills in messages and tools. If MaxTokens is 0, an answer may be as
	// long as the budget's output reserve and the model allow.
	Request model.Request

	// Tools are what the model may call, in the order in which it is shown them. The
	// recall tools come after them, unless NoRecall.
	Tools    []Tool
	NoRecall bool // the model gets no recall tools

	// Limits are what a run may use; a field that is zero sets no limit.
	Limits Limits

	// Permit is asked before a tool with an effect runs; nil: such tools are refused. See
	// [Rules.Permit] and [AllowAll].
	Permit func(ctx context.Context, c Call) (Decision, error)
	// Hooks take part in tool calls.
	Hooks Hooks
	// Observe gets everything that happens, one event at a time. It must not call the
	// agent.
	Observe func(Event)
	// Redact is applied to all tool output before it is recorded or shown; nil:
	// [RedactSecrets]. [KeepSecrets] switches it off.
	Redact func(text string) string

	Logger *slog.Logger     // nil: nothing is logged
	Now    func() time.Time // nil: time.Now
}

// Limits are what a run may use. Zero means no limit. When one is reached, the run ends
// between two requests with everything recorded, and can be resumed.
type Limits struct {
	Turns  int           `json:"turns,omitempty"`  // requests
	Tokens int           `json:"tokens,omitempty"` // in and out, sub-agents included
	USD    float64       `json:"usd,omitempty"`    // sub-agents included; needs a model with prices
	Time   time.Duration `json:"time,omitempty"`   // what is under way then is cancelled
}

// Hooks take part in tool calls. They may be called from several goroutines.
type Hooks struct {
	// BeforeTool sees a call before anybody is asked for permission. It can deny it.
	BeforeTool func(ctx context.Context, c Call) (Verdict, error)
	// AfterTool sees how a call ended before that is recorded. Denying is too late then.
	AfterTool func(ctx context.Context, c Call, r CallResult) (Verdict, error)
}

// Verdict is a hook's answer. The zero value changes nothing.
type Verdict struct {
	Deny   bool     `json:"deny"`   // do not run the tool
	Reason string   `json:"reason"` // shown to the model
	Pins   []string `json:"pins"`   // texts to keep in view from now on
}

// Decision is the answer to a question for permission. The zero value refuses.
type Decision struct {
	Allow  bool   // the tool runs
	Reason string // shown to the model when it was refused
}

// AllowAll permits everything: for runs that are confined by other means.
func AllowAll(context.Context, Call) (Decision, error) { return Decision{Allow: true}, nil }

// Agent runs one conversation, one run at a time. Its other methods may be called during a run.
type Agent struct {
	o       Options
	session *pleat.Session
	tools   map[string]*Tool
	defs    []model.Tool
	inner   func(context.Context, store.SessionKey, pleat.Event) // the observer in Options.Session

	running sync.Mutex
	out     *sync.Mutex // one event at a time, sub-agents' included
	turn    atomic.Int64
	depth   int
	last    time.Time // of the newest request
	warm    fold.WarmPrefix

	spentMu sync.Mutex
	spent   Spent // in this run, sub-agents included

	files fileMemory
}

// New makes an agent and opens its session. The context is for the opening alone.
func New(ctx context.Context, o *Options) (*Agent, error) {
	a := &Agent{o: *o, out: new(sync.Mutex)}
	return a, a.open(ctx)
}

func (a *Agent) open(ctx context.Context) error {
	err := a.fill()
	if err == nil {
		s := a.o.Session
		s.System, s.Tools = a.o.Request.System, a.defs
		a.inner, s.Observe = s.Observe, a.fromSession
		a.meterDigests(&s)
		s.Logger = cmp.Or(s.Logger, a.o.Logger)
		if s.Now == nil {
			s.Now = a.o.Now
		}
		if t := a.tools[toolReadFile]; t != nil && t.current != nil && s.ReadFile == nil {
			s.ReadFile = func(ctx context.Context, name string) ([]byte, error) {
				data, err := t.current(ctx, name)
				return []byte(a.o.Redact(string(data))), err // for the model, as what tools answer
			}
		}
		a.session, err = pleat.OpenSession(ctx, a.o.Store, a.o.Key, &s)
	}
	if err != nil {
		return fmt.Errorf("make agent: %w", err)
	}
	return nil
}

func (a *Agent) fill() error {
	o := &a.o
	if o.Generator == nil {
		return errors.New("no generator: a model is needed")
	}
	if o.Limits.USD > 0 && len(o.Session.Model.Prices) == 0 {
		return errors.New("the limit in USD cannot be kept: the prices of the model are not known " +
			"(give Session.Model, or limit tokens)")
	}
	if o.Store == nil {
		o.Store = store.NewMemory()
	}
	o.Key.Session = cmp.Or(o.Key.Session, "main")
	if o.Redact == nil {
		o.Redact = RedactSecrets
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	tools := append(slices.Clone(o.Tools), snipTool(o.Session.Policy, o.Session.Child)...)
	if !o.NoRecall {
		for _, d := range recall.Tools() {
			tools = append(tools, recallTool(d))
		}
	}
	a.tools = make(map[string]*Tool, len(tools))
	for i := range tools {
		t := &tools[i]
		name := t.Definition.Name
		if t.Run == nil {
			return fmt.Errorf("tool %q has no Run", name)
		}
		if a.tools[name] != nil {
			return fmt.Errorf("two tools are called %q", name)
		}
		a.tools[name] = t
		a.defs = append(a.defs, t.Definition)
	}
	return nil
}

// Close ends what the agent has under way in the background and waits for it. It does not
// close the store.
func (a *Agent) Close() error { return a.session.Close() }

// Session is the conversation: for its meter, ledger and search, and for compacting and
// undoing between two runs.
func (a *Agent) Session() *pleat.Session { return a.session }

// RedactSecrets takes secrets of known shapes out of a text: private keys, keys and tokens
// of AWS, GitHub, GitLab, Anthropic, OpenAI, Slack, Google, Stripe, npm, PyPI, Hugging
// Face and SendGrid, JSON web tokens, authorization headers, passwords in URLs. In their
// place it puts what they were. The same text always gives the same result, and redacting
// twice is redacting once. Secrets without a shape of their own are not found.
func RedactSecrets(text string) string { return secrets.Redact(text) }

// KeepSecrets changes nothing: for [Options.Redact], to switch redaction off.
func KeepSecrets(text string) string { return text }
