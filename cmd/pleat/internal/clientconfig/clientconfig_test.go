package clientconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
)

const url = "http://127.0.0.1:4141"

func TestSetAndUndo(t *testing.T) {
	env := Key{[]string{"env", "ANTHROPIC_BASE_URL"}, url}
	top := Key{[]string{"base_url"}, url}
	server := []Key{
		{[]string{"mcp_servers", "pleat", "command"}, "pleat"},
		{[]string{"mcp_servers", "pleat", "args"}, []string{"mcp"}},
	}
	for _, tt := range []struct {
		name, file, before, after string
		keys                      []Key
	}{
		{"no file", "a.json", "", "{\n  \"env\": {\n    \"ANTHROPIC_BASE_URL\": \"" + url + "\"\n  }\n}\n", []Key{env}},
		{
			"empty object", "a.json", "{ }", "{\n  \"env\": {\n    \"ANTHROPIC_BASE_URL\": \"" + url + "\"\n  }\n}",
			[]Key{env},
		},
		{
			"beside others", "a.json", "{\n\t\"model\": \"opus\",\n\t\"env\": {\"A\": \"1\"}\n}\n",
			"{\n\t\"model\": \"opus\",\n\t\"env\": {\"A\": \"1\",\n\t\t\"ANTHROPIC_BASE_URL\": \"" + url + "\"}\n}\n",
			[]Key{env},
		},
		{
			"another value", "a.json", `{"env":{"ANTHROPIC_BASE_URL":"x"}}`,
			`{"env":{"ANTHROPIC_BASE_URL":"` + url + `"}}`,
			[]Key{env},
		},
		{
			"comments", "a.jsonc", "// mine\n{\n  \"a\": [1, 2,], // \"env\": {}\n}\n",
			"// mine\n{\n  \"a\": [1, 2,],\n  \"env\": {\n    \"ANTHROPIC_BASE_URL\": \"" + url +
				"\"\n  }, // \"env\": {}\n}\n",
			[]Key{env},
		},
		{"only comments", "a.json", "{ /* none */ }", "{\n  \"base_url\": \"" + url + "\" /* none */ }", []Key{top}},
		{
			"an object", "a.json", "{}",
			"{\n  \"m\": {\n    \"p\": {\n      \"args\": [\n        \"mcp\"\n      ]\n    }\n  }\n}",
			[]Key{{[]string{"m", "p"}, map[string]any{"args": []string{"mcp"}}}},
		},
		{"no TOML", "a.toml", "", "base_url = \"" + url + "\"\n", []Key{top}},
		{
			"before tables", "a.toml", "# mine\nmodel = \"x\" # y\n\n[a]\nbase_url = \"z\"\n",
			"# mine\nmodel = \"x\" # y\nbase_url = \"" + url + "\"\n\n[a]\nbase_url = \"z\"\n",
			[]Key{top},
		},
		{"tables alone", "a.toml", "[a]\nb = 1\n", "base_url = \"" + url + "\"\n[a]\nb = 1\n", []Key{top}},
		{"another TOML value", "a.toml", "base_url = 'x' # y\n", "base_url = \"" + url + "\" # y\n", []Key{top}},
		{
			"a new table", "a.toml", "a = 1", "a = 1\n\n[mcp_servers.pleat]\ncommand = \"pleat\"\nargs = [\"mcp\"]\n",
			server,
		},
		{
			"a table that is there", "a.toml", "[mcp_servers.pleat]\nenabled = true\n[b]\n",
			"[mcp_servers.pleat]\nenabled = true\ncommand = \"pleat\"\nargs = [\"mcp\"]\n[b]\n", server,
		},
		{"Windows", "a.toml", "a = 1\r\n", "a = 1\r\nbase_url = \"" + url + "\"\r\n", []Key{top}},
		{
			"YAML", "a.yaml", "# c\nm: x\nlist:\n  - base_url: 1\n",
			"# c\nm: x\nlist:\n  - base_url: 1\nbase_url: \"" + url + "\"\n",
			[]Key{top},
		},
		{"YAML value", "a.yml", "base_url: x # y\nm: 1\n", "base_url: \"" + url + "\" # y\nm: 1\n", []Key{top}},
		{"env", ".env", "A=1", "A=1\nbase_url=" + url + "\n", []Key{top}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path, undo := filepath.Join(dir, "client", tt.file), filepath.Join(dir, "undo", "x.json")
			if tt.before != "" {
				write(t, path, tt.before)
			}
			for range 2 { // the second time changes nothing
				set(t, path, undo, tt.keys...)
				if got := read(t, path); got != tt.after {
					t.Fatalf("it has\n%s\nwant\n%s", got, tt.after)
				}
			}
			takeBack(t, undo)
			if got := read(t, path); got != tt.before {
				t.Errorf("after undo it has\n%s\nwant\n%s", got, tt.before)
			}
			if _, err := Undo(undo); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a second undo: %v", err)
			}
		})
	}
}

