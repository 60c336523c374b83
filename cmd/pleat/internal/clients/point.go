package clients

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clientconfig"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/webproxy"
)

// Pointing is how a client is pointed to a proxy.
type Pointing struct {
	Change
	// Upstreams are flags of the proxy: it goes on to where the client has sent its requests until now, if that
	// is some other server than the provider's own.
	Upstreams string
	// First is what to do before, because a web proxy may get the requests, with their keys; "": nothing.
	First string
}

// Point plans to point the client to the proxy at base, which is on this machine or not. The error says why it
// cannot be, or what to do instead.
func (c Client) Point(base string, here bool, getenv func(string) string) (to Pointing, err error) {
	switch {
	case c.Why != "":
		return to, fmt.Errorf("%s cannot be pointed to a proxy: %s", c.Title, c.Why)
	case c.File == "":
		return to, fmt.Errorf("%s cannot be set up from here: %s", c.Title, strings.ReplaceAll(c.Hint, "$URL", base))
	}
	if c, err = c.settled(base, getenv); err != nil {
		return to, err
	}
	to.Change = Change{Record: c.Name, Path: c.Path(getenv), keys: c.pointTo(base)}
	to.Upstreams = upstreams(to.Path, to.keys, getenv)
	if here {
		table := to.keys[0].Path[:len(to.keys[0].Path)-1]
		if !c.Environ || len(table) == 0 { // the environment wins
			to.First = webproxy.Exposed(getenv)
		}
		if c.Environ {
			to.keys = append(to.keys, reachDirectly(to.Path, table, getenv)...)
		}
	}
	return to, nil
}

// Points reports whether the client's settings name the proxy at an address, or why they could not.
func (c Client) Points(address string, getenv func(string) string) (bool, error) {
	c, err := c.settled("http://"+address, getenv)
	return err == nil && slices.ContainsFunc(c.pointTo(""), func(k clientconfig.Key) bool {
		value, err := clientconfig.Get(c.Path(getenv), k.Path...)
		return err == nil && strings.Contains(fmt.Sprint(value), address)
	}), err
}

// pointTo are the keys that point the client to a proxy.
func (c Client) pointTo(base string) (keys []clientconfig.Key) {
	for _, k := range c.keys {
		name, value, _ := strings.Cut(k, "=")
		value = strings.ReplaceAll(value, "$URL", base)
		key := clientconfig.Key{Path: strings.Split(name, "/"), Value: value}
		if list := strings.Split(value, ","); len(list) > 1 {
			var more clientconfig.Added
			for _, v := range list {
				more = append(more, v)
			}
			key.Value = more
		}
		keys = append(keys, key)
	}
	return keys
}

// settled is the client with the keys that decide where its requests go as it is configured,
// or why no key of its settings does.
func (c Client) settled(base string, getenv func(string) string) (Client, error) {
	path := c.Path(getenv)
	for _, k := range c.pointTo(base) { // keys that are variables of the environment; in a table they are set there
		if v := variable(k, getenv); len(k.Path) == 1 && v != "" && v != k.Value {
			return c, fmt.Errorf("%s is set in your environment, which %s prefers to %s: unset it there and try again "+
				"(if the proxy shall go on to it: pleat proxy start --upstream-%s %s)", k.Path[0], c.Title, path,
				providerOf(k), term.WithoutPassword(v))
		}
	}
	why, err := c.elsewhere(path, getenv)
	if err != nil {
		return c, err
	}
	if why != "" {
		hint := "use an API key of the provider"
		if c.inside != "" {
			hint += ", or pleat inside (pleat setup " + c.Name + " --inside)"
		}
		return c, fmt.Errorf("%s %s, and its requests do not come through a proxy then: %s", c.Title, why, hint)
	}
	if c.Name != "codex" {
		return c, nil
	}
	name := text(path, "model_provider")
	if name == "" || name == "openai" {
		return c, nil
	}
	if base, _ := clientconfig.Get(path, "model_providers", name, "base_url"); base == nil {
		return c, fmt.Errorf(
			"%s uses the provider %q, and %s has no model_providers.%s.base_url that could name the proxy",
			c.Title, name, path, name)
	}
	c.keys = []string{"model_providers/" + name + "/base_url=$URL/v1"}
	return c, nil
}

// text is the text that a key of a file has; "": none, or the file cannot be read.
func text(path string, key ...string) string {
	value, _ := clientconfig.Get(path, key...)
	s, _ := value.(string)
	return s
}

// elsewhere says why a client's requests go where its login or its cloud has them go, whatever
// address its settings name; empty: they do not.
func (c Client) elsewhere(path string, getenv func(string) string) (why string, err error) {
	get := func(path string, key ...string) string {
		value, failed := clientconfig.Get(path, key...)
		err = cmp.Or(err, failed)
		if value == nil {
			return ""
		}
		return fmt.Sprint(value)
	}
	switch c.Name {
	case "claude":
		for _, cloud := range []string{"BEDROCK", "VERTEX", "FOUNDRY"} {
			name := "CLAUDE_CODE_USE_" + cloud
			if !slices.Contains([]string{"", "0", "false"}, cmp.Or(get(path, "env", name), getenv(name))) {
				why = "has " + name
			}
		}
	case "codex":
		auth := filepath.Join(filepath.Dir(path), "auth.json")
		mode := get(auth, "auth_mode")
		if mode == "chatgpt" || mode == "" && get(auth, "tokens") != "" && get(auth, "OPENAI_API_KEY") == "" {
			why = "is logged in with ChatGPT"
		}
	case "gemini":
		kind := get(filepath.Join(filepath.Dir(path), "settings.json"), "security", "auth", "selectedType")
		if !slices.Contains([]string{"", "gemini-api-key", "gateway"}, kind) {
			why = "is logged in with " + kind
		}
	}
	return why, err
}

// upstreams are the flags that let the proxy forward to where a client has sent its requests
// until now, if that is some other server than the provider's own.
func upstreams(path string, keys []clientconfig.Key, getenv func(string) string) (flags string) {
	for _, k := range keys {
		old := cmp.Or(text(path, k.Path...), variable(k, getenv)) // a variable that the settings replace from now on
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

// reachDirectly are the keys for NO_PROXY of a client whose file has keys for its environment. There they
// replace the variables, so they repeat what those list.
func reachDirectly(path string, table []string, getenv func(string) string) (keys []clientconfig.Key) {
	for _, set := range webproxy.NoProxy(func(name string) string {
		return cmp.Or(text(path, append(slices.Clone(table), name)...), getenv(name))
	}) {
		name, list, _ := strings.Cut(set, "=")
		keys = append(keys, clientconfig.Key{Path: append(slices.Clone(table), name), Value: list})
	}
	return keys
}
