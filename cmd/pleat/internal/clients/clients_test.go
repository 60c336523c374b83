package clients

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
)

// Paths of Windows have spaces and backslashes, which shells and JavaScript take for something else.
func TestInsidePaths(t *testing.T) {
	const program = `C:\Program Files\pleat\pleat.exe`
	for system, want := range map[string]string{
		"windows": `"C:/Program Files/pleat/pleat.exe" hook compact --agent pi`,
		"linux":   `'C:\Program Files\pleat\pleat.exe' hook compact --agent pi || exit 0`,
	} {
		if got := shellCall(system, program, "compact", "pi"); got != want {
			t.Errorf("%s: %s, want %s", system, got, want)
		}
	}
	for _, name := range []string{"opencode", "pi"} {
		c, err := Find(name)
		difftest.Must(t, err)
		changes, _, err := c.Inside(program, "", func(string) string { return t.TempDir() })
		if err != nil || !strings.Contains(changes[0].text, `spawn("C:\\Program Files\\pleat\\pleat.exe",`) {
			t.Errorf("%s: %v\n%s", name, err, changes[0].text)
		}
	}
}

// Where variables are known by their names in any case, OPENAI_BASE_URL is not Codex's openai_base_url.
func TestKeyIsNoVariable(t *testing.T) {
	getenv := func(name string) string {
		switch strings.ToUpper(name) {
		case "OPENAI_BASE_URL":
			return "http://elsewhere.example/v1"
		case "HOME", "USERPROFILE":
			return t.TempDir()
		}
		return ""
	}
	c, err := Find("codex")
	difftest.Must(t, err)
	if c, err = c.settled("http://127.0.0.1:4141", getenv); err != nil {
		t.Error(err)
	}
	keys := c.pointTo("http://127.0.0.1:4141")
	if flags := upstreams(c.Path(getenv), keys, getenv); flags != "" {
		t.Errorf("the proxy is to forward to what Codex does not use: %s", flags)
	}
}
