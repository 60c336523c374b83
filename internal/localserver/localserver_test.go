package localserver_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/localserver"
)

// routes serves fixed answers; a path may have the request's body behind it.
func routes(server string, answers map[string]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer, ok := answers[r.URL.Path+string(body)]
		if server != "" {
			w.Header().Set("Server", server)
		}
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"error":"not found"}`)
			return
		}
		io.WriteString(w, answer)
	})
}

func TestDiscover(t *testing.T) {
	type model struct {
		ID     string
		Window int
	}
	for _, tt := range []struct {
		name    string
		server  string
		answers map[string]string
		kind    string
		want    []model
	}{
		{
			name: "llama.cpp", server: "llama.cpp", kind: localserver.LlamaCpp, want: []model{{"a.gguf", 2048}},
			answers: map[string]string{
				"/v1/models": `{"object":"list","data":[{"id":"a.gguf","owned_by":"llamacpp","meta":{"n_ctx":8192,"n_ctx_train":32768}}]}`,
				"/props":     `{"default_generation_settings":{"n_ctx":2048},"total_slots":4}`,
			},
		},
		{
			name: "llama.cpp with several models", kind: localserver.LlamaCpp, want: []model{{"a", 8192}, {"b", 32768}},
			answers: map[string]string{
				"/v1/models": `{"data":[{"id":"a","owned_by":"llamacpp","meta":{"n_ctx":8192,"n_ctx_train":32768}},{"id":"b","owned_by":"llamacpp","meta":{"n_ctx_train":32768}}]}`,
				"/props":     `{"default_generation_settings":{"n_ctx":2048}}`,
			},
		},
		{
			name: "vllm", kind: localserver.VLLM, want: []model{{"qwen", 40960}},
			answers: map[string]string{
				"/v1/models": `{"data":[{"id":"qwen","owned_by":"vllm","max_model_len":40960}]}`,
			},
		},
		{
			name: "sglang behind a gateway that answers everything", kind: localserver.Other, want: []model{{"qwen", 40960}},
			server: "llama.cpp",
			answers: map[string]string{
				"/v1/models":     `{"data":[{"id":"qwen","owned_by":"sglang","max_model_len":40960}]}`,
				"/props":         `{"default_generation_settings":{"n_ctx":5}}`,
				"/api/tags":      `{"models":[{"name":"qwen"}]}`,
				"/api/v0/models": `{"data":[{"id":"qwen"}]}`,
			},
		},
		{
			name: "no ollama", kind: localserver.Other, want: []model{{"a", 7}},
			answers: map[string]string{"/v1/models": `{"data":[{"id":"a","context_length":7}]}`, "/api/tags": `{"ok":true}`},
		},
		{
			name: "ollama", kind: localserver.Ollama,
			want: []model{
				{"loaded:1b", 16384}, {"set:1b", 8192}, {"plain:1b", 4096}, {"small:1b", 2048}, {"silent:1b", 4096},
			},
			answers: map[string]string{
				"/v1/models":                    `{"data":[{"id":"set:1b","owned_by":"library"}]}`,
				"/api/tags":                     `{"models":[{"name":"set:1b"},{"name":"plain:1b"},{"name":"small:1b"},{"name":"silent:1b"},{"name":"loaded:1b"}]}`,
				"/api/ps":                       `{"models":[{"name":"loaded:1b","context_length":16384}]}`,
				`/api/show{"model":"set:1b"}`:   `{"parameters":"stop \"x\"\nnum_ctx                        8192\n","model_info":{"llama.context_length":131072}}`,
				`/api/show{"model":"plain:1b"}`: `{"model_info":{"llama.context_length":131072}}`,
				`/api/show{"model":"small:1b"}`: `{"parameters":"num_ctx 4096","model_info":{"llama.context_length":2048}}`,
			},
		},
		{
			name: "lm studio", kind: localserver.LMStudio,
			want: []model{{"loaded", 8000}, {"idle", 4096}, {"tiny", 512}},
			answers: map[string]string{
				"/v1/models":     `{"data":[{"id":"idle","owned_by":"organization_owner"}]}`,
				"/api/v0/models": `{"data":[{"id":"idle","type":"llm","state":"not-loaded","max_context_length":131072},{"id":"e","type":"embeddings"},{"id":"tiny","type":"vlm","max_context_length":512},{"id":"loaded","type":"llm","state":"loaded","loaded_context_length":8000,"max_context_length":131072}]}`,
			},
		},
		{
			name: "others", kind: localserver.Other, want: []model{{"a", 1}, {"b", 2}, {"c", 3}, {"d", 0}},
			answers: map[string]string{"/v1/models": `{"data":[{"id":"a","context_length":1},{"id":"b","context_window":2},{"id":"c","max_context_length":3},{"id":"d"}]}`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewServer(routes(tt.server, tt.answers))
			defer s.Close()
			for _, address := range []string{s.URL, s.URL + "/", s.URL + "/v1", s.URL + "/v1/"} {
				found, err := localserver.Discover(t.Context(), address, "", nil)
				if err != nil || found.Kind != tt.kind || found.BaseURL != s.URL+"/v1" {
					t.Fatalf("%s: %+v, %v", address, found, err)
				}
				var got []model
				for _, m := range found.Models {
					got = append(got, model{m.ID, m.Window})
					if m.Refuses.Temperature || m.Tokenizer.Encoding == "" {
						t.Errorf("rules of %s: %+v", m.ID, m)
					}
				}
				difftest.Equal(t, tt.want, got)
			}
		})
	}
}

func TestDiscoverFails(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request,
	) {
		io.WriteString(w, "<html>")
	}))
	defer page.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	moved := httptest.NewServer(http.RedirectHandler(page.URL, http.StatusFound))
	defer moved.Close()
	for address, want := range map[string]string{
		page.URL:           "is no server of models",
		gone.URL:           "refused",
		"localhost:1":      "is no address",
		"":                 "is no address",
		"http://u:hunter2": "is no address",
		moved.URL:          "302",
	} {
		if _, err := localserver.Discover(t.Context(), address, "", nil); err == nil ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: got %v, want %q", address, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := localserver.Discover(ctx, page.URL, "", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}

// mute is a server that takes connections and says nothing.
type mute struct{}

func (mute) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// Whatever else listens on these ports may not hold anybody up.
func TestLocalSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := time.Now()
		if got := localserver.Running(t.Context(), &http.Client{Transport: mute{}}); len(got) != 0 ||
			time.Since(before) != 2*time.Second {
			t.Errorf("found %v after %s", got, time.Since(before))
		}
	})
}

// handled answers by port without a network.
type handled map[string]http.Handler

func (h handled) RoundTrip(r *http.Request) (*http.Response, error) {
	handler, ok := h[r.URL.Port()]
	if !ok || r.URL.Hostname() != "127.0.0.1" {
		return nil, errors.New("connection refused")
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Result(), nil
}

func TestLocal(t *testing.T) {
	hc := &http.Client{Transport: handled{
		"8000": routes("",
			map[string]string{"/v1/models": `{"data":[{"id":"v","owned_by":"vllm","max_model_len":100}]}`}),
		"11434": routes("",
			map[string]string{"/v1/models": `{"data":[]}`, "/api/tags": `{"models":[{"name":"o:latest"}]}`}),
		"8080": routes("", map[string]string{"/v1/models": `{"data":[]}`}), // serves nothing
		"1234": http.NotFoundHandler(),
	}}
	var got []string
	for _, s := range localserver.Running(t.Context(), hc) {
		m, _ := s.Find("")
		got = append(got, s.Kind+" "+s.BaseURL+" "+m.ID)
	}
	want := []string{"ollama http://127.0.0.1:11434/v1 o:latest", "vllm http://127.0.0.1:8000/v1 v"}
	difftest.Equal(t, want, got)
	if got := localserver.Running(t.Context(), &http.Client{Transport: handled{}}); len(got) != 0 {
		t.Errorf("found %v where nothing is", got)
	}
}

// TestMaxOutput: what a server says of the length of answers is taken, and its key gets it.
func TestMaxOutput(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, `{"data":[
			{"id":"router","context_length":90000,"top_provider":{"max_completion_tokens":30000}},
			{"id":"whole","context_length":9000,"top_provider":{"max_completion_tokens":64000}},
			{"id":"groq","context_window":131072,"max_completion_tokens":32768},
			{"id":"silent","context_length":90000,"top_provider":{"max_completion_tokens":null}}]}`)
	}))
	defer s.Close()
	found, err := localserver.Discover(t.Context(), s.URL, "secret", nil)
	difftest.Must(t, err)
	got := make(map[string]int)
	for _, m := range found.Models {
		got[m.ID] = m.MaxOutput
	}
	difftest.Equal(t, map[string]int{"router": 30_000, "whole": 9_000, "groq": 32_768, "silent": 0}, got)
	if _, err := localserver.Discover(t.Context(), s.URL, "", nil); err == nil {
		t.Error("without the key it is found")
	}
}
