package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/mcp"
	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
)

// session is a Claude Code session with some calls.
func session(rounds int) string {
	var b strings.Builder
	parent := "null"
	add := func(id, kind, content string) {
		more := ""
		if kind == "assistant" {
			more = `"id":"m` + id +
				`","model":"claude-opus-4-5-20251101","usage":{"input_tokens":1000,"output_tokens":100},`
		}
		fmt.Fprintf(&b,
			`{"parentUuid":%s,"isSidechain":false,"cwd":"/home/dev/shop","sessionId":"long","version":"2.1.7","type":%q,"message":{%s"role":%q,"content":%s},"uuid":%q,"timestamp":"2026-01-02T10:00:00.000Z"}`+"\n",
			parent, kind, more, kind, content, id)
		parent = `"` + id + `"`
	}
	add("u0", "user", `"Uploads fail with 413.\u001b[31m Find out why."`)
	for i := range rounds {
		path := fmt.Sprintf("/home/dev/shop/src/part%03d.go", i)
		result := strings.Repeat(fmt.Sprintf("func part%03d() error { return errLimit%d }\n", i, i), 20)
		if i == 3 {
			result = "upload_limit_bytes = 1048576\n"
		}
		quoted, _ := json.Marshal(result)
		add(fmt.Sprint("a", i), "assistant", fmt.Sprintf(`[{"type":"text","text":"Step %d."},`+
			`{"type":"tool_use","id":"t%d","name":"Read","input":{"file_path":%q}}]`, i, i, path))
		add(fmt.Sprint("u", i+1), "user",
			fmt.Sprintf(`[{"type":"tool_result","tool_use_id":"t%d","content":%s}]`, i, quoted))
	}
	add("end", "assistant", `[{"type":"text","text":"The limit was 1 MB."}]`)
	return b.String()
}

// newLibrary is the library of a home folder with these Claude Code sessions.
func newLibrary(t *testing.T, sessions ...string) *library.Library {
	home := t.TempDir()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, s := range sessions {
		file := filepath.Join(home, ".claude", "projects", fmt.Sprint("p", i), "s.jsonl")
		must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		must(t, os.WriteFile(file, []byte(s), 0o600))
		must(t, os.Chtimes(file, at, at.Add(time.Duration(-i)*time.Hour)))
	}
	lib := library.New(library.Options{Home: home, Store: store.NewMemory()})
	t.Cleanup(func() { lib.Close() })
	return lib
}

// client is the SDK's own client of a server.
type client struct {
	*testing.T
	*sdk.ClientSession
}

func connect(t *testing.T, transport sdk.Transport) client {
	t.Helper()
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	must(t, err)
	t.Cleanup(func() { cs.Close() })
	return client{t, cs}
}

func (c client) call(tool string, args map[string]any) (text string, failed bool) {
	c.Helper()
	r, err := c.CallTool(c.T.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		c.Fatalf("%s %v: %v", tool, args, err)
	}
	return r.Content[0].(*sdk.TextContent).Text, r.IsError
}

// wants calls a tool whose answer must have some text.
func (c client) wants(tool string, args map[string]any, fails bool, want ...string) string {
	c.Helper()
	text, failed := c.call(tool, args)
	for _, w := range want {
		if failed != fails || !strings.Contains(text, w) {
			c.Errorf("%s %v: failed %v, without %q:\n%s", tool, args, failed, w, text)
		}
	}
	return text
}

