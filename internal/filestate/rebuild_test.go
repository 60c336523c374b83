package filestate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
)

// step is a call with its answer, "!" before the answer of one that failed, "?" for none; or,
// without a tool, what the user says.
type step struct{ tool, input, answer string }

func run(command, answer string) step {
	in, _ := json.Marshal(map[string]string{"command": command})
	return step{"Bash", string(in), answer}
}

func edit(old, now string) step {
	in, _ := json.Marshal(map[string]string{"file_path": "/app/x.go", "old_string": old, "new_string": now})
	return step{"Edit", string(in), "The file /app/x.go has been updated successfully."}
}

var whole = step{"Read", `{"file_path":"/app/x.go"}`, "     1→a\n     2→b\n     3→c\n     4→"}

func filesOf(steps ...step) *Files {
	t := transcript.NewTranscript(transcript.User("do it"))
	var spoken []int
	for i, s := range steps {
		id := fmt.Sprint(i)
		if s.tool == "" {
			spoken = append(spoken, t.Len())
			t.Append(transcript.User(s.answer))
			continue
		}
		t.Append(transcript.Assistant(transcript.Call(id, s.tool, s.input)))
		if failed, ok := strings.CutPrefix(s.answer, "!"); ok {
			t.Append(transcript.Results(transcript.ErrorResult(id, failed)))
		} else if s.answer != "?" {
			t.Append(transcript.Results(transcript.Result(id, s.answer)))
		}
	}
	return Of(t, ledger.Of(t), spoken)
}

