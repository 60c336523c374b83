package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/models"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Trial tries a provider through a proxy of its own: a model runs a few commands until their output no longer fits a
// small window, and then needs the first output again.
type Trial struct {
	provider
	Model model.Model
	key   string
	base  string // where the provider is
}

// provider is a provider, and where below the proxy's address its clients ask.
type provider struct {
	models.Provider
	proxyPath string
}

var providers = map[string]provider{
	"anthropic": {models.Providers["anthropic"], ""},
	"openai":    {models.Providers["responses"], "/v1"},
	"gemini":    {models.Providers["gemini"], ""},
}

const (
	trialWindow = 16_000 // tokens
	trialSteps  = 6      // commands, of about 2,700 tokens each
)

// trialUsage is about what a trial uses.
var trialUsage = model.Usage{Input: 80_000, Output: 5_000}

// NewTrial prepares to try a provider, with the cheapest of its models unless one is named.
func NewTrial(name, id string, getenv func(string) string) (*Trial, error) {
	p, ok := providers[name]
	if !ok {
		return nil, term.UsageError(fmt.Sprintf("--live %s: want anthropic, openai or gemini", name))
	}
	t := &Trial{
		provider: p, key: strings.TrimSpace(getenv(p.KeyName)), base: cmp.Or(getenv(p.BaseName), p.UsualBase),
	}
	if t.key == "" {
		return nil, fmt.Errorf("there is no key to try %s with [hint: set %s]", name, p.KeyName)
	}
	if t.Model, _ = model.DefaultModels().Lookup(id); id != "" {
		t.Model.ID = id
		return t, nil
	}
	var least float64
	for m := range model.DefaultModels().All() {
		usd, known := m.Cost(trialUsage)
		if known && m.Provider == p.Name && m.Retires == "" && (least == 0 || usd < least) {
			least, t.Model = usd, m
		}
	}
	return t, nil
}

// Price says what the trial costs.
func (t *Trial) Price() string {
	costs := "its price is not known"
	if usd, known := t.Model.Cost(trialUsage); known {
		costs = "about " + term.Cents(usd) + " by the price list of " + model.DefaultModels().AsOf()
	}
	if n := t.tooLong(); n > 0 {
		costs += "; and one with " + term.Thousands(n) + ", too many, which costs nothing if it is refused"
	}
	return fmt.Sprintf("About ten requests to %s, with %s tokens in and %s out: %s.", t.Model.ID,
		term.Thousands(trialUsage.Input), term.Thousands(trialUsage.Output), costs)
}

// tooLong is the size of a prompt that the provider must refuse; 0: that would be very much to send.
func (t *Trial) tooLong() int {
	if t.Model.Window > model.DefaultWindow {
		return 0
	}
	return t.Model.Window * 5 / 4
}

// Run tries the provider and reports what held.
func (t *Trial) Run(ctx context.Context) (*Report, error) {
	upstream, err := url.Parse(t.base)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.BaseName, err)
	}
	seen := &watch{RoundTripper: &http.Transport{Proxy: http.ProxyFromEnvironment}}
	h, err := proxy.NewHandler(&proxy.Options{
		Store: store.NewMemory(), Window: trialWindow, Transport: seen, Report: seen.report,
		Anthropic: upstream, OpenAI: upstream, Gemini: upstream, // it gets requests of one wire
	})
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 20 * time.Second}
	go func() { _ = server.Serve(l) }() // ends when it is shut down below
	failed := t.converse(ctx, "http://"+l.Addr().String()+t.proxyPath)
	if err := errors.Join(server.Shutdown(ctx), h.Close()); err != nil {
		return nil, err
	}
	d := &doctor{Report: Report{Format: format, Checks: []Check{}}}
	if d.judge(seen, failed); failed == nil && t.tooLong() > 0 {
		d.refused(ctx, t)
	}
	return &d.Report, nil
}

const (
	trialTask = "The tool shell has one command, step. Each time it prints the next of %d steps. Run it, once in an " +
		"answer, until you have seen step %[1]d. Then say that you are ready."
	trialQuestion = "Which value has line 13 of step 1? If you no longer see it, get it back with the tool unfold; " +
		"step prints nothing more."
	commandSchema = `{"type":"object","properties":{"command":{"type":"string"}},"required":["command"],` +
		`"additionalProperties":false}`
)

