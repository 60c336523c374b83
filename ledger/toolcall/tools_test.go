package toolcall_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// gist writes facts shortly: kind, "?" if it may change something, and the paths with
// the first letter of what happens to them, "~" for parts.
func gist(f toolcall.CallFacts) string {
	var b strings.Builder
	b.WriteString(f.Kind.String())
	if !f.Harmless {
		b.WriteByte('!')
	}
	for _, p := range f.Paths {
		fmt.Fprintf(&b, " %c:%s", p.Change.String()[0], p.Path)
		if p.First > 0 || p.Last > 0 {
			fmt.Fprintf(&b, ":%d-%d", p.First, p.Last)
		}
		if p.Some {
			b.WriteByte('~')
		}
		if p.Source != "" {
			b.WriteString("<" + p.Source)
		}
	}
	return b.String()
}

func TestDescribeCall(t *testing.T) {
	patch := "*** Begin Patch\n*** Add File: a.go\n+x\n*** Update File: b.go\n*** Move to: c.go\n@@\n-*** Delete File: no.go\n*** Delete File: d.go\n*** End Patch"
	quoted, _ := json.Marshal(patch)
	tests := []struct{ tool, input, want, args string }{
		// Claude Code
		{"Read", `{"file_path":"/w/a.go","offset":10,"limit":20}`, "read r:/w/a.go:10-29", "/w/a.go:10-29"},
		{"Write", `{"content":"x","file_path":"/w/a.go"}`, "create! c:/w/a.go", "/w/a.go"},
		{"Edit", `{"file_path":"/w/a.go","old_string":"a","new_string":"b"}`, "edit! e:/w/a.go", "/w/a.go"},
		{"NotebookEdit", `{"notebook_path":"n.ipynb","new_source":"x"}`, "edit! e:n.ipynb", "n.ipynb"},
		{"Grep", `{"pattern":"x","path":"src","glob":"*.go"}`, "read r:src~", "x in *.go in src"},
		{"TodoWrite", `{"todos":[]}`, "other", "todos=[]"},
		{"Task", `{"description":"look","prompt":"p"}`, "other!", "description=look prompt=p"},
		{"WebFetch", `{"url":"https://e.org","prompt":"p"}`, "net", "https://e.org"},
		// Codex
		{"shell", `{"command":["bash","-lc","cat a.go"],"workdir":"/w"}`, "read r:a.go", "cat a.go"},
		{"shell_command", `{"command":"sed -n '1,20p' a.go"}`, "read r:a.go:1-20", "sed -n '1,20p' a.go"},
		{"exec_command", `{"cmd":"go test ./..."}`, "run!", "go test ./..."},
		{"apply_patch", patch, "edit! c:a.go d:b.go c:c.go<b.go d:d.go", "A a.go, D b.go, A c.go, D d.go"},
		{"shell", `{"command":["apply_patch",` + string(quoted) + `]}`, "edit! c:a.go d:b.go c:c.go<b.go d:d.go", ""},
		{"update_plan", `{"plan":[]}`, "other", "plan=[]"},
		// opencode, Gemini CLI, Copilot CLI, pi
		{"apply_patch", `{"patchText":` + string(quoted) + `}`, "edit! c:a.go d:b.go c:c.go<b.go d:d.go", ""},
		{"read", `{"filePath":"a.go"}`, "read r:a.go", "a.go"},
		{"replace", `{"file_path":"a.go","old_string":"x","new_string":"y"}`, "edit! e:a.go", "a.go"},
		{"list_directory", `{"dir_path":"src"}`, "read r:src~", "src"},
		{"run_shell_command", `{"command":"ls","description":"d"}`, "read", "ls"},
		{"view", `{"path":"a.go","view_range":[3,-1]}`, "read r:a.go:3-0", "a.go:3-"},
		{"edit", `{"path":"a.go","edits":[{"oldText":"x","newText":"y"}]}`, "edit! e:a.go", "a.go"},
		{"str_replace_editor", `{"command":"view","path":"a.go"}`, "read r:a.go", "a.go"},
		{"str_replace_based_edit_tool", `{"command":"create","path":"a.go","file_text":"x"}`, "create! c:a.go", "a.go"},
		// ours
		{"unfold", `{"handle":"h"}`, "read", "handle=h"},
		{"load_skill", `{"name":"x"}`, "other", "name=x"},
		{"glob", `{"pattern":"**/*.go"}`, "read", "**/*.go"},
		// nobody's
		{"mcp__box__frob", `{"path":"a","n":1}`, "other! o:a", "path=a n=1"},
		{"send_mail", `{"to":"x","password":"hunter2"}`, "other!", "to=x password=…"},
		{"bash", `{"comm`, "run!", ""},
		{"bash", ``, "run!", ""},
		{"", `[1]`, "other!", "[1]"},
		{
			"PowerShell",
			`{"command":"Remove-Item Env:\\X, a.txt,b.txt -Recurse -ErrorAction SilentlyContinue *> $null"}`,
			`delete! d:a.txt d:b.txt`,
			"",
		},
		{
			"PowerShell",
			`{"command":"Set-Location D:\\w; Get-ChildItem -Path src -Filter *.go | ForEach-Object { Remove-Item -LiteralPath old.go -Force }"}`,
			`delete! r:src~ d:old.go`, "",
		},
		{
			"PowerShell",
			`{"command":"Set-Content -Path a.txt -Value 'b.txt' -Encoding utf8; Add-Content b.txt 'c.txt'; 'x' | Out-File -FilePath:c.txt -Append"}`,
			`run! c:a.txt e:b.txt e:c.txt`, "",
		},
		{
			"PowerShell",
			`{"command":"$t = @'\nrm no.go > no.txt\n'@\n[IO.File]::WriteAllText('D:\\w\\a.txt', $t)"}`,
			`run!`,
			"",
		},
		{"PowerShell", `{"command":"Select-String -Path $f -Pattern 'a/b.go' -AllMatches 2>nul"}`, `read`, ""},
		{
			"powershell",
			`{"command":"Remove-Item C:\\w\\a.txt; Get-Content b.txt"}`,
			`delete! d:C:\w\a.txt r:b.txt`,
			`Remove-Item C:\w\a.txt; Get-Content b.txt`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.tool, func(t *testing.T) {
			f := toolcall.DescribeCall(transcript.Call("1", tt.tool, tt.input))
			if got := gist(f); got != tt.want {
				t.Errorf("%s %s\n got %s\nwant %s", tt.tool, tt.input, got, tt.want)
			}
			if tt.args != "" && f.Args != tt.args {
				t.Errorf("%s %s: args %q, want %q", tt.tool, tt.input, f.Args, tt.args)
			}
		})
	}
}

