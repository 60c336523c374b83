// Package models finds the model that somebody named, or one that can be asked without a
// name, and makes a client for it.
package models

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/local"
	"github.com/pleat-dev/pleat/internal/localserver"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/gemini"
	"github.com/pleat-dev/pleat/wire/openai"
)

// Client is a model with a client for it, and what a session needs to know about its wire.
type Client struct {
	Generator model.Generator
	Model     model.Model
	Name      string // for people: the model and where it is
	Check     func(transcript.View, *transcript.Transcript) error
}

// Provider is how the models of a provider are asked.
type Provider struct {
	Name              string // in the table of models
	KeyName, BaseName string // variables of the environment
	UsualBase         string // where its own server is
	Client            func(model.ClientOptions) model.Generator

	usual string // the model to use when there is only a key
	check func(model.Model) func(transcript.View, *transcript.Transcript) error
}

// Providers has each provider under the names of its wires.
var Providers = map[string]Provider{
	"anthropic": {
		"anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", anthropic.DefaultBaseURL,
		func(o model.ClientOptions) model.Generator {
			return &anthropic.Client{ClientOptions: o}
		},
		"claude-sonnet-5-5", anthropic.Checker,
	},
	"openai": {
		"openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", openai.DefaultBaseURL,
		func(o model.ClientOptions) model.Generator { return (*openai.ChatClient)(&o) },
		"gpt-6.1-terra", openai.ChatChecker,
	},
	"responses": {
		"openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", openai.DefaultBaseURL,
		func(o model.ClientOptions) model.Generator { return (*openai.ResponsesClient)(&o) },
		"gpt-6.1-terra", openai.ResponsesChecker,
	},
	"gemini": {
		"google", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", gemini.DefaultBaseURL,
		func(o model.ClientOptions) model.Generator { return (*gemini.Client)(&o) },
		"gemini-3.8-flash", gemini.Checker,
	},
}

// Help says how to name a model, for the help of commands that take one.
const Help = `Name a model by its id (claude-sonnet-5-5, gpt-6.1-terra, gemini-3.8-flash), by its id after
its wire (anthropic:ID, openai:ID, responses:ID, gemini:ID), as local:NAME for a model of a
server on this machine (Ollama, llama.cpp, vLLM, LM Studio), or by the address of any server
that speaks the OpenAI format: http://HOST:PORT/v1#NAME. Keys and other addresses come from
ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, OPENAI_API_KEY, OPENAI_BASE_URL, GEMINI_API_KEY and
GOOGLE_GEMINI_BASE_URL.`

// Open makes a client for a model by its name.
func Open(ctx context.Context, spec string, env func(string) string) (Client, error) {
	return (&finder{env: env}).open(ctx, spec)
}

// Find makes a client when no model was named: for the default model of a provider
// whose key is in the environment, else for a model that a server on this machine has
// loaded. It reports false if there is neither.
func Find(ctx context.Context, env func(string) string) (Client, bool, error) {
	return (&finder{env: env}).find(ctx)
}

// finder looks for models. Tests set its fields.
type finder struct {
	env   func(string) string
	http  *http.Client                                   // nil: http.DefaultClient
	local func(ctx context.Context) []localserver.Server // nil: the usual ports of this machine
}

func (ps *finder) get(name string) string { return strings.TrimSpace(ps.env(name)) }

func (ps *finder) servers(ctx context.Context) []localserver.Server {
	if ps.local != nil {
		return ps.local(ctx)
	}
	return localserver.Running(ctx, ps.http)
}

func (ps *finder) find(ctx context.Context) (c Client, found bool, err error) {
	base := ps.get("OPENAI_BASE_URL")
	for _, wire := range []string{"anthropic", "openai", "gemini"} {
		if key, _ := ps.key(wire); key != "" && (base == "" || wire == "anthropic") {
			c, err = ps.hosted(ctx, wire, Providers[wire].usual)
			return c, err == nil, err
		}
	}
	switch {
	case isLoopback(base):
		c, err = ps.address(ctx, base)
		return c, err == nil, err
	case base != "":
		return c, false, fmt.Errorf("OPENAI_BASE_URL names a server but no model [hint: name one, as in openai:ID]")
	}
	for _, s := range ps.servers(ctx) {
		if m, ok := s.Find(""); ok {
			return ps.chat(s.BaseURL, "", m, s.Kind), true, nil
		}
	}
	return c, false, nil
}

// key is the key for a wire, and whether it is sent as a bearer token.
func (ps *finder) key(wire string) (key string, bearer bool) {
	if key = ps.get(Providers[wire].KeyName); key == "" && wire == "anthropic" {
		return ps.get("ANTHROPIC_AUTH_TOKEN"), true
	}
	return key, false
}

func (ps *finder) open(ctx context.Context, spec string) (Client, error) {
	spec = strings.TrimSpace(spec)
	if strings.HasPrefix(spec, "http://") || strings.HasPrefix(spec, "https://") {
		return ps.address(ctx, spec)
	}
	wire, id, colon := strings.Cut(spec, ":")
	if colon && wire == "local" {
		return ps.named(ctx, id)
	}
	if _, ok := Providers[wire]; colon && ok {
		return ps.hosted(ctx, wire, id)
	}
	return ps.bare(ctx, spec) // names of local models have colons too
}

