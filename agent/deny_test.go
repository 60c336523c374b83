package agent_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/agent"
)

// spellings are ways to run rm victim, which the test's PATH has a harmless one of.
var spellings = []string{
	"mapfile -C 'rm victim' -c 1 <<<a", "hash -p bin/rm x; x victim", "shopt -s extglob\nbin/@(r)m victim",
	"rm \\\n victim", "\"r\\\nm\" victim",
	"rm victim", " \trm\tvictim", "rm  victim", "FOO=1 rm victim", "FOO=1 BAR='a b' rm victim", "a[0]=1 rm victim",
	"A+=1 rm victim", "A=(1 2) rm victim",
	"if true; then rm victim; fi", "if rm victim; then :; fi", "while rm victim; do break; done",
	"until rm victim && false; do break; done", "for x in 1; do rm victim; done",
	"set 1; for x do rm victim; done", "case a in a) rm victim;; esac", "case a in (a) rm victim;; esac",
	"{ rm victim; }", "(rm victim)", "! rm victim", "f() { rm victim; }; f", "function f { rm victim; }; f",
	"f() (rm victim); f", "[[ a = a ]] && rm victim", "[ a = a ] && rm victim", "((1)) && rm victim",
	"true && rm victim", "false || rm victim", "true | rm victim", "true |& rm victim", "true & rm victim",
	"true\nrm victim", "true # don't\nrm victim", "rm victim # x", "r\\\nm victim", "\\rm victim", "'rm' victim",
	`"rm" victim`, "r'm' victim", `r""m victim`, "r\\m victim", "$'rm' victim", `$'\x72m' victim`, `$"rm" victim`,
	"./bin/rm victim", "bin/../bin/rm victim", ">out rm victim", "2>&1 rm victim", "<victim rm victim",
	"rm >out victim", "rm victim>out", "{fd}>out rm victim", "$(rm victim)", "echo $(rm victim)", `echo "$(rm victim)"`,
	"echo `rm victim`", "echo \"`rm victim`\"", "echo \"`rm \\\"victim\\\"`\"", "cat <(rm victim)",
	"echo x > >(rm victim); wait $!", "x=$(rm victim)", "echo ${x:-$(rm victim)}", "echo ${x:-`rm victim`}",
	"echo ${x:-'}'$(rm victim)}", "echo $((1 + $(rm victim)))", "echo $(( `rm victim` ))", "cat <<E\n$(rm victim)\nE",
	"cat <<E\n`rm victim`\nE", "cat <<<$(rm victim)", "for x in $(rm victim); do :; done",
	"case $(rm victim) in x) ;; esac", "[[ $(rm victim) ]]", "env rm victim", "env FOO=1 rm victim",
	"env -i PATH=$PATH rm victim", "env -u X rm victim", "env -S 'rm victim'", "command rm victim",
	"command -p -- ./bin/rm victim", "exec rm victim", "exec -a x rm victim", "time rm victim", "time -p rm victim",
	"coproc rm victim; wait", "nohup rm victim", "nice -n 5 rm victim", "timeout 5 rm victim",
	"timeout -s KILL 5 rm victim", "echo victim | xargs rm", "echo victim | xargs -n 1 rm",
	"echo victim | env xargs rm", "env env env env rm victim", "echo victim | xargs -I{} rm {}",
	"echo victim | xargs sh -c 'rm victim'", "echo rm victim | xargs env", "echo rm victim | xargs -n 2 env FOO=1",
	"echo rm victim | xargs env -u X", "echo rm victim | xargs nice -n 5", "echo rm | xargs -I % env % victim",
	"echo rm | xargs -0I% sh -c '% victim'", "echo rm | xargs -I % env -u X % victim", "find victim -exec rm {} \\;",
	"find victim -exec sh -c 'rm victim' \\;", "sh -c 'rm victim'", `sh -c "rm victim"`, "sh -ec 'true; rm victim'",
	"bash -c rm\\ victim", `bash -c "bash -c 'rm victim'"`, "sh <<<'rm victim'", "sh <<E\nrm victim\nE",
	"sh -s <<'E'\nrm victim\nE", "eval rm victim", "eval 'rm victim'", `eval "true; rm" victim`, `eval 'r''m' victim`,
	`eval "echo '" "'; rm victim"`, "trap 'rm victim' EXIT", "shopt -s expand_aliases\nalias x=rm\nx victim",
	"x=rm; $x victim", "x='rm victim'; $x", "x=rm; ${x} victim", "x=m; r$x victim", "$(echo rm) victim",
	"`echo rm` victim", "{rm,victim}", "r{m,x} victim", "bin/r? victim", "bin/[r]m victim", "bin/r* victim",
	"bin/*m victim", "echo rm victim | sh", "echo rm victim | bash -s", "sh <(echo rm victim)", ". <(echo rm victim)",
	"echo rm victim | . /dev/stdin", "echo rm victim > s; sh < s", "x='a[$(rm victim)]'; echo $((x))",
	"x='$(rm victim)'; echo ${x@P}", "sh -c \"$(echo rm victim)\"", "x='rm victim'; eval \"$x\"",
	"x='rm victim'; sh -c \"$x\"", "echo 'rm victim' | tee s >/dev/null; source ./s || rm victim",
}

