package adversary

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
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

// RoundTrip judges a request and answers it.
func (l *library) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	v := &view{body: parse(body), head: r.Header, setup: l.setup, said: l.memory, size: len(body)}
	for _, raw := range v.body.list(l.wire.array) {
		e, err := l.parsed(raw)
		if err != nil {
			return nil, err
		}
		v.elements = append(v.elements, e)
	}
	named(v.elements)
	l.judge(v, string(body))
	text := string(l.wire.reply(l.answer(v, body), usage{len(body) / 4, 20}, true))
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(text)),
	}, nil
}

func (l *library) judge(v *view, body string) {
	l.asked++
	bad := l.wire.check(v)
	if len(body)/4 > libraryWindow {
		bad = append(bad, fmt.Sprintf("%d tokens", len(body)/4))
	}
	if l.setup.think == "enabled" && turnOf(v) != thinking {
		bad = append(bad, "the open turn does not begin with thinking")
	}
	for _, e := range v.elements {
		if p := e.parts[len(e.parts)-1]; l.wire == chatWire && p.kind == call && !e.has(thinking) && l.memory.call[p.id] != "" {
			bad = append(bad, "the reasoning before call "+p.id+" is gone")
		}
	}
	folded := strings.Contains(body, "[folded: ") || strings.Contains(body, "[pleat: ")
	switch offered := strings.Contains(string(v.body["tools"]), `"unfold"`) && handles.MatchString(body); {
	case folded && !offered:
		bad = append(bad, "a fold without recall")
	case folded:
		l.folded++
	case l.folded > 0:
		bad = append(bad, "no folds any more")
	}
	for _, b := range bad {
		l.Errorf("request %d: %s\n%s", l.asked, b, outline(v.elements))
	}
}

// turnOf returns what the turn begins with whose results are newest; thinking if none are.
func turnOf(v *view) (kind string) {
	kind = thinking
	for _, e := range slices.Backward(v.elements) {
		switch {
		case e.answers():
			kind = e.parts[0].kind
		case !e.has(result):
			return kind
		}
	}
	return kind
}

// answer reads files, recalls now and then, and says at the end of a task that it is done.
func (l *library) answer(v *view, body []byte) (parts []part) {
	n := l.asked
	begins := !v.elements[len(v.elements)-1].has(result)
	if l.kind == "each" || l.kind == "first" && begins {
		p := part{kind: thinking, text: "Let me see. " + l.words(20), sig: l.id("sig"), item: l.id("rs")}
		switch l.wire {
		case responsesWire:
			p.text = ""
		case geminiWire:
			p.sig = ""
		}
		was := thought{raw: p.text}
		if l.setup.binds {
			h := whole(v)
			was.before, was.others = h.sum(), h.thoughts
		}
		l.memory.thinking[p.sig] = was
		parts = append(parts, p)
	}
	if done := n%libraryTask == 0; done || n%3 == 0 {
		parts = append(parts, part{kind: text, text: l.tag() + l.words(20), item: l.id("msg")})
		if done {
			l.remember(parts)
			return parts
		}
	}
	for i := range 1 + n%2 {
		p := part{kind: call, id: l.id("call"), name: "read_file", item: l.id("fc")}
		p.args = fmt.Sprintf(`{"path":"src/part%d.go","n":%q}`, n+i, p.id)
		if found := handles.FindAllSubmatch(body, -1); n%10 == 0 && len(found) > 0 {
			p.name, p.args = "unfold", fmt.Sprintf(`{"handle":%q,"n":%q}`, found[n%len(found)][1], p.id)
		}
		parts = append(parts, p)
	}
	l.remember(parts)
	return parts
}