type call struct{ tool, input string }

func shellCall(command string) call {
	in, _ := json.Marshal(map[string]string{"command": command})
	return call{"bash", string(in)}
}

func TestDescribeShell(t *testing.T) {
	tests := []struct{ command, want, normal string }{
		{"cat a.go b.go", "read r:a.go r:b.go", ""},
		{"cat 'a file.go' | head -20", "read r:a file.go:1-20", "cat 'a file.go'"},
		{"cat a.go | grep x | wc -l", "read r:a.go~", "cat a.go"},
		{"tail -n +30 a.go; tail -20 a.go", "read r:a.go~", ""},
		{"head -c 100 a.go", "read r:a.go~", ""},
		{"grep -rn -A 3 'x y' src", "read r:src~", ""},
		{"grep -rn -e x -e y src", "read r:src~", ""},
		{"grep -n --include '*.go' pattern src/a.go", "read r:src/a.go~", ""},
		{"rg -n -g '*.ts' \"a|b\" src test", "read r:src~ r:test~", ""},
		{"find . -name '*.go' -not -path './x/*'", "read r:.~", ""},
		{"find . -name '*.tmp' -delete", "delete! r:.~", ""},
		{"find . -name '*.go' -exec gofmt -w {} +", "run! r:.~", ""},
		{"git --no-pager diff -- a.go", "read r:a.go~", ""},
		{"git branch --show-current && git stash list", "run!", ""},
		{"git branch -D old", "run!", ""},
		{"ls && pwd; echo done", "read", ""},
		{"echo hi > a.txt", "create! c:a.txt", "echo hi"},
		{"echo hi >> a.txt 2>/dev/null", "edit! e:a.txt", "echo hi"},
		{"go build ./... > /dev/null 2>&1", "run!", "go build ./..."},
		{"cat > a.go <<'EOF'\npackage a // > b.go\nrm c.go\nEOF\ngofmt -w a.go", "run! c:a.go", ""},
		{"cat <<EOF | tee -a a.txt b.txt >/dev/null\nx\nEOF", "edit! e:a.txt e:b.txt", ""},
		{
			"mkdir -p a/b && cp x.go a/b/ && mv y.go z.go && rm -rf old",
			"delete! c:a/b r:x.go~ c:a/b/<x.go d:y.go c:z.go<y.go d:old",
			"",
		},
		{"sed -i '' 's/a/b/' x.go y.go", "edit! e:x.go e:y.go", ""},
		{"sed -i.bak -e s/a/b/ x.go", "edit! e:x.go", ""},
		{"perl -pi -e 's/a/b/' x.go", "edit! e:x.go", ""},
		{"chmod +x run.sh && ./run.sh", "run! e:run.sh", ""},
		{"git checkout -- a.go && git restore b.go", "edit! e:a.go e:b.go", ""},
		{"git checkout main", "run!", ""},
		{"git mv a.go b.go", "edit! d:a.go c:b.go<a.go", ""},
		{"git add -A && git commit -m \"$(cat <<'EOF'\nfix: x > y\n\nrm -rf /\nEOF\n)\" && git push", "net!", ""},
		{"FOO=1 cd x && BAR=2 go test ./... 2>&1 | tail -5", "run!", "BAR=2 go test ./..."},
		{"cd /w/app && npm test", "run!", "npm test"},
		{"timeout 60 npm install", "net!", ""},
		{"curl -s https://e.org | jq '.a | .b'", "net", "curl -s https://e.org"},
		{"curl -X POST -d @f https://e.org", "net!", ""},
		{"curl -o a.zip https://e.org", "net! c:a.zip", ""},
		{"gh pr view 5 --json title", "net", ""},
		{"gh api repos/o/r/pulls/5/comments -f body=hi", "net!", ""},
		{"bash -lc 'cat a.go && rm b.go'", "delete! r:a.go d:b.go", ""},
		{"sudo rm /etc/x", "delete! d:/etc/x", ""},
		{"ls *.go | xargs -n 1 rm", "delete! r:*.go~", ""},
		{"for f in a b; do echo $f > $f.txt; done", "create!", ""},
		{"if [ -f a ]; then cat a; fi", "read r:a", ""},
		{"rm \"$DIR/x\"", "delete!", ""},
		{"x=$(cat a.go) && echo \"$x\"", "read r:a.go", ""},
		{"diff <(sort a) <(sort b)", "read r:a~ r:b~", ""},
		{"python3 - <<'EOF'\nopen('b.txt', 'w').write('x')\nEOF", "run!", ""},
		{
			"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.go\n@@\n-a\n+b\n*** End Patch\nEOF",
			"edit! e:a.go",
			"",
		},
		{"git apply <<'EOF'\n--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n--- gone\n+++ b/no.go\nEOF", "edit! e:x.go", ""},
		{"prettier --write a.ts b.ts", "run!", ""},
		{"go build -o bin/app ./cmd/app", "run! c:bin/app", ""},
		{"go version", "read", ""},
		{"make --version", "run!", ""},
		{"git checkout -- .", "edit!", ""},
		{"mise run test 2>&1 | grep -E 'FAIL|---' | head -20", "run!", "mise run test"},
		{"# just a comment\nls", "read", ""},
		{"echo $'it\\'s' > a", "create! c:a", ""},
		{"", "run!", ""},
		{"'unclosed > a", "run!", ""},
		{"cat <<EOF", "read", ""},
	}
	for _, tt := range tests {
		f := toolcall.DescribeCall(transcript.Call("1", "bash", shellCall(tt.command).input))
		if got := gist(f); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.command, got, tt.want)
		}
		if tt.normal != "" && f.Command != tt.normal {
			t.Errorf("%s: command %q, want %q", tt.command, f.Command, tt.normal)
		}
	}
}

