package openai

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/model"
)

// llama asks a llama.cpp server for the window of one conversation: the context is shared
// by those that it serves at a time.
func (p *prober) llama(ctx context.Context, l modelList) []model.Model {
	var props struct {
		Settings struct {
			NCtx int `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	known := p.ask(ctx, "/props", nil, &props) == nil && props.Settings.NCtx > 0
	out := l.models(ServerLlamaCpp)
	for i := range out {
		if known && len(out) == 1 { // of several models it does not say whose it is
			out[i].Window = props.Settings.NCtx
		}
	}
	return out
}

// defaultOllama is the context that Ollama gives a model on a small machine.
const defaultOllama = 4096

// maxShown bounds the models that are asked for one by one.
const maxShown = 64

// ollama asks an Ollama server for its models and their windows.
func (p *prober) ollama(ctx context.Context) ([]model.Model, bool) {
	var tags struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if p.ask(ctx, "/api/tags", nil, &tags) != nil {
		return nil, false
	}
	var ps struct {
		Models []struct {
			Name          string `json:"name"`
			ContextLength int    `json:"context_length"`
		} `json:"models"`
	}
	loaded := make(map[string]int)
	if p.ask(ctx, "/api/ps", nil, &ps) == nil {
		for _, m := range ps.Models {
			loaded[m.Name] = m.ContextLength
		}
	}
	var out []model.Model
	for i, m := range tags.Models {
		window := loaded[m.Name]
		if window == 0 && i < maxShown {
			window = p.ollamaWindow(ctx, m.Name)
		}
		out = append(out, localModel(ServerOllama, m.Name, window, 0))
	}
	slices.SortStableFunc(out, func(a, b model.Model) int { return order(loaded[a.ID] > 0, loaded[b.ID] > 0) })
	return out, true
}

// ollamaWindow is the window that a model which is not loaded will have.
func (p *prober) ollamaWindow(ctx context.Context, name string) int {
	var show struct {
		Parameters string         `json:"parameters"`
		Info       map[string]any `json:"model_info"`
	}
	if p.ask(ctx, "/api/show", map[string]string{"model": name}, &show) != nil {
		return defaultOllama
	}
	window := defaultOllama
	for line := range strings.Lines(show.Parameters) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
			if n, err := strconv.Atoi(f[1]); err == nil && n > 0 {
				window = n
			}
		}
	}
	for key, v := range show.Info {
		if n, ok := v.(float64); ok && strings.HasSuffix(key, ".context_length") && n >= 1 {
			window = min(window, int(min(n, 1<<30)))
		}
	}
	return window
}

// lmStudio asks LM Studio, whose own list knows more than the common one.
func (p *prober) lmStudio(ctx context.Context) ([]model.Model, bool) {
	var list struct {
		Data []struct {
			ID     string `json:"id"`
			Type   string `json:"type"`
			State  string `json:"state"`
			Loaded int    `json:"loaded_context_length"`
			Max    int    `json:"max_context_length"`
		} `json:"data"`
	}
	if p.ask(ctx, "/api/v0/models", nil, &list) != nil || len(list.Data) == 0 {
		return nil, false
	}
	var out []model.Model
	loaded := make(map[string]bool)
	for _, m := range list.Data {
		if m.Type == "embeddings" {
			continue
		}
		loaded[m.ID] = m.State == "loaded"
		window := m.Loaded
		if window == 0 {
			window = min(m.Max, defaultOllama) // what it loads a model with unless it is told otherwise
		}
		out = append(out, localModel(ServerLMStudio, m.ID, window, m.Max))
	}
	slices.SortStableFunc(out, func(a, b model.Model) int { return order(loaded[a.ID], loaded[b.ID]) })
	return out, true
}

// order puts what is loaded first.
func order(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}