func TestRebuild(t *testing.T) {
	const known = "1 a\n2 b\n3 c\nof 3\n"
	const doubtful = "~1 a\n~2 b\n~3 c\nof 3\n"
	multi := step{
		"MultiEdit",
		`{"file_path":"/app/x.go","edits":[{"old_string":"a","new_string":"A"},{"old_string":"A\n","new_string":"A\nz\n"}]}`,
		"ok",
	}
	tests := []struct {
		name  string
		steps []step
		want  string
	}{
		{"read", []step{whole}, known},
		{"edited", []step{whole, edit("b", "x\ny")}, "1 a\n2 x\n3 y\n4 c\nof 4\n"},
		{"edited twice in a call", []step{whole, multi}, "1 A\n2 z\n3 b\n4 c\nof 4\n"},
		{"lines deleted", []step{whole, edit("b", "")}, "1 a\n2 c\nof 2\n"},
		{
			"a failed edit",
			[]step{
				whole,
				{
					"Edit",
					`{"file_path":"/app/x.go","old_string":"q","new_string":"r"}`,
					"!String to replace not found in file.",
				},
			},
			known,
		},
		{
			"an edit that did not find what is there",
			[]step{
				whole,
				{
					"Edit",
					`{"file_path":"/app/x.go","old_string":"b","new_string":"r"}`,
					"!String to replace not found in file.",
				},
			},
			doubtful,
		},
		{
			"an edit without a result",
			[]step{whole, {"Edit", `{"file_path":"/app/x.go","old_string":"b","new_string":"r"}`, "?"}},
			doubtful,
		},
		{
			"other spellings",
			[]step{
				whole,
				run("cd /app && sed -n '2,2p' x.go", "b"),
				{"write_file", `{"path":"x.go","content":"n\n"}`, "ok"},
			},
			"1 n\nof 1\n",
		},
		{"shown without empty lines", []step{run("cat /app/x.go", "a\nb\nc")}, doubtful},
		{"read, then shown without empty lines", []step{whole, run("cat /app/x.go", "a\nb\nc")}, known},
		{
			"read, then shown to be longer",
			[]step{whole, run("cat /app/x.go", "a\nb\nc\nd")},
			"~1 a\n~2 b\n~3 c\n~4 d\nof 4\n",
		},
		{"read, then shown to be another", []step{whole, run("cat /app/x.go", "a\nB\nc")}, "~1 a\n~2 B\n~3 c\nof 3\n"},
		{"sed -i", []step{whole, run("sed -i s/a/b/ /app/x.go", "")}, doubtful},
		{"sed -i of another file", []step{whole, run("sed -i s/a/b/ /app/y.go", "")}, known},
		{"git checkout", []step{whole, run("git checkout main", "Switched to branch 'main'")}, doubtful},
		{"a formatter", []step{whole, run("cd /app && gofmt -w .", "")}, doubtful},
		{"a formatter for another file", []step{whole, run("gofmt -w /app/y.go", "")}, doubtful},
		{"a task that formats", []step{whole, run("npm run format", "")}, doubtful},
		{
			"tests and looks",
			[]step{
				whole,
				run("go test ./... 2>&1 | tail -5", "ok"),
				run("git status && ls /app", ""),
				run("npm test", "ok"),
			},
			known,
		},
		{"a question to a database", []step{whole, run(`psql -c "SELECT 1"`, "1")}, known},
		{"a copy", []step{whole, run("cp /tmp/y.go /app/x.go", "")}, doubtful},
		{"looked at, then an unknown program", []step{whole, run("head -1 /app/x.go && ./tidy.sh", "a")}, doubtful},
		{"an unknown program", []step{whole, run("./tidy.sh", "")}, doubtful},
		{"another agent", []step{whole, {"Task", `{"prompt":"mend it"}`, "mended"}}, doubtful},
		{"the user spoke", []step{whole, {answer: "now this"}}, doubtful},
		{
			"unchanged since",
			[]step{
				whole,
				{answer: "now this"},
				{"Read", `{"file_path":"/app/x.go"}`, "File unchanged since last read. It is above."},
			},
			known,
		},
		{"removed", []step{whole, run("rm /app/x.go", "")}, "gone\n"},
		{"its directory removed", []step{whole, run("rm -rf /app", "")}, doubtful},
		{"here-document", []step{run("cat > /app/x.go <<'EOF'\na $b\nEOF", "")}, "1 a $b\nof 1\n"},
		{"here-document that is expanded", []step{whole, run("cat > /app/x.go <<EOF\na $b\nEOF", "")}, doubtful},
		{
			"apply_patch",
			[]step{
				whole,
				{
					"apply_patch",
					"*** Begin Patch\n*** Update File: /app/x.go\n@@\n a\n-b\n+B\n*** End Patch",
					"Success. Updated the following files:\nM /app/x.go",
				},
			},
			"1 a\n2 B\n3 c\nof 3\n",
		},
		{
			"apply_patch in a shell",
			[]step{
				whole,
				run(
					"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: /app/x.go\n@@\n b\n+x\n*** End Patch\nEOF",
					"Success. Updated the following files:\nM /app/x.go",
				),
			},
			"1 a\n2 b\n3 x\n4 c\nof 4\n",
		},
		{
			"renamed by a patch",
			[]step{{"Read", `{"file_path":"/app/old.go"}`, "     1→a\n     2→"}, moved("old.go", "x.go", " a\n+b")},
			"",
		},
		{
			"a list of replacements",
			[]step{
				whole,
				{
					"edit",
					`{"path":"/app/x.go","edits":[{"oldText":"a","newText":"A"},{"oldText":"c","newText":"C"}]}`,
					"Successfully replaced 2 block(s).",
				},
			},
			"1 A\n2 b\n3 C\nof 3\n",
		},
		{
			"an editor's insertion",
			[]step{
				whole,
				{
					"str_replace_editor",
					`{"command":"insert","path":"/app/x.go","insert_line":1,"new_str":"n"}`,
					"edited",
				},
			},
			"1 a\n2 n\n3 b\n4 c\nof 4\n",
		},
		{
			"an edit by line numbers",
			[]step{
				whole,
				{"edit", `{"path":"/app/x.go","start_line":1,"end_line":2,"replacement_text":"x"}`, "edited"},
			},
			doubtful,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fs := filesOf(tt.steps...)
			ids := fs.Find("app/x.go")
			if len(ids) != 1 {
				t.Fatalf("%d files", len(ids))
			}
			if got := show(fs.At(ids[0], 0)); got != tt.want {
				t.Errorf("got:\n%swant:\n%s", got, tt.want)
			}
		})
	}
}

func moved(from, to, hunk string) step {
	return step{
		"apply_patch",
		"*** Begin Patch\n*** Update File: /app/" + from + "\n*** Move to: /app/" + to + "\n@@\n" + hunk +
			"\n*** End Patch",
		"Success. Updated the following files:\nM /app/" + to,
	}
}

func TestRebuildEarlier(t *testing.T) {
	fs := filesOf(whole, edit("b", "x"), edit("x", "y"))
	id := fs.Find("x.go")[0]
	for call, want := range []string{
		"1 a\n2 y\n3 c\nof 3\n", "1 a\n2 b\n3 c\nof 3\n", "1 a\n2 x\n3 c\nof 3\n", "1 a\n2 y\n3 c\nof 3\n",
	} {
		if got := show(fs.At(id, call)); got != want {
			t.Errorf("after call %d:\n%s", call, got)
		}
	}
}