func TestDescribeCallHidesSecrets(t *testing.T) {
	for _, command := range []string{
		"curl -H 'Authorization: Bearer sk-ant-REDACTED' https://e.org",
		"API_KEY=abc123secret456 ./deploy",
		"deploy --password abc123secret456",
		"git clone https://ghp_abc123secret456abcdefghij@github.com/o/r",
		"OPENAI_API_KEY='sk-proj-abc123secret456abcdefghij' run",
	} {
		f := toolcall.DescribeCall(transcript.Call("1", "bash", shellCall(command).input))
		if all := f.Args + f.Command; strings.Contains(all, "abc123secret456") {
			t.Errorf("%s: shows %q", command, all)
		}
	}
}

func TestDescribeResult(t *testing.T) {
	run, look := shellCall("make test"), shellCall("cat err.log")
	filtered, search := shellCall("make test | tail -3"), shellCall("rg x src")
	file, change := call{"read_file", `{"path":"a"}`}, call{"edit_file", `{"path":"a"}`}
	tests := []struct {
		name string
		call call
		text string
		want string // outcome, exit code, error line
	}{
		{"plain", run, "all good\n", "ok -"},
		{"claude", run, "Exit code 2\nmake: *** [x] Error 2", "error 2 make: *** [x] Error 2"},
		{"codex", run, "Exit code: 0\nWall time: 1 seconds\nOutput:\nFAIL\n", "ok 0"},
		{
			"codex failed",
			run,
			"Exit code: 1\nWall time: 1 seconds\nOutput:\nx.go:1:2: undefined: y\n",
			"error 1 x.go:1:2: undefined: y",
		},
		{"codex exec", run, "Chunk ID: 1\nWall time: 1\nProcess exited with code 3\nOutput:\nboom\n", "error 3 boom"},
		{
			"codex json",
			run,
			`{"output":"x\nfatal: no\n","metadata":{"exit_code":128,"duration_seconds":0.1}}`,
			"error 128 fatal: no",
		},
		{"pi", run, "--- FAIL: TestX (0.0s)\n\n\nCommand exited with code 1", "error 1 --- FAIL: TestX (0.0s)"},
		{"gemini", run, "Output: x\nExit Code: 1\nProcess Group PGID: 77", "error 1 Output: x"},
		{"copilot", run, "boom\n<exited with exit code 1>", "error 1 boom"},
		{"no code, plain failure", run, "ok a\nFAIL\tb [build failed]\n", "error - FAIL\tb [build failed]"},
		{"filtered", filtered, "Exit code: 0\nOutput:\n--- FAIL: TestX\nFAIL\n", "error 0 --- FAIL: TestX"},
		{
			"filtered tests", filtered, " Test Files  1 failed | 11 passed (12)\n",
			"error - Test Files  1 failed | 11 passed (12)",
		},
		{
			"filtered tests that passed", filtered, "Error: shown by a test\n Test Files  12 passed (12)\n 0 fail\n",
			"ok -",
		},
		{"no test failed", filtered, "Tests: 12 passed, 0 failed\n", "ok -"},
		{"a program's status", run, "boom\nexit status 2\n", "error - boom"},
		{"a program's status 0", run, "ok a\nexit status 0\n", "ok -"},
		{
			"pnpm", run, "\u2009ELIFECYCLE\u2009 Command failed with exit code 2.\n",
			"error - ELIFECYCLE\u2009 Command failed with exit code 2.",
		},
		{
			"push", shellCall("git pull && git push"), "fatal: Could not read from remote repository.\n\nPlease\n",
			"error - fatal: Could not read from remote repository.",
		},
		{
			"remote", shellCall("ssh web 'deploy | tee log'"), "starting\nbash: line 1: deploy: command not found\n",
			"error - bash: line 1: deploy: command not found",
		},
		{
			"a log that was only shown",
			look,
			"Traceback (most recent call last):\nValueError: x\nFAIL\nbash: x: command not found\n",
			"ok -",
		},
		{"a log that says how a command ended", look, "a\nb\nExit code: 1\n", "ok -"},
		{"a log whose last line does", look, "a\nexit status 1\n", "ok -"},
		{
			"python",
			run,
			"Traceback (most recent call last):\n  File \"x\"\nValueError: bad\n",
			"error - ValueError: bad",
		},
		{"search without a match", search, "Exit code: 1\nWall time: 0\nOutput:\n", "ok 1"},
		{
			"search that failed",
			search,
			"Exit code: 2\nOutput:\nsrc/error.go:1: Error: x\nrg: lib: No such file or directory",
			"error 2 rg: lib: No such file or directory",
		},
		{"tool error", file, "<tool_use_error>File does not exist.</tool_use_error>", "error - File does not exist."},
		{"short error", file, "Error: ENOENT: no such file", "error - Error: ENOENT: no such file"},
		{
			"a file about errors",
			file,
			"Error: is the first word of this file.\n" + strings.Repeat("more text\n", 100),
			"ok -",
		},
		{
			"patch failed",
			call{"apply_patch", ""},
			"apply_patch verification failed: Failed to find expected lines in a:\nError: x",
			"error - apply_patch verification failed: Failed to find expected lines in a:",
		},
		{
			"rejected",
			change,
			"The user doesn't want to proceed with this tool use.",
			"error - The user doesn't want to proceed with this tool use.",
		},
		{"json error", call{"mcp__x", "{}"}, `{"error": "nope"}`, `error - {"error": "nope"}`},
		{"json without error", call{"mcp__x", "{}"}, `{"error": null, "a": 1}`, "ok -"},
		{
			"interrupted",
			run,
			"[Request interrupted by user for tool use]",
			"error - [Request interrupted by user for tool use]",
		},
		{"empty", run, "", "ok -"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			facts := toolcall.DescribeCall(transcript.Call("1", tt.call.tool, tt.call.input))
			f := toolcall.DescribeResult(facts, transcript.Result("1", tt.text))
			code := "-"
			if f.ExitCode != nil {
				code = fmt.Sprint(*f.ExitCode)
			}
			got := strings.TrimSpace(fmt.Sprint(f.Outcome, " ", code, " ", f.ErrorLine))
			if got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if f.Outcome == toolcall.Failed && !strings.Contains(strings.ReplaceAll(tt.text, `\n`, "\n"), f.ErrorLine) {
				t.Errorf("error line %q is not in the text", f.ErrorLine)
			}
		})
	}
	f := toolcall.DescribeResult(
		toolcall.DescribeCall(transcript.Call("1", "x", "{}")), transcript.Result("1", "a\nb\nc"),
	)
	if f.Lines != 3 || f.Bytes != 5 {
		t.Errorf("size %d lines, %d bytes", f.Lines, f.Bytes)
	}
}

