package openai

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
	ServerOllama   = "ollama"
	ServerLlamaCpp = "llama.cpp"
	ServerVLLM     = "vllm"
	ServerLMStudio = "lmstudio"
	ServerOther    = "openai-compatible"
)

// Server is a server of models that speaks the Chat Completions format, usually on this
// machine.
type Server struct {
	BaseURL string // for [ChatClient]
	Kind    string // one of the constants
	// Models are the models that it serves, those that are loaded first. Window is what
	// the server really has for a conversation, which is often less than what the model
	// was made for; 0: it does not tell.
	Models []model.Model
}

// Find returns the server's model of that name; an empty name means its first. A name
// without its tag means the tag "latest", as it does for Ollama.
func (s Server) Find(name string) (model.Model, bool) {
	for _, m := range s.Models {
		if name == "" || m.ID == name || m.ID == name+":latest" || slices.Contains(m.Aliases, name) {
			return m, true
		}
	}
	return model.Model{}, false
}

// localPorts are where the usual servers listen unless they are told otherwise: Ollama,
// llama.cpp, vLLM and LM Studio.
var localPorts = [...]int{11434, 8080, 8000, 1234}

// probeTimeout bounds one question to a server on this machine, which answers at once or
// not at all.
const probeTimeout = 2 * time.Second

// Local asks the ports of this machine where Ollama, llama.cpp, vLLM and LM Studio usually
// listen (11434, 8080, 8000, 1234) and returns the servers that have a model, in that
// order. It takes seconds at most. A nil client is http.DefaultClient.
func Local(ctx context.Context, hc *http.Client) []Server {
	found := make([]*Server, len(localPorts))
	var wg sync.WaitGroup
	for i, port := range localPorts {
		wg.Go(func() {
			s, err := Discover(ctx, fmt.Sprintf("http://127.0.0.1:%d", port), hc)
			if err == nil && len(s.Models) > 0 {
				found[i] = &s
			}
		})
	}
	wg.Wait()
	var out []Server
	for _, s := range found {
		if s != nil {
			out = append(out, *s)
		}
	}
	return out
}

// Discover asks a server what it is, which models it serves and how large their windows
// really are. The address may be the server's root or its /v1. A nil client is
// http.DefaultClient. No key is sent.
//
// Ollama tells the window of a model only while it is loaded; of the others it is what
// the model file sets, else 4,096, which is what Ollama gives on small machines: it drops
// the oldest messages without a word where there are more.
func Discover(ctx context.Context, address string, hc *http.Client) (Server, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return Server{}, fmt.Errorf("discover models: %q is no address [hint: it looks like http://127.0.0.1:8080]", address)
	}
	root := strings.TrimSuffix(strings.TrimRight(address, "/"), "/v1")
	p := prober{root: root, http: plain(hc)}
	s := Server{BaseURL: root + "/v1"}
	listed, err := p.list(ctx)
	if err != nil {
		return Server{}, fmt.Errorf("discover models at %s: %w", u.Host, err)
	}
	switch {
	case listed.any("llamacpp") || p.llamaCpp:
		s.Kind, s.Models = ServerLlamaCpp, p.llama(ctx, listed)
	case listed.any("vllm"):
		s.Kind, s.Models = ServerVLLM, listed.models(ServerVLLM)
	default:
		if models, ok := p.ollama(ctx); ok {
			s.Kind, s.Models = ServerOllama, models
		} else if models, ok := p.lmStudio(ctx); ok {
			s.Kind, s.Models = ServerLMStudio, models
		} else {
			s.Kind, s.Models = ServerOther, listed.models(ServerOther)
		}
	}
	return s, nil
}

// plain is a client that follows no redirects: what this is about is the server named.
func plain(hc *http.Client) *http.Client {
	if hc == nil {
		hc = http.DefaultClient
	}
	own := *hc
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// localModel is what is known of a model of one's own: its window. It costs nothing that
// the table could know, and local servers take what others refuse.
func localModel(kind, id string, window, limit int) model.Model {
	m, _ := model.DefaultModels().Lookup(model.UnknownModel)
	m.ID, m.Provider, m.Aliases = id, kind, nil
	m.Window, m.MaxOutput = window, 0
	if limit > 0 && (window == 0 || window > limit) {
		m.Window = limit
	}
	m.Refuses.Temperature, m.Refuses.ForcedToolChoice, m.Refuses.Prefill = false, false, false
	return m
}

// prober asks one server.
type prober struct {
	root     string
	http     *http.Client
	llamaCpp bool // its answers say so
}

// maxProbe bounds what is read of an answer.
const maxProbe = 8 << 20

// ask sends a question, a POST if it has a body, and decodes the answer.
func (p *prober) ask(ctx context.Context, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
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
	resp, err := p.http.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return err
	}
	defer resp.Body.Close()
	p.llamaCpp = p.llamaCpp || resp.Header.Get("Server") == "llama.cpp"
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxProbe))
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

// modelList is the answer of /v1/models with what the servers add to it.
type modelList struct {
	Data []struct {
		ID      string   `json:"id"`
		OwnedBy string   `json:"owned_by"`
		Aliases []string `json:"aliases"`

		MaxModelLen      int `json:"max_model_len"`      // vLLM, SGLang
		ContextLength    int `json:"context_length"`     // OpenRouter
		ContextWindow    int `json:"context_window"`     // Groq
		MaxContextLength int `json:"max_context_length"` // Mistral, LM Studio
		Meta             struct {
			NCtx      int `json:"n_ctx"`
			NCtxTrain int `json:"n_ctx_train"`
		} `json:"meta"` // llama.cpp
	} `json:"data"`
}

func (p *prober) list(ctx context.Context) (modelList, error) {
	var l modelList
	err := p.ask(ctx, "/v1/models", nil, &l)
	return l, err
}

// any reports whether a model is owned by that kind of server.
func (l modelList) any(owner string) bool {
	for _, m := range l.Data {
		if m.OwnedBy == owner {
			return true
		}
	}
	return false
}

func (l modelList) models(kind string) []model.Model {
	var out []model.Model
	for _, m := range l.Data {
		window := cmp.Or(m.MaxModelLen, m.ContextLength, m.ContextWindow, m.MaxContextLength, m.Meta.NCtx, m.Meta.NCtxTrain)
		model := localModel(kind, m.ID, window, 0)
		model.Aliases = m.Aliases
		out = append(out, model)
	}
	return out
}