// converse lets the model run the commands and answer the question.
func (t *Trial) converse(ctx context.Context, base string) error {
	steps := 0
	shell := agent.NewTool(model.Tool{Name: "shell", Description: "Runs a command.", Schema: commandSchema},
		agent.EffectNone, nil, func(context.Context, agent.Call, struct{ Command string }) (string, error) {
			if steps++; steps > trialSteps {
				return "There are no more steps.", nil
			}
			var out strings.Builder
			for i := range 250 {
				fmt.Fprintln(&out, line(steps, i))
			}
			return fmt.Sprintf("%sstep-%d-done", out.String(), steps), nil
		})
	a, err := agent.New(ctx, &agent.Options{
		Generator: t.Client(model.ClientOptions{BaseURL: base, Key: t.key, Model: t.Model}),
		Request:   model.Request{Model: t.Model.ID, MaxTokens: 4000},
		Session:   pleat.Options{Model: t.Model},
		Tools:     []agent.Tool{shell}, NoRecall: true, Limits: agent.Limits{Turns: 2 * trialSteps},
	})
	if err != nil {
		return err
	}
	defer a.Close()
	for _, say := range []string{fmt.Sprintf(trialTask, trialSteps), trialQuestion} {
		if _, err := a.Run(ctx, say); err != nil {
			return err
		}
	}
	return nil
}

// line is a line of a command's output that nobody can guess.
func line(step, i int) string {
	return fmt.Sprintf("step %d line %d value %d", step, i, (step*7919+i*104729)%1000003)
}

// watch sees what the provider accepts, and where the line is that is asked for in the end.
type watch struct {
	http.RoundTripper
	mu                    sync.Mutex
	accepted, whole       int // whole: answered, but not as a stream
	shown, folded, recall int // with the line, later without it, then with it again
	hidden                int // rounds that the proxy answered
	usd                   float64
}

func (w *watch) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	resp, err := w.RoundTripper.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.accepted++
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		w.whole++
	}
	switch has := bytes.Contains(body, []byte(line(1, 13))); {
	case has && w.folded > 0:
		w.recall++
	case has:
		w.shown++
	case w.shown > 0:
		w.folded++
	}
	return resp, nil
}

func (w *watch) report(x proxy.Exchange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hidden += x.Hidden
	w.usd += x.USD
}

// judge says what held.
func (d *doctor) judge(w *watch, failed error) {
	held := func(what string, ok bool, found, not, do string) {
		if ok {
			d.ok(what, found)
		} else {
			d.wrong(what, not, do)
		}
	}
	answered := term.Plural(w.accepted, "request") + " answered"
	held("status", failed == nil, answered, fmt.Sprintf("%s, then: %v", answered, failed), "see what the provider says")
	if w.accepted == 0 {
		return
	}
	const other = "try it again, or with another --model; if it stays so, please report it"
	held("stream", w.whole == 0, "every answer came as a stream", "an answer came as a whole", other)
	held("tools", w.shown > 0, "the model's calls came through, and their results back", "the model called no tool", other)
	held("fold", w.folded > 0, "the provider accepted a folded conversation", "nothing was folded", other)
	held("recall", w.recall > 0 && w.hidden > 0, "a folded line came back exactly", "no folded line came back", other)
	d.note("cost", term.Cents(w.usd)+", as far as the price is known")
}

// refused sends a prompt that is too long, and says whether the refusal is understood.
func (d *doctor) refused(ctx context.Context, t *Trial) {
	c := t.Client(model.ClientOptions{BaseURL: t.base, Key: t.key, Model: t.Model, Retries: -1})
	_, err := c.Generate(ctx, &model.Request{
		Model: t.Model.ID, MaxTokens: 16,
		Messages: []transcript.Message{transcript.User(strings.Repeat(" word", t.tooLong()))},
	}, nil)
	e, ok := errors.AsType[*model.APIError](err)
	switch {
	case err == nil:
		d.wrong("refusal", "a prompt of "+term.Thousands(t.tooLong())+" tokens was accepted", "please report it")
	case ok && e.Overflow():
		d.ok("refusal", "a prompt that was too long was refused: "+e.Message)
	default:
		d.wrong("refusal", "not understood: "+err.Error(), "please report it, unless it is about your rate limit")
	}
}
