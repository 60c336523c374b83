package call_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/localserver"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/openai"
)

// llama returns the address of a real llama.cpp server: the one that PLEAT_LLAMA_SERVER
// names, or one that is started here with the weights that PLEAT_LLAMA_MODEL names and a window
// of so many tokens. Any model will do; what it says does not matter.
func llama(t *testing.T, window int) string {
	t.Helper()
	if url := os.Getenv("PLEAT_LLAMA_SERVER"); url != "" {
		return url
	}
	program, err := exec.LookPath("llama-server")
	weights := os.Getenv("PLEAT_LLAMA_MODEL")
	if err != nil || weights == "" {
		t.Skip("no real server: set PLEAT_LLAMA_SERVER to the URL of a llama.cpp server, or put llama-server on the PATH and set PLEAT_LLAMA_MODEL to a model file")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	addr := l.Addr().(*net.TCPAddr)
	l.Close()
	// The smallest models have windows in which no session has room.
	cmd := exec.Command(program, "-m", weights, "-c", fmt.Sprint(window), "--override-kv",
		fmt.Sprint("llama.context_length=int:", window),
		"--parallel", "1", "--host", "127.0.0.1", "--port", fmt.Sprint(addr.Port))
	stderr, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	listening, over := make(chan bool, 1), make(chan struct{})
	go func() {
		defer close(over)
		defer close(listening)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "listening") {
				listening <- true
				break
			}
		}
		io.Copy(io.Discard, stderr)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-over
		cmd.Wait()
	})
	select {
	case ok := <-listening:
		if !ok {
			t.Fatal("llama-server ended before it listened")
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("llama-server does not listen")
	}
	return "http://" + addr.String()
}

// story is a text that has about so many tokens with any tokenizer, and no fewer.
func story(tokens int) string {
	var sb strings.Builder
	for i := 0; sb.Len() < 6*tokens; i++ {
		fmt.Fprintf(&sb, "Once upon a time there was a little dog number %d. ", i)
	}
	return sb.String()
}

// The clients against a real llama.cpp server.
func TestLlama(t *testing.T) {
	url := llama(t, 1536)
	found, err := localserver.Discover(t.Context(), url, "", nil)
	must(t, err)
	mdl, ok := found.Find("")
	if !ok || found.Kind != localserver.LlamaCpp || mdl.Window == 0 {
		t.Fatalf("found %+v", found)
	}
	t.Logf("%s with %s, window %d", found.Kind, mdl.ID, mdl.Window)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	clients := map[string]model.Generator{
		"chat":      &openai.ChatClient{BaseURL: found.BaseURL, Model: mdl, Logger: log},
		"responses": &openai.ResponsesClient{BaseURL: found.BaseURL, Model: mdl, Logger: log},
		"anthropic": &anthropic.Client{ClientOptions: model.ClientOptions{BaseURL: url, Model: mdl, Logger: log}},
	}
	for name, client := range clients {
		t.Run(name, func(t *testing.T) {
			t.Run("streams", func(t *testing.T) { llamaStreams(t, client) })
			t.Run("caches", func(t *testing.T) { llamaCaches(t, client, mdl) })
			t.Run("refuses", func(t *testing.T) { llamaRefuses(t, client, mdl) })
		})
	}
	t.Run("one piece", func(t *testing.T) {
	})
	t.Run("reactive", func(t *testing.T) { reactive(t, clients["chat"], mdl) })
}

func llamaStreams(t *testing.T, client model.Generator) {
	var shown strings.Builder
	req := &model.Request{Messages: []transcript.Message{transcript.User("Once upon a time")}, MaxTokens: 16}
	reply, err := client.Generate(t.Context(), req, func(d model.Delta) { shown.WriteString(d.Text) })
	must(t, err)
	if textOf(reply) == "" || shown.String() != textOf(reply) {
		t.Errorf("said %q, showed %q", textOf(reply), shown.String())
	}
	if reply.Usage.Prompt() == 0 || reply.Usage.Output == 0 || reply.Usage.Output > 16 {
		t.Errorf("usage %+v", reply.Usage)
	}
}

