package adversary

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/gemini"
	"github.com/pleat-dev/pleat/wire/openai"
)

// library is a program with the loop of docs/start.md over pleat's own client, and the provider at its other end.
type library struct {
	*testing.T
	*client        // what the provider remembers of its answers
	kind    string // how the model thinks: "" (it does not), "first" answer of a turn, or "each"
	asked   int    // requests
	folded  int    // those that showed folds
}

const (
	libraryTurns  = 200 // requests of a program
	libraryWindow = 16_000
	libraryTask   = 50 // answers until the user says something again
)

// TestLibraryLoop: no request of that loop is refused, and all that follow the first fold offer recall.
func TestLibraryLoop(t *testing.T) {
	for _, on := range []struct {
		wire *wire
		of   func(model.Model) model.Wire
		by   func(model.ClientOptions) model.Generator
		rows []setup // as the model thinks: not at all, first in a turn, in each answer, bound to what was before
	}{
		{
			messagesWire, anthropic.Messages,
			func(o model.ClientOptions) model.Generator { return &anthropic.Client{ClientOptions: o} },
			[]setup{
				{model: "claude-sonnet-4-5"},
				{model: "claude-sonnet-4-5", think: "enabled"},
				{model: "claude-opus-4-8", think: "adaptive"},
				{model: "claude-opus-5-5", think: "adaptive", binds: true},
				{model: "claude-sonnet-5-5", think: "between_tools", binds: true},
			},
		},
		{
			chatWire, openai.Chat,
			func(o model.ClientOptions) model.Generator { return (*openai.ChatClient)(&o) },
			[]setup{{model: "gpt-5.5"}, {model: "kimi-k3.1-pro"}, {model: "deepseek-v4-pro"}, {model: "a-local-model"}},
		},
		{
			responsesWire, openai.Responses,
			func(o model.ClientOptions) model.Generator { return (*openai.ResponsesClient)(&o) },
			[]setup{{model: "gpt-4.1"}, {model: "gpt-5.5"}, {model: "gpt-6.1-sol"}, {model: "a-local-model"}},
		},
		{
			geminiWire, gemini.GenerateContent,
			func(o model.ClientOptions) model.Generator { return (*gemini.Client)(&o) },
			[]setup{
				{model: "gemini-2.5-flash"},
				{model: "gemini-2.5-flash"},
				{model: "gemini-3.8-flash"},
				{model: "gemini-3.1-pro-preview"},
			},
		},
	} {
		for i, s := range on.rows {
			kind := []string{"", "first", "each", "each", "each"}[i]
			t.Run(on.wire.name+"/"+s.model+"/"+kind, func(t *testing.T) {
				t.Parallel()
				s.system, s.stream = on.wire != messagesWire || s.model == "claude-opus-4-8" || s.binds, true
				l := &library{T: t, kind: kind, client: &client{
					w: &world{Rand: rand.New(rand.NewPCG(1, 2))}, wire: on.wire, setup: &s, name: "k", said: map[string]bool{}, known: map[string]element{},
					memory: &memory{
						map[string]thought{},
						map[string]string{},
						map[string]string{},
						map[string]string{},
						map[string]string{},
						map[string]bool{},
					},
				}}
				m := model.Model{ID: s.model}
				m.Thinking.Silent = s.think == "between_tools"
				m.Thinking.Drops = s.binds && !m.Thinking.Silent
				o := model.ClientOptions{Key: "k", Model: m, HTTP: &http.Client{Transport: l}, Retries: -1}
				if s.think != "" {
					o.Extra = fmt.Appendf(nil, `{"thinking":{"type":%q}}`, s.think)
				}
				l.loop(&pleat.Options{
					Wire: on.of(m), Budget: pleat.Budget{Window: libraryWindow}, System: "You work.",
					Tools: append(pleat.RecallTools(), pleat.Tool{Name: "read_file", Schema: `{"type":"object"}`}),
				}, on.by(o))
				if l.asked < libraryTurns || l.folded < libraryTurns/2 {
					t.Errorf("%d requests, %d with folds", l.asked, l.folded)
				}
			})
		}
	}
}

// loop is the one of docs/start.md, with a user who goes on when the model is done.
func (l *library) loop(options *pleat.Options, by model.Generator) {
	ctx := l.Context()
	s, err := pleat.OpenSession(ctx, store.NewMemory(), pleat.Key{Session: "work"}, options)
	if err != nil {
		l.Fatal(err)
	}
	defer s.Close()
	history := []pleat.Message{pleat.User("Find the bug. Never touch legacy/.")}
	for l.asked < libraryTurns && !l.Failed() {
		if _, err := s.Sync(ctx, history); err != nil {
			l.Fatal(err)
		}
		msgs, err := s.Messages(ctx)
		if err != nil {
			l.Fatal(err)
		}
		reply, err := by.Generate(ctx, &model.Request{System: options.System, Tools: options.Tools, Messages: msgs}, nil)
		if err == nil {
			err = s.Used(ctx, reply.Usage)
		}
		if err != nil {
			l.Fatal(err)
		}
		history = append(history, reply.Messages...)
		var results []pleat.ToolResult
		for _, m := range reply.Messages {
			for _, call := range m.Calls() {
				result, recalled := s.Answer(ctx, call)
				if !recalled {
					result = pleat.Result(call.ID, strings.Repeat(l.words(12)+"\n", 20))
				}
				results = append(results, result)
			}
		}
		if len(results) == 0 {
			history = append(history, pleat.User(l.tag()+"Now the next one, and "+l.words(8)))
			continue
		}
		history = append(history, pleat.Results(results...))
	}
}