// TestUndoAfterChange takes a change back after somebody has changed the file.
func TestUndoAfterChange(t *testing.T) {
	env := []Key{{[]string{"env", "URL"}, url}}
	for _, tt := range []struct {
		name, file, before, change, after string
		keys                              []Key
	}{
		{
			"more keys", "a.json", "", `{"env": {"URL": "` + url + `"}, "permissions": {"allow": []}}`,
			`{"permissions": {"allow": []}}`, env,
		},
		{"last", "a.json", "", `{"a": 1, "env": {"URL": "` + url + `"}}`, `{"a": 1}`, env},
		{"in the object", "a.json", "", `{"env": {"URL": "` + url + `", "B": "2"}}`, `{"env": {"B": "2"}}`, env},
		{
			"another value since", "a.json", "{}", `{"env": {"URL": "https://else"}}`,
			`{"env": {"URL": "https://else"}}`, env,
		},
		{
			"had a value", "a.json", `{"env": {"URL": "old"}}`, `{"env": {"URL": "` + url + `"}, "b": 1}`,
			`{"env": {"URL": "old"}, "b": 1}`, env,
		},
		{
			"TOML", "a.toml", "", "x = 1\nopenai_base_url = \"" + url + "\"\n[projects]\n", "x = 1\n[projects]\n",
			[]Key{{[]string{"openai_base_url"}, url}},
		},
		{
			"TOML table", "a.toml", "x = 1\n", "x = 1\n\n[s.p]\nc = \"u\"\n\n[projects]\n", "x = 1\n\n[projects]\n",
			[]Key{{[]string{"s", "p", "c"}, "u"}},
		},
		{
			"comments before", "a.jsonc", "{\"a\": 1}",
			"{\n  \"a\": 1, // mine\n  // b\n  \"env\": {\"URL\": \"" + url + "\"}\n  // c\n}\n",
			"{\n  \"a\": 1 // mine\n  // b\n  // c\n}\n", env,
		},
		{
			"comments after", "a.jsonc", "{}",
			"{\n  \"env\": {\"URL\": \"" + url + "\"}, // mine\n  /* b */ \"b\": 2\n}\n",
			"{\n  // mine\n  /* b */ \"b\": 2\n}\n", env,
		},
		{
			"comments around", "a.jsonc", "{}", "{\"a\": 1, // a\n\"env\": {\"URL\": \"" + url + "\"}, \"b\": 2}",
			"{\"a\": 1, // a\n\"b\": 2}", env,
		},
		{
			"comment inside", "a.jsonc", "{}", "{\"env\": {\n  // mine\n  \"URL\": \"" + url + "\"\n}}",
			"{\"env\": {\n  // mine\n}}", env,
		},
		{"gone", "a.json", "{}", "{}", "{}", env},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path, undo := filepath.Join(t.TempDir(), tt.file), filepath.Join(t.TempDir(), "x.json")
			if tt.before != "" {
				write(t, path, tt.before)
			}
			set(t, path, undo, tt.keys...)
			write(t, path, tt.change)
			takeBack(t, undo)
			if got := read(t, path); got != tt.after {
				t.Errorf("after undo it has\n%s\nwant\n%s", got, tt.after)
			}
		})
	}
}