// A prompt that goes on where the one before ended is read from the cache.
func llamaCaches(t *testing.T, client model.Generator, mdl model.Model) {
	msgs := []transcript.Message{transcript.User("A story about caches and " + story(mdl.Window/16))}
	first, err := client.Generate(t.Context(), &model.Request{Messages: msgs, MaxTokens: 8}, nil)
	must(t, err)
	msgs = append(append(msgs, first.Messages...), transcript.User("And then?"))
	second, err := client.Generate(t.Context(), &model.Request{Messages: msgs, MaxTokens: 8}, nil)
	must(t, err)
	u := second.Usage
	t.Logf("first %+v, second %+v", first.Usage, u)
	if u.CacheRead < first.Usage.Prompt()*3/4 || u.Prompt() <= first.Usage.Prompt() {
		t.Errorf("read %d of %d tokens from the cache; the prompt before had %d", u.CacheRead, u.Prompt(),
			first.Usage.Prompt())
	}
}

// Too long a prompt is refused with both numbers, and not sent twice.
func llamaRefuses(t *testing.T, client model.Generator, mdl model.Model) {
	req := &model.Request{Messages: []transcript.Message{transcript.User(story(2 * mdl.Window))}}
	_, err := client.Generate(t.Context(), req, nil)
	var api *model.APIError
	if !errors.As(err, &api) || api.Kind != model.ErrorTooLong || !api.Overflow() || api.Limit != mdl.Window ||
		api.Used <= api.Limit {
		t.Fatalf("got %v (%+v), want too long for %d tokens", err, api, mdl.Window)
	}
	t.Log(err)
}

// A deadline ends a real answer in its middle.
func TestLlamaGivenUp(t *testing.T) {
	url := llama(t, 1536)
	found, err := localserver.Discover(t.Context(), url, "", nil)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client := &openai.ChatClient{BaseURL: found.BaseURL, Model: found.Models[0]}
	reply, err := client.Generate(ctx,
		&model.Request{
			Messages:  []transcript.Message{transcript.User("Once upon a time")},
			MaxTokens: 400,
		}, func(model.Delta) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %q", err, textOf(reply))
	}
}

// A constraint is given, other work fills the window, and a real model writes the summaries and
// gives the answer that is judged. Whatever it summarizes, with the default policy it is told the
// constraint word for word; whether it then keeps to it depends on the model, and is logged.
func TestLlamaAnswersAfterCompaction(t *testing.T) {
	const rule = "Constraint: never change anything below legacy/, it is frozen until the audit is over."
	found, err := localserver.Discover(t.Context(), llama(t, 4096), "", nil)
	must(t, err)
	mdl := found.Models[0]
	client := &openai.ChatClient{BaseURL: found.BaseURL, Model: mdl}
	threshold, err := policy.ByName("threshold")
	must(t, err)
	for _, p := range []fold.Policy{policy.Default(), threshold} {
		s, err := pleat.OpenSession(t.Context(), store.NewMemory(), store.SessionKey{Session: p.Name}, &pleat.Options{
			Model: mdl, Policy: p, Digest: digest.Options{
				Generator: client, Model: mdl,
				NoBackground: true,
			}, Check: openai.ChatChecker(mdl),
		})
		must(t, err)
		msgs := []transcript.Message{
			transcript.User(rule).WithOrigin(transcript.OriginTyped),
			transcript.Assistant(transcript.Say("Noted.")),
		}
		for i := range 6 {
			msgs = append(msgs, transcript.User(fmt.Sprintf("Step %d: rename the field.",
				i)).WithOrigin(transcript.OriginTyped), transcript.Assistant(transcript.Say(story(350))))
		}
		msgs = append(msgs,
			transcript.User("Delete the unused code in legacy/utils.py.").WithOrigin(transcript.OriginTyped))
		must(t, s.Append(t.Context(), msgs...))
		view, err := s.Messages(t.Context())
		if err != nil {
			t.Logf("%s: %v", p.Name, err)
			continue
		}
		var told strings.Builder
		for _, m := range view {
			told.WriteString(m.Text())
		}
		reply, err := client.Generate(t.Context(), &model.Request{Messages: view, MaxTokens: 40}, nil)
		if err != nil {
			t.Logf("%s: %v", p.Name, err)
			continue
		}
		was := strings.Contains(told.String(), rule)
		t.Logf("%s: told the constraint %t, keeps to it %t: %q", p.Name, was, strings.Contains(textOf(reply), "frozen"),
			textOf(reply))
		if p.Name == "default" && (!was || len(view) >= len(msgs)) {
			t.Errorf("default: %d of %d messages, the constraint is told: %t", len(view), len(msgs), was)
		}
	}
}

var must = difftest.Must
