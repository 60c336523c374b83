package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clientconfig"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// settled is the client with the keys that decide where its requests go as it is configured,
// or why no key of its settings does.
func (c client) settled(base string, getenv func(string) string) (client, error) {
	for _, k := range c.pointTo(base) { // keys that are variables of the environment; in a table they are set there
		if v := getenv(k.Path[0]); len(k.Path) == 1 && v != "" && v != k.Value {
			return c, fmt.Errorf("%s is set in your environment, which %s prefers to %s: unset it there and try again "+
				"(if the proxy shall go on to it: pleat proxy start --upstream-%s %s)", k.Path[0], c.title, c.path(getenv), providerOf(k),
				term.WithoutPassword(v))
		}
	}
	if c.name != "codex" {
		return c, nil
	}
	path := c.path(getenv)
	if isLogin(filepath.Join(filepath.Dir(path), "auth.json")) {
		return c, fmt.Errorf("%s is logged in with ChatGPT, and such a login does not work through a proxy: log in with an "+
			"API key (codex login --with-api-key), or use pleat inside (pleat setup codex --inside)", c.title)
	}
	provider, _ := clientconfig.Get(path, "model_provider")
	name, _ := provider.(string)
	if name == "" || name == "openai" {
		return c, nil
	}
	if base, _ := clientconfig.Get(path, "model_providers", name, "base_url"); base == nil {
		return c, fmt.Errorf("%s uses the provider %q, and %s has no model_providers.%s.base_url that could name the proxy",
			c.title, name, path, name)
	}
	c.keys = []string{"model_providers/" + name + "/base_url=$URL/v1"}
	return c, nil
}

// proxyOf is the address of the proxy that agents were set up for; the usual one if none was.
func proxyOf(p *term.Console) string {
	for _, c := range clients {
		undo, err := undoFile(p, c.name)
		if err != nil {
			break
		}
		for _, v := range clientconfig.Values(undo) {
			if m := proxyPattern.FindStringSubmatch(v); m != nil {
				return m[1]
			}
		}
	}
	return proxyAddress
}

var proxyPattern = regexp.MustCompile(`http://([^/\s"',\\]+)`)

// isLogin reports whether Codex is logged in with an account rather than with a key.
func isLogin(auth string) bool {
	get := func(name string) any {
		value, _ := clientconfig.Get(auth, name)
		return value
	}
	mode, _ := get("auth_mode").(string)
	return mode == "chatgpt" || mode == "" && get("tokens") != nil && get("OPENAI_API_KEY") == nil
}

// upstreams are the flags that let the proxy forward to where a client has sent its requests
// until now, if that is some other server than the provider's own.
func (c client) upstreams(path string, keys []clientconfig.Key, getenv func(string) string) (flags string) {
	for _, k := range keys {
		was, _ := clientconfig.Get(path, k.Path...)
		old, _ := was.(string)
		old = cmp.Or(old, getenv(k.Path[len(k.Path)-1])) // a variable that the settings replace from now on
		if old == k.Value || !strings.Contains(old, "://") || strings.Contains(old, "127.0.0.1:4141") {
			continue
		}
		flags += " --upstream-" + providerOf(k) + " " + old
	}
	return flags
}

// providerOf is whose address a key has.
func providerOf(k clientconfig.Key) string {
	for _, name := range []string{"anthropic", "gemini"} {
		if strings.Contains(strings.ToLower(strings.Join(k.Path, "/")), name) {
			return name
		}
	}
	return "openai"
}