// TestUndoLeaves: a key that has another value now stays, and its former value is kept until
// that can be put back.
func TestUndoLeaves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	undo := path + ".undo"
	write(t, path, `{"a": "old", "b": 1}`)
	set(t, path, undo, Key{[]string{"a"}, url}, Key{[]string{"c"}, url})
	for _, tt := range []struct{ change, after, left string }{
		{`{"a": "else", "b": 1, "c": "` + url + `"}`, `{"a": "else", "b": 1}`, "a"},
		{`{"b": 1}`, `{"b": 1}`, "a"},
		{`{"a": "` + url + `", "b": 2}`, `{"a": "old", "b": 2}`, ""},
	} {
		write(t, path, tt.change)
		e, err := Undo(undo)
		must(t, err)
		if got := strings.Join(e.Left, " "); got != tt.left || e.Exact {
			t.Errorf("%s: left %q, want %q; exact %t", tt.change, got, tt.left, e.Exact)
		}
		if err := e.Write(); err != nil || read(t, path) != tt.after {
			t.Errorf("%s: %v, it has %s, want %s", tt.change, err, read(t, path), tt.after)
		}
	}
	if read(t, undo) != "" {
		t.Error("the record is still there")
	}
}

// TestAdded keeps the members of a list.
func TestAdded(t *testing.T) {
	key := Key{[]string{"set-env"}, Added{"A=1", "B=2"}}
	for before, after := range map[string]string{
		"":                             "set-env: [\"A=1\",\"B=2\"]\n",
		"set-env: [FOO=hunter2] # c\n": "set-env: [\"FOO=hunter2\",\"A=1\",\"B=2\"] # c\n",
		"set-env: FOO=hunter2\n":       "",
		"set-env:\n  - FOO=hunter2\n":  "",
	} {
		path := filepath.Join(t.TempDir(), "a.yml")
		write(t, path, before)
		e, err := Set(path, path+".undo", key)
		if after == "" {
			if err == nil {
				t.Errorf("%q became %q", before, e.After)
			}
			continue
		}
		must(t, err)
		if string(e.After) != after || strings.Contains(e.Diff(), "hunter2") || !strings.Contains(e.Diff(), "\"A=1\"") {
			t.Errorf("%q became %q, shown as\n%s", before, e.After, e.Diff())
		}
	}
}

