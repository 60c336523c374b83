package clients

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clientconfig"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/webproxy"
)

// Wrapped is what is known of a program; nothing, if it is not one of the known agents. The
// error is why it cannot be wrapped.
func Wrapped(program string, getenv func(string) string) (Client, error) {
	c, err := Find(strings.TrimSuffix(filepath.Base(program), ".exe"))
	switch {
	case err != nil:
		return Client{}, nil
	case c.Why != "":
		return c, fmt.Errorf("%s cannot be used with pleat: %s", c.Title, c.Why)
	case c.Settings:
		return c, fmt.Errorf("%s cannot be wrapped, because it reads the address from its settings alone: "+
			"see \"pleat setup %s\"", c.Title, c.Name)
	case c.Name == "copilot" && getenv("COPILOT_PROVIDER_BASE_URL") == "":
		return c, fmt.Errorf("requests of a Copilot plan go to GitHub; with a key of your own, set " +
			"COPILOT_PROVIDER_BASE_URL, COPILOT_PROVIDER_API_KEY and COPILOT_MODEL (\"copilot help providers\")")
	}
	return c, nil
}

// Bases are the servers, by provider, to which the client would send its requests by itself, where its environment
// names them.
func (c Client) Bases(getenv func(string) string) map[string]string {
	bases := map[string]string{"gemini": getenv("GOOGLE_GEMINI_BASE_URL")}
	for _, v := range append(slices.Clone(c.Env), "ANTHROPIC_BASE_URL=", "OPENAI_BASE_URL=") {
		name, _, _ := strings.Cut(v, "=") // the client's own names come first
		of := providerOf(clientconfig.Key{Path: []string{name}})
		bases[of] = cmp.Or(bases[of], getenv(name))
	}
	if c.Name == "copilot" {
		bases["anthropic"] = getenv("COPILOT_PROVIDER_BASE_URL")
		bases["openai"] = bases["anthropic"]
	}
	return bases
}

// Through is how the client is run through the proxy at base: with which arguments, and what its environment
// gets. Done deletes what was made for it.
func (c Client) Through(
	base string, args []string, getenv func(string) string,
) (_, env []string, done func(), err error) {
	env = []string{"ANTHROPIC_BASE_URL=" + base, "OPENAI_BASE_URL=" + base + "/v1", "GOOGLE_GEMINI_BASE_URL=" + base}
	env = append(env, webproxy.NoProxy(getenv)...)
	for _, v := range c.Env {
		env = append(env, strings.ReplaceAll(v, "$URL", base))
	}
	done = func() {}
	switch c.Name {
	case "codex":
		args = append([]string{"-c", `openai_base_url="` + base + `/v1"`}, args...)
	case "opencode":
		config, err := c.configured(getenv("OPENCODE_CONFIG_CONTENT"), base)
		if err != nil {
			return nil, nil, nil, err
		}
		env = append(env, "OPENCODE_CONFIG_CONTENT="+config)
	case "copilot":
		if getenv("COPILOT_PROVIDER_TYPE") != "anthropic" {
			base += "/v1"
		}
		env = append(env, "COPILOT_PROVIDER_BASE_URL="+base)
	case "pi":
		dir, err := os.MkdirTemp("", "pleat-pi-")
		if err != nil {
			return nil, nil, nil, err
		}
		done = func() { _ = os.RemoveAll(dir) }
		file := filepath.Join(dir, "pleat.js")
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(piExtension, "$URL", base)), 0o600); err != nil {
			done()
			return nil, nil, nil, err
		}
		args = append([]string{"--extension", file}, args...)
	}
	return args, env, done, nil
}

// piExtension points pi's own providers to the proxy. They keep their models and keys.
const piExtension = `export default (pi) => {
	pi.registerProvider("anthropic", { baseUrl: "$URL" });
	pi.registerProvider("openai", { baseUrl: "$URL/v1" });
	pi.registerProvider("google", { baseUrl: "$URL/v1beta" });
};
`

// configured adds the keys that point a client to the proxy to a configuration as JSON.
func (c Client) configured(old, base string) (string, error) {
	config := make(map[string]any)
	if strings.TrimSpace(old) != "" {
		if err := json.Unmarshal([]byte(old), &config); err != nil {
			return "", fmt.Errorf("read OPENCODE_CONFIG_CONTENT: %w", err)
		}
	}
	for _, key := range c.pointTo(base) {
		clientconfig.Put(config, key)
	}
	out, err := json.Marshal(config)
	return string(out), err
}
