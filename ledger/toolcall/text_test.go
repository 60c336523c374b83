package toolcall

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ name, input, want string }{
		{
			"command", `{"command":"cd a &&\n  make","description":"Build a","timeout":5000}`,
			"cd a &&\n  make\ndescription: Build a\ntimeout: 5000",
		},
		{"argument vector", `{"command":["bash","-lc","ls -l\npwd"],"workdir":"/src"}`, "ls -l\npwd\nworkdir: /src"},
		{
			"content", `{"file_path":"a.go","content":"package a\n\nvar x = \"y\"\n"}`,
			"package a\n\nvar x = \"y\"\nfile_path: a.go",
		},
		{
			"edit",
			`{"replace_all":false,"file_path":"a.go","old_string":"{\n\tx := 1\n}","new_string":"{\n\tx := 2\n\ty := 3\n}"}`,
			"replace_all: false\nfile_path: a.go\n {\n-\tx := 1\n+\tx := 2\n+\ty := 3\n }",
		},
		{
			"an edit at both ends", `{"file_path":"a.go","old_string":"a\nb\nc\nd","new_string":"x\nb\nc\ny"}`,
			"file_path: a.go\n-a\n+x\n b\n c\n-d\n+y",
		},
		{
			"several edits", `{"path":"a.go","edits":[{"oldText":"a","newText":"b"},{"oldText":"c\nd","newText":""}]}`,
			"path: a.go\nedits:\n-a\n+b\n-c\n-d\n+",
		},
		{
			"patch", `{"input":"*** Begin Patch\n*** Update File: a.go\n-x\n+y\n*** End Patch"}`,
			"*** Begin Patch\n*** Update File: a.go\n-x\n+y\n*** End Patch",
		},
		{
			"editor", `{"command":"create","path":"a.txt","file_text":"one\ntwo"}`,
			"one\ntwo\ncommand: create\npath: a.txt",
		},
		{
			"task list", `{"todos":[{"content":"Fix it","status":"done"},{"content":"Test","status":"open"}]}`,
			"todos:\ncontent: Fix it; status: done\ncontent: Test; status: open",
		},
		{"lists", `{"paths":["a","b"],"deep":{"n":{"m":"x\ny"}}}`, "paths:\na\nb\ndeep:\nn:\nm:\nx\ny"},
		{"plain text", "*** Begin Patch\n", "*** Begin Patch\n"},
		{"a string", `"echo 1\n"`, "echo 1\n"},
		{"nothing", `{}`, `{}`},
		{"damaged", `{"command":"ls`, `{"command":"ls`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Text(c.input); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

// FuzzText: every line of every string of an input is in its text.
func FuzzText(f *testing.F) {
	f.Add(`{"command":"ls","a":{"old":"x","new":"y\nz"},"b":[1,"c\nd",{"e":null}]}`)
	f.Add(`{"content":"a","content":"b","input":"c","old_string":"p\nq","new_string":"p\nr"}`)
	f.Fuzz(func(t *testing.T, input string) {
		got := Text(input)
		var v any
		if json.Unmarshal([]byte(input), &v) != nil {
			return
		}
		var check func(v any, depth int)
		check = func(v any, depth int) {
			switch v := v.(type) {
			case string:
				for line := range strings.SplitSeq(v, "\n") {
					if !strings.Contains(got, line) && !strings.Contains(line, "\uFFFD") {
						t.Errorf("%q is not in the text:\n%s", line, got)
					}
				}
			case []any:
				for _, e := range v {
					check(e, depth+1)
				}
			case map[string]any:
				for name, e := range v {
					if depth < 3 && name != "command" && name != "cmd" {
						check(e, depth+1)
					}
				}
			}
		}
		check(v, 0)
	})
}
