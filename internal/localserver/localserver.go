// Package localserver finds the model servers that run on this machine and asks them, or
// one at a given address, which models they serve and how large the context windows really
// are. It knows Ollama, llama.cpp, vLLM and LM Studio; all of them speak Chat Completions,
// so [openai.ChatClient] can talk to what it finds.
//
// [openai.ChatClient]: https://pkg.go.dev/github.com/pleat-dev/pleat/wire/openai#ChatClient
package localserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/model"
)

// The kinds of server that [Discover] can tell apart.
const (
	Ollama   = "ollama"
	LlamaCpp = "llama.cpp"
	VLLM     = "vllm"
	LMStudio = "lmstudio"
	Other    = "openai-compatible"
)

// Server is a model server that speaks Chat Completions.
type Server struct {
	BaseURL string // what a client takes as its base URL
	Kind    string // one of the constants
	// Models are the models that it serves, loaded ones first. Window is what the server
	// gives a conversation, which is often less than the model was made for; 0 means that
	// the server does not say.
	Models []model.Model
}

// Find returns the server's model of that name; an empty name means the first one. A name
// without a tag also means the tag "latest", as it does for Ollama.
func (s Server) Find(name string) (model.Model, bool) {
	for _, m := range s.Models {
		if name == "" || m.ID == name || m.ID == name+":latest" || slices.Contains(m.Aliases, name) {
			return m, true
		}
	}
	return model.Model{}, false
}

// ports are the default ports of Ollama, llama.cpp, vLLM and LM Studio.
var ports = [...]int{11434, 8080, 8000, 1234}

// timeout bounds one question. A server on this machine answers at once or not at all.
const timeout = 2 * time.Second

// Running asks the default ports of Ollama, llama.cpp, vLLM and LM Studio on this machine
// (11434, 8080, 8000, 1234) and returns the servers that have a model, in that order. It
// takes seconds at most. A nil client means http.DefaultClient.
func Running(ctx context.Context, hc *http.Client) []Server {
	var found [len(ports)]Server
	var wg sync.WaitGroup
	for i, port := range ports {
		wg.Go(func() { found[i], _ = Discover(ctx, fmt.Sprintf("http://127.0.0.1:%d", port), "", hc) })
	}
	wg.Wait()
	return slices.DeleteFunc(found[:], func(s Server) bool { return len(s.Models) == 0 })
}

// Discover asks a server what it is, which models it serves and how large their windows
// really are. The address may be the server's root or its /v1. A nil client means
// http.DefaultClient. The key, if there is
// one, is for that server.
//
// Ollama reports a model's window only while the model is loaded. For the others it is the
// num_ctx of the model file, else 4,096, Ollama's default on small machines. Ollama drops
// the oldest messages of a longer conversation without saying so.
func Discover(ctx context.Context, address, key string, hc *http.Client) (Server, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return Server{}, errors.New( // which may have a password
			"discover models: what is given is no address [hint: it looks like http://127.0.0.1:8080]")
	}
	root := strings.TrimSuffix(strings.TrimRight(address, "/"), "/v1")
	p := prober{root: root, key: key, http: *cmp.Or(hc, http.DefaultClient)}
	p.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	var list modelList
	if err := p.ask(ctx, "/v1/models", nil, &list); err != nil {
		return Server{}, fmt.Errorf("discover models at %s: %w", u.Host, err)
	}
	s := Server{BaseURL: root + "/v1", Kind: Other}
	told := func(m listed) bool { return m.MaxModelLen > 0 }
	switch {
	case slices.ContainsFunc(list.Data, told): // and what it answers to the questions below is no matter
		if list.ownedBy("vllm") {
			s.Kind = VLLM
		}
		s.Models = list.models(s.Kind)
	case list.ownedBy("llamacpp") || p.llamaCpp:
		s.Kind, s.Models = LlamaCpp, p.llama(ctx, list)
	case list.ownedBy("vllm"):
		s.Kind, s.Models = VLLM, list.models(VLLM)
	default:
		if models, ok := p.ollama(ctx); ok {
			s.Kind, s.Models = Ollama, models
		} else if models, ok := p.lmStudio(ctx); ok {
			s.Kind, s.Models = LMStudio, models
		} else {
			s.Models = list.models(Other)
		}
	}
	return s, nil
}

// localModel describes a model of which only the window is known. It has no price, and
// local servers take parameters that others refuse.
func localModel(kind, id string, window int) model.Model {
	m, _ := model.DefaultModels().Lookup(model.UnknownModel)
	m.ID, m.Provider, m.Aliases = id, kind, nil
	m.Window, m.MaxOutput = window, 0
	m.Refuses.Temperature, m.Refuses.Prefill = false, false
	return m
}

type prober struct {
	root     string
	key      string // empty: none
	http     http.Client
	llamaCpp bool // the Server header of an answer said so
}

// maxAnswer bounds how many bytes of an answer are read.
const maxAnswer = 8 << 20

// ask sends a question, a POST if it has a body, and decodes the answer.
func (p *prober) ask(ctx context.Context, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	method, question := http.MethodGet, io.Reader(http.NoBody)
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		method, question = http.MethodPost, bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, p.root+path, question)
	if err != nil {
		return err
	}
	if p.key != "" {
		req.Header.Set("Authorization", "Bearer "+p.key)
	}
	resp, err := p.http.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return err
	}
	defer resp.Body.Close()
	p.llamaCpp = p.llamaCpp || resp.Header.Get("Server") == "llama.cpp"
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return model.ClassifyError(resp.StatusCode, "", data)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s is no server of models: %w", path, err)
	}
	return nil
}

// modelList is the answer of /v1/models, with what the various servers add to it.
type modelList struct {
	Data []listed `json:"data"`
}

// listed is a model in it.
type listed struct {
	ID      string   `json:"id"`
	OwnedBy string   `json:"owned_by"`
	Aliases []string `json:"aliases"`

	MaxModelLen      int `json:"max_model_len"`         // vLLM, SGLang
	ContextLength    int `json:"context_length"`        // OpenRouter
	MaxOutput        int `json:"max_completion_tokens"` // Groq
	ContextWindow    int `json:"context_window"`        // Groq
	MaxContextLength int `json:"max_context_length"`    // Mistral, LM Studio

	LoadedContextLength int    `json:"loaded_context_length"` // LM Studio
	Type                string `json:"type"`
	State               string `json:"state"`

	Top struct {
		MaxOutput int `json:"max_completion_tokens"`
	} `json:"top_provider"` // OpenRouter
	Meta struct {
		NCtx      int `json:"n_ctx"`
		NCtxTrain int `json:"n_ctx_train"`
	} `json:"meta"` // llama.cpp
}

func (l modelList) ownedBy(owner string) bool {
	return slices.ContainsFunc(l.Data, func(m listed) bool { return m.OwnedBy == owner })
}

func (l modelList) models(kind string) []model.Model {
	var out []model.Model
	for _, m := range l.Data {
		window := cmp.Or(m.MaxModelLen, m.ContextLength, m.ContextWindow, m.MaxContextLength,
			m.Meta.NCtx, m.Meta.NCtxTrain)
		model := localModel(kind, m.ID, window)
		model.Aliases, model.MaxOutput = m.Aliases, min(cmp.Or(m.MaxOutput, m.Top.MaxOutput), cmp.Or(window, 1<<30))
		out = append(out, model)
	}
	return out
}
