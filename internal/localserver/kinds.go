package localserver

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/model"
)

// llama asks a llama.cpp server for the window of one conversation: its slots share the
// context.
func (p *prober) llama(ctx context.Context, l modelList) []model.Model {
	var props struct {
		Settings struct {
			NCtx int `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	out := l.models(LlamaCpp)
	// With several models it does not say whose window it is.
	if p.ask(ctx, "/props", nil, &props) == nil && props.Settings.NCtx > 0 && len(out) == 1 {
		out[0].Window = props.Settings.NCtx
	}
	return out
}

// defaultWindow is the window that Ollama and LM Studio give a model on a small machine.
const defaultWindow = 4096

// maxShown bounds how many models are asked for one by one.
const maxShown = 64

// ollama asks an Ollama server for its models and their windows.
func (p *prober) ollama(ctx context.Context) ([]model.Model, bool) {
	type list struct {
		Models []struct {
			Name          string `json:"name"`
			ContextLength int    `json:"context_length"`
		} `json:"models"`
	}
	var tags, ps list
	if p.ask(ctx, "/api/tags", nil, &tags) != nil || tags.Models == nil {
		return nil, false
	}
	windows := make(map[string]int) // of the loaded models
	if p.ask(ctx, "/api/ps", nil, &ps) == nil {
		for _, m := range ps.Models {
			windows[m.Name] = m.ContextLength
		}
	}
	var loaded, others []model.Model
	for i, m := range tags.Models {
		window := windows[m.Name]
		if window > 0 {
			loaded = append(loaded, localModel(Ollama, m.Name, window))
			continue
		}
		if i < maxShown {
			window = p.ollamaWindow(ctx, m.Name)
		}
		others = append(others, localModel(Ollama, m.Name, window))
	}
	return append(loaded, others...), true
}

// ollamaWindow is the window that a model will have once it is loaded.
func (p *prober) ollamaWindow(ctx context.Context, name string) int {
	var show struct {
		Parameters string         `json:"parameters"`
		Info       map[string]any `json:"model_info"`
	}
	if p.ask(ctx, "/api/show", map[string]string{"model": name}, &show) != nil {
		return defaultWindow
	}
	window := defaultWindow
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

// lmStudio asks LM Studio for its own list, which says more than /v1/models.
func (p *prober) lmStudio(ctx context.Context) ([]model.Model, bool) {
	var list modelList
	if p.ask(ctx, "/api/v0/models", nil, &list) != nil || len(list.Data) == 0 {
		return nil, false
	}
	var loaded, others []model.Model
	for _, m := range list.Data {
		if m.Type == "embeddings" {
			continue
		}
		window := cmp.Or(m.LoadedContextLength, min(m.MaxContextLength, defaultWindow))
		window = min(window, cmp.Or(m.MaxContextLength, window))
		if local := localModel(LMStudio, m.ID, window); m.State == "loaded" {
			loaded = append(loaded, local)
		} else {
			others = append(others, local)
		}
	}
	return append(loaded, others...), true
}
