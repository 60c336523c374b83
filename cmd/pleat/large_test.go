package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// writeLarge writes a Claude Code session of about so many bytes: turns of a person, rounds
// of reading, editing and running with results of all sizes, one result of 100 MB if there
// is room for it.
func writeLarge(w io.Writer, size int64) error {
	r := rand.New(rand.NewPCG(7, 11))
	text := sourceText(r, 1<<20)
	quoted := func(n int) string {
		at := r.IntN(len(text) - n)
		q, _ := json.Marshal(text[at : at+n])
		return string(q)
	}
	parent, n, written := "null", 0, int64(0)
	var failed error
	add := func(kind, content string) {
		n++
		id := strconv.Quote(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))
		answer := ""
		if kind == "assistant" {
			answer = fmt.Sprintf(`"id":"msg_%d","model":"claude-opus-4-5-20251101",`, n)
		}
		k, err := fmt.Fprintf(w, `{"parentUuid":%s,"isSidechain":false,"cwd":"/home/dev/shop","sessionId":"large","version":"2.1.7","type":%q,"message":{%s"role":%q,"content":%s},"uuid":%s,"timestamp":"2026-01-02T10:00:00.000Z"}`+"\n",
			parent, kind, answer, kind, content, id)
		parent, written = id, written+int64(k)
		if err != nil {
			failed = err
		}
	}
	huge := size > 400<<20
	for i := 0; written < size && failed == nil; i++ {
		if i%25 == 0 {
			add("user", strconv.Quote(fmt.Sprintf("Now fix part %d of the upload. Never touch legacy/part%d: it is frozen.", i, i)))
		}
		file := fmt.Sprintf("/home/dev/shop/src/part%04d.go", r.IntN(4000))
		call, result := fmt.Sprintf(`"name":"Read","input":{"file_path":%q}`, file), quoted(500+r.IntN(12_000))
		switch {
		case huge && written > size/2:
			huge = false
			call, result = `"name":"Bash","input":{"command":"cat everything.log"}`, `"`+strings.Repeat("one more line of the log that never ends\\n", 100<<20/41)+`"`
		case i%5 == 2:
			call = fmt.Sprintf(`"name":"Edit","input":{"file_path":%q,"old_string":%s,"new_string":%s}`, file, quoted(300), quoted(400))
			result = `"The file has been updated."`
		case i%5 == 4:
			call = fmt.Sprintf(`"name":"Bash","input":{"command":"go test ./src/part%d/..."}`, r.IntN(400))
			result = quoted(2_000)
		}
		add("assistant", fmt.Sprintf(`[{"type":"text","text":%s},{"type":"tool_use","id":"toolu_%d",%s}]`, quoted(120), i, call))
		add("user", fmt.Sprintf(`[{"type":"tool_result","tool_use_id":"toolu_%d","content":%s}]`, i, result))
	}
	add("assistant", `[{"type":"text","text":"Done: the limit was 1 MB; it is 10 MB now."}]`)
	return failed
}

// sourceText is text that looks like code.
func sourceText(r *rand.Rand, size int) string {
	words := strings.Fields("parse token session store fold view ledger budget line handle retry wire upload limit error result")
	name := func() string {
		return fmt.Sprintf("%s%s%d", words[r.IntN(len(words))], "Of"+words[r.IntN(len(words))], r.IntN(900))
	}
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "\tif %s, err := %s(ctx, %s); err != nil {\n\t\treturn fmt.Errorf(\"%s %s: %%w\", err)\n\t}\n", name(), name(), name(), words[r.IntN(len(words))], name())
	}
	return b.String()
}

// A session file larger than memory should be is shown and compacted in bounded memory. The
// size in megabytes is PLEAT_LARGE; the test reports time and peak memory of both commands
// and of reading the folded session again.
func TestLargeSession(t *testing.T) {
	size, err := strconv.ParseInt(os.Getenv("PLEAT_LARGE"), 10, 64)
	if err != nil || size <= 0 {
		t.Skip("PLEAT_LARGE is not set: megabytes of a session to make, show and compact")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "large.jsonl")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err := writeLarge(w, size<<20); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"show", file}, {"compact", file, "--budget", "60k"}} {
		cmd := exec.Command(self)
		cmd.Args = append([]string{"pleat"}, args...)
		cmd.Env = append(os.Environ(), "PLEAT_STORE="+filepath.Join(dir, "pleat.db"))
		var out, told strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &told
		start := time.Now()
		if err := cmd.Run(); err != nil {
			t.Fatalf("pleat %s: %v\n%s", args[0], err, told.String())
		}
		peak := peakMemory(cmd.ProcessState)
		cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		t.Logf("pleat %s of %d MB: %.1f s, %.1f s of processor time, peak memory %d MB", args[0], size, time.Since(start).Seconds(), cpu.Seconds(), peak>>20)
		limit := int64(256<<20) + size<<20*6/10 // what is known of each message
		if peak > limit {
			t.Errorf("pleat %s took %d MB of memory, want at most %d", args[0], peak>>20, limit>>20)
		}
		if out.Len() == 0 {
			t.Errorf("pleat %s said nothing", args[0])
		}
	}
}
