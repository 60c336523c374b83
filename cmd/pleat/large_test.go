package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// writeLarge writes a Claude Code session of about so many bytes: turns of a person, rounds
// of reading, editing and running with results of all sizes, one result of 100 MB if there
// is room for it. It returns the number of messages and the size of the longest.
func writeLarge(w io.Writer, size int64) (messages int, longest int64, err error) {
	r := rand.New(rand.NewPCG(7, 11))
	text := sourceText(r, 1<<20)
	quoted := func(n int) string {
		at := r.IntN(len(text) - n)
		q, _ := json.Marshal(text[at : at+n])
		return string(q)
	}
	parent, n, written := "null", 0, int64(0)
	var failed error
	add := func(kind string, content ...string) {
		n++
		id := strconv.Quote(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))
		answer := ""
		if kind == "assistant" {
			answer = fmt.Sprintf(`"id":"msg_%d","model":"claude-opus-4-5-20251101",`, n)
		}
		before := fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"cwd":"/home/dev/shop","sessionId":"large","version":"2.1.7","type":%q,"message":{%s"role":%q,"content":`, parent, kind, answer, kind)
		after := fmt.Sprintf(`},"uuid":%s,"timestamp":"2026-01-02T10:00:00.000Z"}`+"\n", id)
		k := 0
		for _, part := range slices.Concat([]string{before}, content, []string{after}) {
			if _, err := io.WriteString(w, part); err != nil {
				failed = err
			}
			k += len(part)
		}
		parent, written, longest = id, written+int64(k), max(longest, int64(k))
	}
	huge := size > 400<<20
	for i := 0; written < size && failed == nil; i++ {
		if i%25 == 0 {
			add("user", strconv.Quote(fmt.Sprintf("Now fix part %d of the upload. Never touch legacy/part%d: it is frozen.", i,
				i/25%200)))
		}
		file := fmt.Sprintf("/home/dev/shop/src/part%04d.go", r.IntN(4000))
		call, result := fmt.Sprintf(`"name":"Read","input":{"file_path":%q}`,
			file), []string{quoted(500 + r.IntN(12_000))}
		switch {
		case huge && written > size/2:
			huge = false
			call = `"name":"Bash","input":{"command":"cat everything.log"}`
			some := strings.Repeat("one more line of the log that never ends\\n", 1000)
			// never whole in this process
			result = slices.Concat([]string{`"`}, slices.Repeat([]string{some}, 100<<20/len(some)), []string{`"`})
		case i%5 == 2:
			call = fmt.Sprintf(`"name":"Edit","input":{"file_path":%q,"old_string":%s,"new_string":%s}`, file,
				quoted(300), quoted(400))
			result = []string{`"The file has been updated."`}
		case i%5 == 4:
			call = fmt.Sprintf(`"name":"Bash","input":{"command":"go test ./src/part%d/..."}`, r.IntN(400))
			result = []string{quoted(2_000)}
		}
		add("assistant", fmt.Sprintf(`[{"type":"text","text":%s},{"type":"tool_use","id":"toolu_%d",%s}]`, quoted(120),
			i, call))
		add("user", slices.Concat([]string{
			fmt.Sprintf(`[{"type":"tool_result","tool_use_id":"toolu_%d","content":`, i),
		},
			result, []string{`}]`})...)
	}
	add("assistant", `[{"type":"text","text":"Done: the limit was 1 MB; it is 10 MB now."}]`)
	return n, longest, failed
}

// sourceText is text that looks like code.
func sourceText(r *rand.Rand, size int) string {
	words := strings.Fields("parse token session store fold view ledger budget line handle retry wire upload limit " +
		"error result")
	name := func() string {
		return fmt.Sprintf("%s%s%d", words[r.IntN(len(words))], "Of"+words[r.IntN(len(words))], r.IntN(900))
	}
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "\tif %s, err := %s(ctx, %s); err != nil {\n\t\treturn fmt.Errorf(\"%s %s: %%w\", err)\n\t}\n",
			name(), name(), name(), words[r.IntN(len(words))], name())
	}
	return b.String()
}

// usedBy is what one command took.
type usedBy struct {
	cpu  time.Duration
	peak int64 // bytes of memory
}

// largeFile makes a session file of so many megabytes in a folder.
func largeFile(t *testing.T, dir string, size int64) (file string, messages int, longest int64) {
	t.Helper()
	file = filepath.Join(dir, fmt.Sprintf("large%d.jsonl", size))
	f, err := os.Create(file)
	must(t, err)
	w := bufio.NewWriterSize(f, 1<<20)
	if messages, longest, err = writeLarge(w, size<<20); err == nil {
		err = w.Flush()
	}
	must(t, errors.Join(err, f.Close()))
	return file, messages, longest
}

// tellPeak writes the most memory that this process has taken into the file that PEAK_FILE names,
// where the system tells. What it tells others counts also what the process that started it had taken.
func tellPeak() {
	if file := os.Getenv("PEAK_FILE"); file != "" {
		status, _ := os.ReadFile("/proc/self/status")
		_ = os.WriteFile(file, status, 0o600)
	}
}

// toldPeak reads it.
func toldPeak(file string) int64 {
	status, _ := os.ReadFile(file)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, _ := strconv.ParseInt(kilobytes, 10, 64)
	return n << 10
}

// runPleat runs a command in a process of its own.
func runPleat(t *testing.T, dir string, args ...string) usedBy {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Args = append([]string{"pleat"}, args...)
	cmd.Env = append(os.Environ(), "PLEAT_STORE="+filepath.Join(dir, "pleat.db"),
		"PEAK_FILE="+filepath.Join(dir, "peak"))
	var out, told strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &told
	start := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("pleat %s: %v\n%s", args[0], err, told.String())
	}
	if out.Len() == 0 {
		t.Errorf("pleat %s said nothing", args[0])
	}
	u := usedBy{
		cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		cmp.Or(toldPeak(filepath.Join(dir, "peak")), peakMemory(cmd.ProcessState)),
	}
	t.Logf("pleat %s %s: %.1f s, %.1f s of processor time, peak memory %d MB", args[0], strings.Join(args[2:], " "),
		time.Since(start).Seconds(), u.cpu.Seconds(), u.peak>>20)
	return u
}

// A session file larger than memory should be is shown, planned, compacted, and compacted
// again to another budget from what the store has, in memory that grows with the number of messages
// by some hundred bytes each and with the longest line, and in time that grows with the
// file. The size in megabytes is PLEAT_LARGE; without it a file is made that is just large
// enough not to be kept in memory.
func TestLargeSession(t *testing.T) {
	const kept = 16 // the most megabytes of a file whose messages stay in memory
	size, err := strconv.ParseInt(os.Getenv("PLEAT_LARGE"), 10, 64)
	if err != nil || size <= 0 {
		size = kept + 4
	}
	if testing.Short() {
		t.Skip("short: a file of some megabytes is made, shown and compacted")
	}
	t.Parallel()
	dir := t.TempDir()
	file, messages, longest := largeFile(t, dir, size)
	t.Logf("%d MB, %d messages, the longest line has %d bytes", size, messages, longest)
	var perMB time.Duration
	if small := size / 8; small > kept {
		file, _, _ := largeFile(t, dir, small)
		perMB = runPleat(t, dir, "compact", file, "--budget", "60k").cpu / time.Duration(small)
	}
	// What the work itself needs, what is known of each message, and copies of a long line.
	limit := int64(256<<20) + int64(messages)*500
	if longest > 4<<20 { // it is stored on its own
		limit += 4 * longest
	}
	for _, args := range [][]string{
		{"show", file},
		{"compact", file, "--dry-run"},
		{"compact", file, "--budget", "60k"},
		{"compact", file, "--budget", "30k"},
	} {
		used := runPleat(t, dir, args...)
		if used.peak > limit {
			t.Errorf("pleat %s took %d MB of memory, want at most %d", strings.Join(args, " "),
				used.peak>>20, limit>>20)
		}
		if most := 3 * perMB * time.Duration(size); perMB > 0 && used.cpu > most {
			t.Errorf("pleat %s took %v of processor time, want at most %v: three times as long for each megabyte as a smaller "+
				"file", strings.Join(args, " "), used.cpu, most)
		}
	}
}
