package call_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/openai"
)

// The reactive path with every client, against a server that refuses as llama.cpp does.
func TestReactive(t *testing.T) {
	const window = 1536
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s *server
				answer := func(rw http.ResponseWriter, r *http.Request) {
					if used := len(s.bodies[len(s.bodies)-1]) / 4; used > window {
						status(400, fmt.Sprintf(`{"error":{"code":400,"message":"request (%d tokens) exceeds the available context size (%d tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":%[1]d,"n_ctx":%[2]d}}`, used, window))(rw, r)
						return
					}
					events(w.stream...)(rw, r)
				}
				s, hc := start(t, nil, nil)
				s.answers = list(answer, answer)
				reactive(t, w.client("http://model.test", hc, tuning{}),
					model.Model{ID: w.model, Provider: "test", Window: window})
				if got := s.tries(); got != 2 {
					t.Errorf("%d requests, want one that is refused and one that is not", got)
				}
			})
		})
	}
}

// A session that believes in a larger window than there is: the server refuses, the
// session folds harder by the server's numbers, the second try passes.
func reactive(t *testing.T, client model.Generator, mdl model.Model) {
	ctx := t.Context()
	believed := mdl
	believed.Window = 16 * mdl.Window
	s, err := pleat.OpenSession(ctx, store.NewMemory(), store.SessionKey{Session: "reactive"}, &pleat.Options{
		Model: believed, Check: openai.ChatChecker(mdl),
		Codecs: map[transcript.Format]transcript.Codec{transcript.FormatChat: openai.DecodeChatMessage},
	})
	must(t, err)
	const goal = "Tell me of a dog. Never mention the cat."
	msgs := []transcript.Message{transcript.User(goal)}
	for i := range 3 {
		msgs = append(msgs, transcript.Assistant(transcript.Say(story(mdl.Window/2))),
			transcript.User(fmt.Sprintf("Go on, part %d.", i)))
	}
	must(t, s.Append(ctx, msgs...))
	ask := func(v transcript.View) (model.Reply, error) {
		view, err := s.Resolve(t.Context(), v)
		must(t, err)
		return client.Generate(ctx, &model.Request{Model: mdl.ID, Messages: view, MaxTokens: 8}, nil)
	}
	v, err := s.View(ctx, pleat.Turn{})
	must(t, err)
	_, err = ask(v)
	var api *model.APIError
	if !errors.As(err, &api) || api.Kind != model.ErrorTooLong {
		t.Fatalf("the first view was not refused as too long: %v", err)
	}
	if v, err = s.Refused(ctx, api); err != nil {
		t.Fatal(err)
	}
	reply, err := ask(v)
	if err != nil {
		t.Fatalf("after folding: %v", err)
	}
	must(t, s.Append(ctx, reply.Messages...))
	must(t, s.Used(ctx, reply.Usage))
	view, _ := s.Resolve(t.Context(), v)
	if !strings.Contains(view[0].Text(), goal) {
		t.Errorf("the goal is not in the view: %q", view[0].Text())
	}
	t.Logf("refused with %d of %d tokens, then taken with %d", api.Used, api.Limit, reply.Usage.Prompt())
}