// over runs a test over every transport, with the SDK's own client.
func over(t *testing.T, lib *library.Library, test func(c client)) {
	srv := mcp.NewServer(lib, mcp.Options{Version: "1"})
	t.Run("memory", func(t *testing.T) {
		near, far := sdk.NewInMemoryTransports()
		ss, err := srv.Connect(t.Context(), far, nil)
		must(t, err)
		defer ss.Wait()
		c := connect(t, near)
		defer c.Close()
		test(c)
	})
	t.Run("streams", func(t *testing.T) {
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- mcp.Serve(t.Context(), srv, in, out) }()
		c := connect(t, &sdk.IOTransport{Reader: fromServer, Writer: toServer})
		test(c)
		c.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

var idPattern = regexp.MustCompile(`claude-code-[0-9a-f]{10}`)

func TestServer(t *testing.T) {
	lib := newLibrary(
		t, session(120), strings.NewReplacer("Uploads", "Logins", "imit", "ound").Replace(session(2)), "damaged: upload_limit_bytes, zebra",
	)
	over(t, lib, func(c client) {
		tools, err := c.ListTools(c.T.Context(), nil)
		if err != nil {
			c.Fatal(err)
		}
		var names []string
		for _, t := range tools.Tools {
			names = append(names, t.Name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != "handoff ledger note pin search sessions unfold" {
			c.Errorf("tools: %s", got)
		}
		list := c.wants("sessions", nil, false, "sessions 1 to 3 of 3", "Uploads fail with 413.", "cannot be read",
			"/home/dev/shop")
		if strings.Contains(list, "\x1b") {
			c.Errorf("a title has a control character: %q", list)
		}
		if strings.Count(list, ", about ") > 1 { // that of the file that cannot be read
			c.Errorf("tokens are not counted: %s", list)
		}
		c.wants("sessions", map[string]any{"project": "/nowhere"}, false, "no sessions here")
		c.wants("sessions", map[string]any{"agent": "nobody"}, true, "unknown agent")
		c.wants("sessions", map[string]any{"limit": 1}, false, "sessions 1 to 1 of 3", "sessions(offset=1)")
		c.wants("sessions", map[string]any{"limit": 1, "offset": -5}, false,
			"sessions 1 to 1 of 3", "sessions(offset=1)")
		id := idPattern.FindString(list)
		in := func(args map[string]any) map[string]any { args["session"] = id; return args }

		found := c.wants(
			"search", map[string]any{"queries": []string{`"upload_limit_bytes"`}}, false, "found in 1 of 2 sessions",
			"1048576", id, "not searched",
		)
		if strings.Contains(found, "you can see it") {
			c.Errorf("the client does not see the session:\n%s", found)
		}
		c.wants("search", map[string]any{"queries": []string{"zebra"}}, false, "found in 0 of 2")
		c.wants("search", in(map[string]any{"queries": []string{"upload_limit_bytes"}}), false, "1048576")
		c.wants("search", in(map[string]any{"queries": []string{"upload_limit_bytes"}, "limit": 5}), false, "1048576")
		c.wants("search", map[string]any{}, true, "queries")
		c.wants("unfold", in(map[string]any{"handle": "path:src/part003.go"}), false, "upload_limit_bytes")
		c.wants("unfold", in(map[string]any{"handle": "nothing0"}), true, "nothing0")
		c.wants("ledger", in(map[string]any{"path": "part003.go"}), false, "part003.go", "1 read")
		c.wants("ledger", map[string]any{}, true, "session")
		c.wants("pin", in(map[string]any{"text": "Never touch legacy."}), false, "shapes the handoff")
		c.wants("note", in(map[string]any{"key": "k", "text": "The proxy cuts it."}), false, "shapes the handoff")
		text := c.wants("handoff", in(map[string]any{"budget": 4000}), false, "Never touch legacy.", "The limit was 1 MB.", id)
		for _, m := range regexp.MustCompile(`unfold\("([0-9a-z]{8})"`).FindAllStringSubmatch(text, -1) {
			c.wants("unfold", in(map[string]any{"handle": m[1]}), false, m[1])
		}
		c.wants("handoff", in(map[string]any{"budget": 10}), true, "at least 2000")
		c.wants("handoff", map[string]any{"session": "nobody"}, true, "not found")

		p, err := c.GetPrompt(c.T.Context(),
			&sdk.GetPromptParams{Name: "continue", Arguments: map[string]string{"session": id, "budget": "3000"}})
		if err != nil || !strings.Contains(p.Messages[0].Content.(*sdk.TextContent).Text, "Go on from where it ended") {
			c.Errorf("prompt: %+v, %v", p, err)
		}
	})
}

// Every tool answers on every real session.
func TestCorpus(t *testing.T) {
	var all []string
	for _, file := range corpustest.Files(t) {
		data, err := os.ReadFile(file)
		must(t, err)
		all = append(all, string(data))
	}
	near, far := sdk.NewInMemoryTransports()
	lib := newLibrary(t, all...)
	ss, err := mcp.NewServer(lib, mcp.Options{}).Connect(t.Context(), far, nil)
	must(t, err)
	defer ss.Wait()
	c := connect(t, near)
	defer c.Close()
	page, err := lib.List(t.Context(), library.Filter{})
	if err != nil || len(page.Sessions) != len(all) {
		t.Fatalf("%d sessions, %v", len(page.Sessions), err)
	}
	for _, s := range page.Sessions {
		c.wants("search", map[string]any{"session": s.ID, "queries": []string{"error"}}, false, "")
		c.wants("ledger", map[string]any{"session": s.ID}, false, "")
		c.wants("pin", map[string]any{"session": s.ID, "text": "Never touch legacy."}, false, "")
		c.wants("handoff", map[string]any{"session": s.ID}, false, s.ID)
	}
}

// A line that is no request gets an error; what came before and after it is answered.
func TestMalformedLines(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"t","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` +
		"\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n" +
		"{\n5\n[]\n{}\nnull\n\n\x00\n" + strings.Repeat("x", 5<<20) + "\n" +
		`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`
	var out bytes.Buffer
	srv := mcp.NewServer(newLibrary(t, session(2)), mcp.Options{Version: "1"})
	must(t, mcp.Serve(t.Context(), srv, strings.NewReader(in), &out))
	for _, want := range []string{`"id":2,"result"`, `"id":3,"result"`, `"code":-32700`, `"code":-32600`, "at most"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing in:\n%.2000s", want, out.String())
		}
	}
	if n := strings.Count(out.String(), `"id":null,"error"`); n != 7 {
		t.Errorf("%d errors for 7 lines:\n%.2000s", n, out.String())
	}
}

// Messages with parts of the wrong kind are answered too, and the input's end is waited for by none of them.
func TestWrongMessages(t *testing.T) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, `{"jsonrpc":"2.0","id":true,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1e400,"method":"ping"}`, `{"jsonrpc":"2.0","id":7,"method":5}`,
		`{"jsonrpc":2,"id":"a\"b","method":"ping"}`, `{"jsonrpc":"2.0","id":2,"error":5}`,
		`{"jsonrpc":"2.0","ID":908,"Method":"ping"}`, `{"jsonrpc":"2.0","id":8,"method":"x","params":` + deep + `}`,
	} {
		var out bytes.Buffer
		srv := mcp.NewServer(newLibrary(t, session(2)), mcp.Options{Version: "1"})
		in := strings.NewReader(hello + line + "\n" + `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
		if err := mcp.Serve(t.Context(), srv, in, &out); err != nil {
			t.Errorf("%.60s ends the server: %v", line, err)
		}
		for _, want := range []string{`"id":2,"result"`, `"id":3,"result"`, `"id":null,"error":{"code":-32600`} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%.60s: %s is missing in:\n%.500s", line, want, out.String())
			}
		}
	}
}

// deep is nested deeper than any message.
var deep = strings.Repeat("[", 2000) + strings.Repeat("]", 2000)

var must = difftest.Must

// reply is what a conformance case says of an answer, apart from the name and the abilities
// of the server that it was written for.
type reply struct {
	ID    int
	Error *struct{ Code int }
	// Result has what the protocol settles.
	Result *struct {
		ProtocolVersion   string
		SupportedVersions []string
	}
}

// TestConformance plays the SDK's conformance cases that are about the protocol itself. The
// others call the tools of a server of the SDK's own.
func TestConformance(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/modelcontextprotocol/go-sdk").
		Output()
	if err != nil {
		t.Skipf("the SDK's source is not here: %v", err)
	}
	for _, name := range []string{"lifecycle", "version-older", "version-latest", "bad_requests", "discover"} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(
				filepath.Join(strings.TrimSpace(string(out)), "mcp", "testdata", "conformance",
					"server", name+".txtar"),
			)
			if err != nil {
				t.Skip(err)
			}
			_, rest, _ := strings.Cut(string(data), "-- client --\n")
			asks, answers, _ := strings.Cut(rest, "-- server --\n")
			play(t, json.NewDecoder(strings.NewReader(asks)), json.NewDecoder(strings.NewReader(answers)))
		})
	}
}

// play sends what the client of a case says, and compares the answers.
func play(t *testing.T, asks, answers *json.Decoder) {
	in, send := io.Pipe()
	receive, out := io.Pipe()
	srv := mcp.NewServer(newLibrary(t), mcp.Options{Version: "1"})
	ss, err := srv.Connect(t.Context(), &sdk.IOTransport{Reader: in, Writer: out}, nil)
	must(t, err)
	t.Cleanup(func() { send.Close(); receive.Close(); ss.Close() })
	got, n := json.NewDecoder(receive), 0
	for {
		var ask json.RawMessage
		if err := asks.Decode(&ask); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if _, err := send.Write(append([]byte(strings.ReplaceAll(string(ask), "\n", " ")), '\n')); err != nil {
			t.Fatal(err)
		}
		var head struct{ ID *int }
		must(t, json.Unmarshal(ask, &head))
		if head.ID == nil {
			continue
		}
		var is, want reply
		must(t, answers.Decode(&want))
		must(t, got.Decode(&is))
		a, _ := json.Marshal(is)
		if b, _ := json.Marshal(want); string(a) != string(b) {
			t.Errorf("%s\nanswer %s\nwant   %s", ask, a, b)
		}
		n++
	}
	if n == 0 {
		t.Error("the case asks nothing")
	}
}