// shellWithRm makes a folder for commands: victim, and a bin with an rm that only says that
// it ran and the few programs that the spellings need.
func shellWithRm(t *testing.T) (ran func(command string) bool) {
	bash, err := exec.LookPath("bash")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("needs bash on Linux")
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "rm"), []byte("#!"+bash+"\necho >\""+dir+"/ran\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bash", "sh", "cat", "env", "nohup", "nice", "timeout", "xargs", "find", "tee"} {
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	mark := filepath.Join(dir, "ran")
	return func(command string) bool {
		if err := os.WriteFile(filepath.Join(dir, "victim"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(mark)
		cmd := exec.CommandContext(t.Context(), bash, "--norc", "-c", command)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + bin, "HOME=" + dir}
		_ = cmd.Run()
		_, err := os.Stat(mark)
		return err == nil
	}
}

// A rule that denies a command holds however the command is spelled. The shell itself says
// which spellings run it.
func TestDenyHoldsForEverySpelling(t *testing.T) {
	t.Parallel()
	ran := shellWithRm(t)
	for _, rules := range []agent.Rules{
		{Deny: []string{"bash(rm *)"}}, {Allow: []string{"bash(*)"}, Deny: []string{"bash(rm victim*)"}},
	} {
		for _, cmd := range spellings {
			if d, known := rules.Decide(agent.Call{Name: "bash", Subject: cmd}); d.Allow || !known {
				t.Errorf("%v let %q through", rules.Deny, cmd)
			}
		}
	}
	for _, cmd := range spellings {
		if !ran(cmd) {
			t.Errorf("%q does not run rm", cmd)
		}
	}
	// Spellings inside of others.
	frames := []string{
		"sh -c %q", "bash -c %q", "eval %q", "echo $(%s)", "(%s)", "{ %s\n}", "if true; then %s\nfi", "env sh -c %q",
		"true && %s", "echo \"$(%s)\"", "timeout 5 bash -c %q", "x=$(%s)", "! %s",
		"while true; do %s\nbreak; done", "f() { %s\n}; f",
	}
	rules, r := agent.Rules{Deny: []string{"bash(rm *)"}}, rand.New(rand.NewPCG(1, 2))
	did := 0
	for range 300 {
		cmd := spellings[r.IntN(len(spellings))]
		for range 1 + r.IntN(3) {
			frame := frames[r.IntN(len(frames))]
			if strings.Contains(frame, "%q") {
				frame, cmd = strings.Replace(frame, "%q", "%s", 1), "'"+strings.ReplaceAll(cmd, "'", `'\''`)+"'"
			}
			cmd = fmt.Sprintf(frame, cmd)
		}
		d, known := rules.Decide(agent.Call{Name: "bash", Subject: cmd})
		if denied := known && !d.Allow; !denied && ran(cmd) {
			t.Errorf("%q ran rm", cmd)
		} else if denied {
			did++
		}
	}
	if did < 250 {
		t.Errorf("%d of 300 denied", did)
	}
}

// A rule that denies one command leaves others alone, also where they speak of it.
func TestDenyLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	rules := agent.Rules{Deny: []string{"bash(rm *)", "bash(git push*)", "bash(*--no-verify*)"}}
	for _, cmd := range []string{
		"git rm x", "docker rm x", "grep rm file", "echo rm x", "which rm", "man rm", "cat rm.txt", "farm x", "rmdir x",
		"git commit -m 'rm x'", "git commit -m \"Do not rm x\"", "git pull && git status",
		"go test ./... 2>&1 | tail -5", "for f in a b; do cat a; done", "time go test ./internal",
		"timeout 60 curl -s example.com/a", "sh build.sh", "bash -c 'go build'", "awk '{print 1}' f",
		"find . -name x -print", "[ -f x ] && cat x", "sed 's/(a)/b/' f", "grep -E '(a|b)' f", "FOO=1 go test",
		"cat <<E\nhello\nE", "# rm x", "git log | head", "env FOO=1 go test", "source venv/bin/activate",
		"xs=1; [[ a == b ]] || echo no",
	} {
		if d, known := rules.Decide(agent.Call{Name: "bash", Subject: cmd}); known {
			t.Errorf("%q: %+v", cmd, d)
		}
	}
	narrow := agent.Rules{Deny: []string{"bash(rm *)"}}
	for _, cmd := range []string{
		"echo $HOME", "for f in *.go; do gofmt -l \"$f\"; done", "awk '{print $1}' f", "sed 's/(.*)/b;$x/' f",
		"grep -E '(a|b*)' \"$file\"", "jq '.[] | .x' f", "git commit -m \"Use `date` ($x)\"", "time go test $pkgs",
		"perl -pe 's/(.*)/$1/' f",
		"printf '%s; ' $x", "cat <<'E' > f\n${x} (y)\n$(date)\nE", "env FOO=$x go test",
		"find . -name '*.go' -exec gofmt -l {} +", "case $x in a) echo b;; esac", "x=$(git rev-parse HEAD)",
		"python3 -c 'print((1))'", "ls | xargs grep -n foo", "ls | xargs", "ls | xargs -n 1",
		"ls | xargs -I% cp % /tmp/%", "ls | xargs env LANG=C grep foo", "ls | xargs -0 nice -n 5 gofmt -l",
	} {
		if d, known := narrow.Decide(agent.Call{Name: "bash", Subject: cmd}); known {
			t.Errorf("%q: %+v", cmd, d)
		}
	}
}

// What cannot be read is denied where a rule denies something, and otherwise asked about.
func TestDenyWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	denies := agent.Rules{Allow: []string{"bash"}, Deny: []string{"bash(rm *)"}}
	allows := agent.Rules{Allow: []string{"bash(ls)", "bash(echo *)"}}
	for _, cmd := range []string{
		"echo 'a", `echo "a`, "echo $(a", "echo `a", "echo ${a", "echo $((1", "curl x | sh", "echo\r#; ls",
		"echo a\x00b", "$x",
		strings.Repeat("ls;", 30000) + "x", strings.Repeat("env ", 200) + "ls",
		strings.Repeat("sh -c 'env ;", 3000) + strings.Repeat("'", 3000),
		strings.Repeat("$(", 100) + strings.Repeat(")", 100),
	} {
		if d, known := denies.Decide(agent.Call{Name: "bash", Subject: cmd}); d.Allow || !known {
			t.Errorf("%.40q was allowed", cmd)
		}
		if d, known := allows.Decide(agent.Call{Name: "bash", Subject: cmd}); d.Allow || known {
			t.Errorf("%.40q was decided without a rule: %+v", cmd, d)
		}
	}
}