func FuzzDescribe(f *testing.F) {
	for _, s := range []string{
		`{"command":"cat <<EOF > a\nx\nEOF"}`, `{"command":["bash","-lc","$(("]}`, `{"path":1}`,
		"*** Begin Patch\n*** Move to: x", "{", "`$(${", `{"command":"a <<<b $'"}`,
	} {
		f.Add("bash", s, "Exit code: 1\nx", false)
		f.Add("apply_patch", s, "Success. Updated the following files:\nM a", true)
		f.Add("read", s, `{"output":"`, false)
	}
	f.Fuzz(func(t *testing.T, tool, input, answer string, failed bool) {
		c := toolcall.DescribeCall(transcript.Call("1", tool, input))
		if len(c.Args) > 210 || strings.Contains(c.Args, "\n") || c.Signature == "" {
			t.Errorf("bad facts %+v", c)
		}
		r := transcript.Result("1", answer)
		r.Error = failed
		d := toolcall.DescribeResult(c, r)
		if failed && d.Outcome != toolcall.Failed || d.Bytes != len(answer) {
			t.Errorf("bad facts %+v", d)
		}
		for _, script := range []string{input, answer} {
			toolcall.DescribeCall(transcript.Call("1", "bash", shellCall(script).input))
		}
		if _, err := json.Marshal(c); err != nil {
			t.Error(err)
		}
	})
}
