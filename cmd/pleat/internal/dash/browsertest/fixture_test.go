package browsertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/dash"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
)

// site is a dashboard in front of a proxy, as "pleat proxy --dash" has it.
type site struct {
	url   string
	store *store.Memory
	lib   *library.Library
}

// window is what the proxy allows.
const window = 40_000

func newSite(t *testing.T, home string) *site {
	t.Helper()
	s := &site{store: store.NewMemory()}
	up := httptest.NewServer(http.HandlerFunc(provider))
	t.Cleanup(up.Close)
	upstream, err := url.Parse(up.URL)
	must(t, err)
	p, err := proxy.NewHandler(&proxy.Options{
		Store: s.store, Anthropic: upstream, Window: window,
		Principal: func(*http.Request, []byte) string { return "" }, // the store in memory lists no tenants
	})
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	s.lib = library.New(library.Options{Home: home, Store: s.store})
	t.Cleanup(func() { must(t, s.lib.Close()) })
	d, err := dash.New(
		dash.Options{
			Library: s.lib,
			Store:   s.store,
			Window:  window,
			Logger:  slog.New(slog.NewTextHandler(testWriter{t}, nil)),
		},
	)
	must(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if dash.Has(r.URL.Path) {
			d.ServeHTTP(w, r)
		} else {
			p.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() { server.Close(); must(t, d.Close()) })
	s.url = server.URL
	return s
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) { w.t.Log(string(b)); return len(b), nil }

var must = difftest.Must

// provider is a model that calls a tool at every request, and charges for the prompt.
func provider(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	n := bytes.Count(body, []byte(`"tool_use"`))
	call := calls[n%len(calls)]
	input, _ := json.Marshal(call.input(n))
	w.Header().Set("Content-Type", "application/json")
	read := len(body) / 4 * 9 / 10
	fmt.Fprintf(
		w,
		`{"id":"msg_%d","type":"message","role":"assistant","model":"claude-sonnet-4-5","stop_reason":"tool_use","stop_sequence":null,`+
			`"content":[{"type":"text","text":%q},{"type":"tool_use","id":"toolu_%d","name":%q,"input":%s}],`+
			`"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":200,"output_tokens":120}}`,
		n,
		call.says,
		n,
		call.tool,
		input,
		len(body)/4-read,
		read,
	)
}

type madeUp struct {
	tool, says string
	input      func(n int) map[string]any
}

var files = []string{"parse/lexer.go", "parse/parser.go", "parse/parser_test.go", "ast/node.go", "cmd/main.go"}

var calls = []madeUp{
	{
		"Read",
		"I read the file first.",
		func(n int) map[string]any { return map[string]any{"file_path": files[n%len(files)]} },
	},
	{
		"Grep",
		"Where is it used?",
		func(n int) map[string]any { return map[string]any{"pattern": "parseExpr", "path": "parse"} },
	},
	{"Edit", "The precedence is wrong here.", func(n int) map[string]any {
		return map[string]any{
			"file_path":  files[n%2],
			"old_string": fmt.Sprintf("prec := %d", n),
			"new_string": fmt.Sprintf("prec := %d", n+1),
		}
	}},
	{"Bash", "Now the tests.", func(n int) map[string]any {
		return map[string]any{"command": "go test ./parse/... -run TestPrecedence"}
	}},
}

// answer is what a tool says.
func answer(tool string, n int) string {
	var b strings.Builder
	switch tool {
	case "Read":
		for i := range 60 + n%5*20 {
			fmt.Fprintf(
				&b,
				"%5d\t// The parser climbs from the operators that bind loosely to those that bind tightly,\n%5d\tfunc (p *parser) rule%d(min int) (node, error) { return p.climb(min + %d) }\n",
				2*i+1, 2*i+2, i, i%7,
			)
		}
	case "Grep":
		for i := range 25 {
			fmt.Fprintf(&b, "parse/parser.go:%d:\treturn p.parseExpr(%d)\n", 40+i*11, i)
		}
	case "Edit":
		b.WriteString("The file has been updated.")
	default:
		for i := range 60 {
			fmt.Fprintf(&b, "--- PASS: TestPrecedence/case_%02d (0.00s)\n", i)
		}
		b.WriteString("ok  \texample.org/calc/parse\t0.412s\n")
	}
	return b.String()
}

// client is an agent that talks through the proxy.
type client struct {
	url     string
	history []json.RawMessage
	n       int
}

func newClient(s *site, says string) *client {
	c := &client{url: s.url}
	c.add(map[string]any{"role": "user", "content": says})
	return c
}

func (c *client) add(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	c.history = append(c.history, data)
}

// step is one request with its answer, and what the tool says to that.
func (c *client) step(t *testing.T) {
	t.Helper()
	tool := func(name string) map[string]any {
		return map[string]any{"name": name, "description": "A tool.", "input_schema": map[string]any{"type": "object"}}
	}
	body, err := json.Marshal(map[string]any{
		"model": "claude-sonnet-4-5", "max_tokens": 1000, "system": "You are a careful programmer.",
		"messages": c.history,
		"tools":    []any{tool("Read"), tool("Grep"), tool("Edit"), tool("Bash")},
	})
	must(t, err)
	req, err := http.NewRequestWithContext(t.Context(), "POST", c.url+"/v1/messages", bytes.NewReader(body))
	must(t, err)
	req.Header.Set("x-api-key", "made-up")
	req.Header.Set("content-type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(t, err)
	var m struct {
		Content []struct{ Type, ID, Name string }
	}
	var whole map[string]json.RawMessage
	must(t, json.Unmarshal(data, &m))
	must(t, json.Unmarshal(data, &whole))
	if resp.StatusCode != http.StatusOK || len(m.Content) == 0 {
		t.Fatalf("the proxy answers %s: %s", resp.Status, data)
	}
	c.add(map[string]any{"role": "assistant", "content": whole["content"]})
	call := m.Content[len(m.Content)-1]
	c.add(
		map[string]any{
			"role": "user",
			"content": []any{
				map[string]any{"type": "tool_result", "tool_use_id": call.ID, "content": answer(call.Name, c.n)},
			},
		},
	)
	c.n++
}

// claudeFiles writes sessions as Claude Code leaves them.
func claudeFiles(t *testing.T, home string) {
	t.Helper()
	titles := []string{
		"Add a flag for the output format",
		"Why does the importer drop the last row?",
		"Rename Config to Settings everywhere",
		"Write the release notes",
		"Speed up the index",
	}
	for i, title := range titles {
		project := []string{"/home/ann/calc", "/home/ann/importer"}[i%2]
		dir := filepath.Join(home, ".claude", "projects", strings.ReplaceAll(project, "/", "-"))
		must(t, os.MkdirAll(dir, 0o700))
		var b bytes.Buffer
		at := time.Now().Add(-time.Duration(i*31+3) * time.Hour)
		line := func(role string, content any, more map[string]any, parent, id string) {
			msg := map[string]any{"role": role, "content": content}
			for k, v := range more {
				msg[k] = v
			}
			row := map[string]any{
				"type":      role,
				"uuid":      id,
				"sessionId": fmt.Sprint("made-up-", i),
				"cwd":       project,
				"version":   "2.0.0",
				"timestamp": at.UTC().Format(time.RFC3339),
				"message":   msg,
			}
			if parent != "" {
				row["parentUuid"] = parent
			}
			data, err := json.Marshal(row)
			must(t, err)
			b.Write(append(data, '\n'))
		}
		line("user", title, nil, "", "u0")
		for n := range 6 + 5*i {
			c := calls[n%len(calls)]
			id := fmt.Sprint("t", n)
			line(
				"assistant",
				[]any{
					map[string]any{"type": "text", "text": c.says},
					map[string]any{"type": "tool_use", "id": id, "name": c.tool, "input": c.input(n)},
				},
				map[string]any{
					"model": "claude-sonnet-4-5",
					"id":    fmt.Sprint("m", n),
					"usage": map[string]any{
						"input_tokens": 500, "cache_read_input_tokens": 2000 * n, "output_tokens": 150,
					},
				},
				fmt.Sprint("u", n),
				fmt.Sprint("a", n),
			)
			line(
				"user", []any{map[string]any{"type": "tool_result", "tool_use_id": id, "content": answer(c.tool, n)}},
				nil, fmt.Sprint("a", n), fmt.Sprint("u", n+1),
			)
		}
		name := filepath.Join(dir, fmt.Sprintf("made-up-%d.jsonl", i))
		must(t, os.WriteFile(name, b.Bytes(), 0o600))
		must(t, os.Chtimes(name, at, at))
	}
}

// busiest is the session of the store with the most folds.
func (s *site) busiest(t *testing.T) (id string) {
	t.Helper()
	page, err := s.lib.List(context.Background(), library.Filter{})
	must(t, err)
	most := 0
	for _, i := range page.Sessions {
		if sess, err := s.lib.Open(t.Context(), i.ID); err == nil && len(sess.Report().Folds) > most {
			id, most = i.ID, len(sess.Report().Folds)
		}
	}
	if id == "" {
		t.Fatal("nothing is folded")
	}
	return id
}

func onLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "data" || u.Scheme == "about" || u.Scheme == "blob" || ip != nil && ip.IsLoopback()
}
