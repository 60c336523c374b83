package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clientconfig"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// settled is the client with the keys that decide where its requests go as it is configured,
// or why no key of its settings does.
func (c client) settled(base string, getenv func(string) string) (client, error) {
	for _, k := range c.pointTo(base) { // keys that are variables of the environment; in a table they are set there
		if v := variable(k, getenv); len(k.Path) == 1 && v != "" && v != k.Value {
			return c, fmt.Errorf("%s is set in your environment, which %s prefers to %s: unset it there and try again "+
				"(if the proxy shall go on to it: pleat proxy start --upstream-%s %s)", k.Path[0], c.title,
				c.path(getenv), providerOf(k),
				term.WithoutPassword(v))
		}
	}
	path := c.path(getenv)
	why, err := c.elsewhere(path, getenv)
	if err != nil {
		return c, err
	}
	if why != "" {
		hint := "use an API key of the provider"
		if _, err := c.insideChanges(getenv, "pleat"); err == nil {
			hint += ", or pleat inside (pleat setup " + c.name + " --inside)"
		}
		return c, fmt.Errorf("%s %s, and its requests do not come through a proxy then: %s", c.title, why, hint)
	}
	if c.name != "codex" {
		return c, nil
	}
	provider, _ := clientconfig.Get(path, "model_provider")
	name, _ := provider.(string)
	if name == "" || name == "openai" {
		return c, nil
	}
	if base, _ := clientconfig.Get(path, "model_providers", name, "base_url"); base == nil {
		return c, fmt.Errorf(
			"%s uses the provider %q, and %s has no model_providers.%s.base_url that could name the proxy",
			c.title, name, path, name)
	}
	c.keys = []string{"model_providers/" + name + "/base_url=$URL/v1"}
	return c, nil
}

// elsewhere says why a client's requests go where its login or its cloud has them go, whatever
// address its settings name; empty: they do not.
func (c client) elsewhere(path string, getenv func(string) string) (string, error) {
	switch c.name {
	case "claude":
		for _, cloud := range []string{"BEDROCK", "VERTEX", "FOUNDRY"} {
			name := "CLAUDE_CODE_USE_" + cloud
			set, err := clientconfig.Get(path, "env", name)
			if err != nil {
				return "", err
			}
			if set, _ := set.(string); !slices.Contains([]string{"", "0", "false"}, cmp.Or(set, getenv(name))) {
				return "has " + name, nil
			}
		}
	case "codex":
		login, err := isLogin(filepath.Join(filepath.Dir(path), "auth.json"))
		if login {
			return "is logged in with ChatGPT", nil
		}
		return "", err
	case "gemini":
		kind, err := clientconfig.Get(filepath.Join(filepath.Dir(path), "settings.json"), "security",
			"auth", "selectedType")
		if kind, _ := kind.(string); !slices.Contains([]string{"", "gemini-api-key", "gateway"}, kind) {
			return "is logged in with " + kind, nil
		}
		return "", err
	}
	return "", nil
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
	return tally.Address
}

var proxyPattern = regexp.MustCompile(`http://(?:[^/\s"',\\]*@)?([^/\s"',\\@]+)`)

// isLogin reports whether Codex is logged in with an account rather than with a key.
func isLogin(auth string) (bool, error) {
	kind, err := clientconfig.Get(auth, "auth_mode")
	if err != nil {
		return false, err
	}
	mode, _ := kind.(string)
	tokens, _ := clientconfig.Get(auth, "tokens")
	key, _ := clientconfig.Get(auth, "OPENAI_API_KEY")
	return mode == "chatgpt" || mode == "" && tokens != nil && key == nil, nil
}

// upstreams are the flags that let the proxy forward to where a client has sent its requests
// until now, if that is some other server than the provider's own.
func (c client) upstreams(path string, keys []clientconfig.Key, getenv func(string) string) (flags string) {
	for _, k := range keys {
		was, _ := clientconfig.Get(path, k.Path...)
		old, _ := was.(string)
		old = cmp.Or(old, variable(k, getenv)) // a variable that the settings replace from now on
		if old == k.Value || !strings.Contains(old, "://") || strings.Contains(old, "127.0.0.1:4141") {
			continue
		}
		flags += " --upstream-" + providerOf(k) + " " + old
	}
	return flags
}

// variable is the value of the environment variable that a key is called after. Windows knows variables
// by their names in any case, and a key of a file is not one of them.
func variable(k clientconfig.Key, getenv func(string) string) string {
	if name := k.Path[len(k.Path)-1]; name == strings.ToUpper(name) {
		return getenv(name)
	}
	return ""
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