// TestAddedObjects adds to lists of objects, as hooks are, and leaves the text of the others as
// it is. What is taken back is only what was added, whatever else the list has got since.
func TestAddedObjects(t *testing.T) {
	ours := map[string]any{"hooks": []any{map[string]any{"command": "pleat"}}}
	keys := []Key{{[]string{"hooks", "Start"}, Added{ours}}, {[]string{"hooks", "End"}, Added{ours}}}
	for _, tt := range []struct{ name, before, change, to, after string }{
		{"one", `{"hooks":{"Start":[ {"a":1} ]}}`, "", "", `{"hooks":{"Start":[ {"a":1} ]}}`},
		{"none", "{}\n", "", "", "{}\n"},
		{"empty", `{"hooks":{"Start":[]}}`, "", "", `{"hooks":{"Start":[]}}`},
		{
			"comments", "{\n  // mine\n  \"hooks\": {\n    \"Start\": [\n      {\"a\": 1}, // x\n    ]\n  }\n}\n", "",
			"", "{\n  // mine\n  \"hooks\": {\n    \"Start\": [\n      {\"a\": 1}, // x\n    ]\n  }\n}\n",
		},
		{
			"more since", `{"hooks":{"Start":[{"a":1}]}}`, `[{"a":1},`, `[{"a":1},{"b":2},`,
			`{"hooks":{"Start":[{"a":1},{"b":2}]}}`,
		},
		{"first since", `{"hooks":{"Start":[{"a":1}]}}`, `{"a":1},`, ``, `{"hooks":{"Start":[]}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.json")
			write(t, path, tt.before)
			set(t, path, path+".undo", keys...)
			if tt.change != "" {
				text := read(t, path)
				if !strings.Contains(text, tt.change) {
					t.Fatalf("it became %s", text)
				}
				write(t, path, strings.Replace(text, tt.change, tt.to, 1))
			}
			if e := takeBack(t, path+".undo"); e.Left != nil {
				t.Fatal(e.Left)
			}
			if got := read(t, path); strings.Join(strings.Fields(got), "") != strings.Join(strings.Fields(tt.after), "") ||
				tt.change == "" && got != tt.after {
				t.Errorf("it became %s, want %s", got, tt.after)
			}
		})
	}
}

// TestUndoInOrder takes two changes back in the order in which they were made: the bytes are those from
// before, wherever the braces are, and what is taken back is shown.
func TestUndoInOrder(t *testing.T) {
	ours := map[string]any{"command": "pleat"}
	for _, before := range []string{
		"{\n  \"hooks\": {\"Stop\": []},\n  \"model\": \"x\"\n}\n",
		"{\n  \"hooks\": { \"Stop\": [] }\n}\n",
		"{\"hooks\": {\"Stop\": [{\"a\": 1}]}}",
		"{\n  \"hooks\": {\n    \"Stop\": [] // mine\n  }\n}\n",
	} {
		path := filepath.Join(t.TempDir(), "a.json")
		write(t, path, before)
		for i, keys := range [][]Key{
			{{[]string{"hooks", "Start"}, Added{ours}}, {[]string{"hooks", "Stop"}, Added{ours}}},
			{{[]string{"env", "URL"}, url}},
		} {
			set(t, path, fmt.Sprint(path, ".", i+1), keys...)
		}
		for _, name := range []string{".1", ".2"} {
			e := takeBack(t, path+name)
			if diff := e.Diff(); name == ".1" && strings.Count(diff, `[{"command":"pleat"}]`) != 2 {
				t.Errorf("it does not show what it takes back:\n%s", diff)
			}
		}
		if got := read(t, path); got != before {
			t.Errorf("it became\n%s, want\n%s", got, before)
		}
	}
}

// TestCreate writes a file of our own, but not over another, and deletes it if it still is ours.
func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "a.js")
	undo := path + ".undo"
	create := func(text string) error {
		e, err := Create(path, undo, text)
		if err != nil {
			return err
		}
		if diff := e.Diff(); !strings.Contains(diff, "+ "+text) && read(t, path) != text {
			t.Errorf("shown as %q", diff)
		}
		return e.Write()
	}
	takeBack := func() *Edit {
		e := takeBack(t, undo)
		return e
	}
	for _, text := range []string{"one", "two", "two"} { // a newer one replaces ours
		if err := create(text); err != nil || read(t, path) != text {
			t.Fatal(err, read(t, path))
		}
	}
	write(t, path, "theirs")
	if e := takeBack(); e.Left == nil || read(t, path) != "theirs" {
		t.Errorf("a file that somebody changed is gone: %+v", e)
	}
	if err := create("one"); err == nil {
		t.Error("a file that somebody changed is replaced")
	}
	write(t, path, "two")
	if e := takeBack(); !e.Exact || read(t, path) != "" || read(t, undo) != "" {
		t.Errorf("it stays: %+v", e)
	}
}

func TestRefused(t *testing.T) {
	for name, text := range map[string]string{
		"a.json": `{"env": "none"}`,
		"b.json": `{"env": `,
		"c.toml": "env = { A = 1 }\n",
		"d.toml": "x = \"\"\"\n[env]\n\"\"\"\n",
		"e.yaml": "env:\n  A: 1\n",
		"f.ini":  "",
		"g.json": "[]", "h.json": "null",
	} {
		path := filepath.Join(t.TempDir(), name)
		write(t, path, text)
		if e, err := Set(path, path+".undo", Key{[]string{"env", "URL"}, url}); err == nil {
			t.Errorf("%s is changed to\n%s", name, e.After)
		}
		if read(t, path) != text {
			t.Errorf("%s was written", name)
		}
	}
}

// TestDiff shows what changes, and no key.
func TestDiff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	write(t, path, "{\n  \"apiKey\": \"hunter2\"\n}\n")
	undo := path + ".undo"
	e, err := Set(path, undo, Key{[]string{"url"}, url})
	must(t, err)
	want := "a.json\n+ url: \"" + url + "\"\n"
	if got := strings.ReplaceAll(e.Diff(), path, "a.json"); got != want {
		t.Errorf("the diff is\n%s\nwant\n%s", got, want)
	}
	must(t, e.Write())
	if text := read(t, undo); strings.Contains(text, "hunter2") {
		t.Errorf("the record holds a key:\n%s", text)
	}
	if e, err = Set(path, undo, Key{[]string{"url"}, url}); err != nil || e.Diff() != "" {
		t.Errorf("again: %v\n%s", err, e.Diff())
	}
}

// TestDiffHides shows no value that was there but the one that is replaced, and of lists and
// objects only what is set; the same when it is taken back.
func TestDiffHides(t *testing.T) {
	key := func(path ...string) Key { return Key{path, url} }
	for _, tt := range []struct {
		name, file, text string
		keys             []Key
		want             []string
	}{
		{
			"minified", "a.json", `{"env":{"T":"hunter2"}}`,
			[]Key{key("env", "URL")},
			[]string{"\n+ env.URL: \"" + url + "\"\n"},
		},
		{
			"two", "a.json", `{"a":{"k":"hunter2"},"c":{}}`,
			[]Key{key("a", "u"), key("c", "u")},
			[]string{"+ a.u: ", "+ c.u: "},
		},
		{
			"former address", "a.json", `{"URL":"https://corp","p":"hunter2"}`,
			[]Key{key("URL")},
			[]string{"- URL: \"https://corp\"\n+ URL: "},
		},
		{"password", "a.json", `{"URL":"https://u:hunter2@corp"}`, []Key{key("URL")}, []string{"- URL: "}},
		{
			"former object", "a.json", `{"p":{"X":"hunter2"}}`,
			[]Key{{[]string{"p"}, map[string]any{"x": 1}}},
			[]string{"- p: …\n+ p: {\"x\":1}\n"},
		},
		{
			"former list", "a.yml", "l: [hunter2]\n",
			[]Key{{[]string{"l"}, Added{"A=1"}}},
			[]string{"+ l, beside what is there: [\"A=1\"]\n"},
		},
		{"TOML", "a.toml", "[m]\nx = 'hunter2'\n[z]\n", []Key{key("m", "u")}, []string{"+ m.u: \"" + url}},
		{"env", ".env", "A=https://u:hunter2@h/\nB=hunter2 hunter2", []Key{key("URL")}, []string{"+ URL: \"" + url}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), tt.file)
			write(t, path, tt.text)
			e := set(t, path, path+".undo", tt.keys...)
			back, err := Undo(path + ".undo")
			must(t, err)
			diff := e.Diff()
			if strings.Contains(diff+back.Diff(), "hunter2") || back.Diff() == "" {
				t.Errorf("it shows a secret:\n%s%s", diff, back.Diff())
			}
			for _, want := range tt.want {
				if !strings.Contains(diff, want) {
					t.Errorf("it has no %q:\n%s", want, diff)
				}
			}
		})
	}
}

// TestChangedMeanwhile: what a client writes between plan and write stays.
func TestChangedMeanwhile(t *testing.T) {
	for _, before := range []string{"", `{"a": 1}`} {
		path := filepath.Join(t.TempDir(), "a.json")
		undo := path + ".undo"
		if before != "" {
			write(t, path, before)
		}
		e, err := Set(path, undo, Key{[]string{"url"}, url})
		must(t, err)
		write(t, path, `{"a": 2}`)
		if err := e.Write(); err == nil || read(t, path) != `{"a": 2}` || read(t, undo) != "" {
			t.Errorf("%q: %v, the file has %s, the record %s", before, err, read(t, path), read(t, undo))
		}
	}
}

// TestKept checks that a link stays a link and permissions stay.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "real.json"), filepath.Join(dir, "link.json")
	write(t, path, "{}")
	if err := errors.Join(os.Chmod(path, 0o640), os.Symlink(path, link)); err != nil {
		t.Skip(err)
	}
	set(t, link, filepath.Join(dir, "undo"), Key{[]string{"a"}, 1})
	l, err1 := os.Lstat(link)
	info, err2 := os.Stat(path)
	if err := errors.Join(err1, err2); err != nil || l.Mode()&fs.ModeSymlink == 0 || info.Mode().Perm() != 0o640 ||
		info.Size() < 5 {
		t.Errorf("%v: link %v, file %v", err, l.Mode(), info.Mode())
	}
}

// FuzzSetAndUndo: whatever can be set can be taken back exactly.
func FuzzSetAndUndo(f *testing.F) {
	for _, seed := range []string{
		"{}", "{\"a\": 1, // c\n}", "a = 1\n[env]\nX = 2\n", "a: 1\n", "A=1", "{\"env\":{}}", "",
		"\ufeff{}", "{\"a\":[{\"env\":1}]}",
	} {
		for i := range 4 {
			f.Add(seed, i)
		}
	}
	f.Fuzz(func(t *testing.T, text string, kind int) {
		name := []string{"a.json", "a.toml", "a.yaml", ".env"}[uint(kind)%4]
		s, err := syntaxOf(name)
		must(t, err)
		path := filepath.Join(t.TempDir(), name)
		write(t, path, text)
		key := []string{"env", "URL"}
		if l, ok := s.(lineSyntax); ok && !l.tables {
			key = key[1:]
		}
		e, err := Set(path, path+".undo", Key{key, url})
		if err != nil {
			return // what cannot be read is left alone
		}
		must(t, e.Write())
		takeBack(t, path+".undo")
		if got := read(t, path); got != text {
			t.Errorf("%q became %q, then %q", text, e.After, got)
		}
	})
}

// set sets keys in a file.
func set(t *testing.T, path, undo string, keys ...Key) *Edit {
	t.Helper()
	e, err := Set(path, undo, keys...)
	if err == nil {
		err = e.Write()
	}
	must(t, err)
	return e
}

func takeBack(t *testing.T, undo string) *Edit {
	t.Helper()
	e, err := Undo(undo)
	if err == nil {
		err = e.Write()
	}
	must(t, err)
	return e
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
}

// read is the text of a file; "" if there is none.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// A record that was damaged changes nothing that it should not, and does not panic.
func TestDamagedRecord(t *testing.T) {
	dir := t.TempDir()
	path, undo := filepath.Join(dir, "a.json"), filepath.Join(dir, "undo")
	write(t, path, `{"a": "old"}`)
	set(t, path, undo, Key{[]string{"a"}, url})
	whole := read(t, undo)
	for _, at := range []string{"-5", "3", "9999999"} {
		write(t, undo, strings.Replace(whole, `"at": 6`, `"at": `+at, 1))
		e, err := Undo(undo)
		must(t, err)
		if got := string(e.After); got != `{"a": "old"}` {
			t.Errorf("at %s: %s", at, got)
		}
	}
}

var must = difftest.Must