// bare finds the provider of a model that is named by its id alone.
func (ps *finder) bare(ctx context.Context, id string) (Client, error) {
	if id == "" {
		return Client{}, fmt.Errorf("no model is named [hint: %s]", namedHint)
	}
	m, known := model.DefaultModels().Lookup(id)
	switch {
	case known && m.Provider == "anthropic":
		return ps.hosted(ctx, "anthropic", id)
	case known && m.Provider == "google" && ps.get("GEMINI_API_KEY")+ps.get("GOOGLE_GEMINI_BASE_URL") != "":
		return ps.hosted(ctx, "gemini", id)
	case known && m.Provider == "openai" || ps.get("OPENAI_BASE_URL") != "":
		return ps.hosted(ctx, "openai", id)
	}
	p, err := ps.named(ctx, id)
	if err != nil {
		return p, fmt.Errorf("model %q is neither in the table nor on this machine%s [hint: %s]", id,
			term.DidYouMean("", id, Names()), namedHint)
	}
	return p, nil
}

const namedHint = "name the wire as well, as in anthropic:ID, openai:ID, gemini:ID, local:NAME or " +
	"http://HOST:PORT/v1#NAME"

// hosted makes a client for a model of a provider that is asked on this wire.
func (ps *finder) hosted(ctx context.Context, wire, id string) (Client, error) {
	p := Providers[wire]
	key, bearer := ps.key(wire)
	o := model.ClientOptions{BaseURL: ps.get(p.BaseName), Key: key, Model: tableModel(id), HTTP: ps.http}
	switch {
	case id == "":
		return Client{}, fmt.Errorf("no model is named [hint: as in %s:%s]", wire, p.usual)
	case o.BaseURL+o.Key == "":
		return Client{}, fmt.Errorf("there is no key for %s%s [hint: set %s, or name a model of this machine: local:NAME]",
			id, meant(id), p.KeyName)
	}
	_, known := model.DefaultModels().Lookup(id)
	// The server knows its windows better than the table does.
	if p.Name == "openai" && (isLoopback(o.BaseURL) || o.BaseURL != "" && !known) {
		if s, err := localserver.Discover(ctx, o.BaseURL, o.Key, ps.http); err == nil {
			if own, ok := s.Find(id); ok {
				own.Window = cmp.Or(own.Window, o.Model.Window)
				o.Model = own
			}
		}
	}
	client := p.Client(o)
	if c, ok := client.(*anthropic.Client); ok {
		c.Bearer = bearer
	}
	return Client{client, o.Model, o.Model.ID + place(o.BaseURL, p.UsualBase), p.check(o.Model)}, nil
}

// named finds a model of a server on this machine.
func (ps *finder) named(ctx context.Context, name string) (Client, error) {
	servers := ps.servers(ctx)
	var have []string
	for _, s := range servers {
		if m, ok := s.Find(name); ok {
			return ps.chat(s.BaseURL, "", m, s.Kind), nil
		}
		for _, m := range s.Models {
			have = append(have, m.ID)
		}
	}
	switch {
	case len(servers) == 0:
		return Client{}, fmt.Errorf("no model server runs on this machine [hint: start Ollama, llama.cpp, vLLM or LM " +
			"Studio, or name its address: http://127.0.0.1:PORT/v1#NAME]")
	case len(have) > 10:
		have = append(have[:10], "…")
	}
	return Client{}, fmt.Errorf("no server on this machine has the model %q [hint: there are %s]", name,
		strings.Join(have, ", "))
}

// address finds a model of the server at an address.
func (ps *finder) address(ctx context.Context, spec string) (Client, error) {
	base, name, _ := strings.Cut(spec, "#")
	if u, err := url.Parse(base); err == nil && strings.Trim(u.Path, "/") == "" { // the address has no path
		base = strings.TrimRight(base, "/") + "/v1"
	}
	key := ""
	if own := ps.get("OPENAI_BASE_URL"); own != "" && sameHost(own, base) {
		key = ps.get("OPENAI_API_KEY") // a key goes only to the server that it is for
	}
	s, err := localserver.Discover(ctx, base, key, ps.http)
	switch m, ok := s.Find(name); {
	case ok:
		return ps.chat(base, key, m, s.Kind), nil
	case name != "" && (err == nil || key != ""):
		return ps.chat(base, key, tableModel(name), s.Kind), nil // servers accept names that they do not list
	case err != nil:
		return Client{}, err
	}
	return Client{}, fmt.Errorf("the server at %s has no models [hint: load one, or name it: %s#NAME]", base, base)
}

func (ps *finder) chat(base, key string, m model.Model, kind string) Client {
	if m.Window == 0 { // the server does not say
		unknown, _ := model.DefaultModels().Lookup(m.ID)
		m.Window = unknown.Window
	}
	name := m.ID + place(base, openai.DefaultBaseURL)
	if kind != "" && kind != localserver.Other {
		name += " (" + kind + ")"
	}
	client := &openai.ChatClient{BaseURL: base, Key: key, Model: m, HTTP: ps.http}
	return Client{client, m, name, openai.ChatChecker(m)}
}

// tableModel is the table's row for a model, under the id that was asked for.
func tableModel(id string) model.Model {
	m, _ := model.DefaultModels().Lookup(id)
	m.ID = id
	return m
}

// place says where a model is, unless it is at its provider's usual address.
func place(base, usual string) string {
	u, err := url.Parse(base)
	if base == "" || base == usual || err != nil || u.Host == "" {
		return ""
	}
	return " at " + u.Host
}

func isLoopback(base string) bool {
	u, err := url.Parse(base)
	return err == nil && local.Name(u.Hostname())
}

func sameHost(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && x.Scheme == y.Scheme && x.Host == y.Host
}

// meant suggests models for a name of which the table knows only the family.
func meant(id string) string {
	if m, _ := model.DefaultModels().Lookup(id); len(m.Prices) > 0 || m.ID == id {
		return ""
	}
	return term.DidYouMean("", id, Names())
}

// Names lists the models of the table.
func Names() (names []string) {
	for m := range model.DefaultModels().All() {
		names = append(names, m.ID)
	}
	return names
}
