package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// rounds is a request of thirty rounds, with more messages behind them. It has some 20,000 tokens.
func rounds(t *testing.T, more ...map[string]any) []byte {
	t.Helper()
	type o = map[string]any
	ms := []o{{"role": "user", "content": "Look at all of it."}}
	for i := range 30 {
		id := fmt.Sprint("c", i)
		ms = append(ms, o{"role": "assistant", "content": []o{
			{"type": "tool_use", "id": id, "name": "bash", "input": o{"command": fmt.Sprint("cat ", i)}},
		}}, o{"role": "user", "content": []o{
			{"type": "tool_result", "tool_use_id": id, "content": fmt.Sprintf("%0900d", i)},
		}})
	}
	tools := []o{{"name": "bash", "input_schema": o{"type": "object"}}}
	body, err := json.Marshal(o{
		"model": "claude-sonnet-5-5", "max_tokens": 100, "tools": tools, "messages": append(ms, more...),
	})
	must(t, err)
	return body
}

// post sends a request through a proxy in front of a model that says yes, and returns the answer and
// what it says. The model keeps what it got.
func post(t *testing.T, tr http.RoundTripper, up *atomic.Pointer[[]byte], body []byte) (*http.Response, string) {
	t.Helper()
	up.Store(nil)
	r, err := (&http.Client{Transport: tr}).Post("http://model.test/v1/messages",
		"application/json", bytes.NewReader(body))
	must(t, err)
	defer r.Body.Close()
	said, err := io.ReadAll(r.Body)
	must(t, err)
	return r, string(said)
}

// yes is a model that keeps the last request.
type yes struct{ last *atomic.Pointer[[]byte] }

func (y yes) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	y.last.Store(&body)
	return respond(r, http.StatusOK, []byte(`{"id":"m","type":"message","role":"assistant","model":"m",`+
		`"content":[{"type":"text","text":"Yes."}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":1}}`)), err
}

// failing is a lever of another program.
type failing struct{ panics bool }

func (failing) Name() string { return "failing" }

func (f failing) Pull(context.Context, *fold.Draft) error {
	if f.panics {
		panic("my bug")
	}
	return errors.New("my classifier is down")
}

// TestLeverFails: a request is folded by the levers that do not fail.
func TestLeverFails(t *testing.T) {
	for _, l := range []failing{{}, {true}} {
		p := policy.Default()
		p.AtRed = fold.Steps{l, lever.Squeeze{}}
		var last atomic.Pointer[[]byte]
		var got Exchange
		tr := transportOf(t, &Options{
			Store: store.NewMemory(), Policy: p, Window: 8_000, Transport: yes{&last},
			Report: func(e Exchange) { got = e },
		})
		if r, said := post(t, tr, &last, rounds(t)); r.StatusCode != http.StatusOK || got.Err != nil || !got.Folded {
			t.Errorf("%s: %s; %v, folded: %t", r.Status, said, got.Err, got.Folded)
		}
	}
}

// TestWrongOptions: options of a session that make no sense are the answer to the first request, though
// it fits, and not taken for a store that may be there later.
func TestWrongOptions(t *testing.T) {
	if _, err := NewTransport(&Options{Store: (*store.Memory)(nil)}); err == nil {
		t.Error("a pointer to no store is taken for one")
	}
	var last atomic.Pointer[[]byte]
	tr := transportOf(t, &Options{
		Store: store.NewMemory(), Transport: yes{&last},
		Session: func(_ store.SessionKey, o *pleat.Options) { o.Budget.Window = -4 },
	})
	r, said := post(t, tr, &last, rounds(t))
	if r.StatusCode != http.StatusInternalServerError || r.Header.Get("X-Should-Retry") != "false" ||
		!strings.Contains(said, "a window of -4 tokens") || last.Load() != nil {
		t.Errorf("%s with %v: %s", r.Status, r.Header, said)
	}
}

// TestIllegalStays: a view in force that is no longer legal does not go out, also where no other
// is found.
func TestIllegalStays(t *testing.T) {
	var strict atomic.Bool
	var last atomic.Pointer[[]byte]
	tr := transportOf(t, &Options{
		Store: store.NewMemory(), Window: 8_000, Transport: yes{&last},
		Session: func(_ store.SessionKey, o *pleat.Options) {
			o.Check = func(v transcript.View, t *transcript.Transcript) error {
				if strict.Load() && !v.IsWhole(t.Len()) {
					return fmt.Errorf("folds: %w", transcript.ErrIllegal)
				}
				return nil
			}
		},
	})
	if r, said := post(t, tr, &last, rounds(t)); r.StatusCode != http.StatusOK || len(*last.Load()) > 20_000 {
		t.Fatalf("the first request is not folded: %s %s", r.Status, said)
	}
	strict.Store(true)
	r, said := post(t, tr, &last, rounds(t, map[string]any{"role": "user", "content": "Wait."}))
	if sent := last.Load(); r.StatusCode != http.StatusInternalServerError || sent != nil {
		t.Errorf("%s %s, sent: %t", r.Status, said, sent != nil)
	}
}
