package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/pleat-dev/pleat/tokens"
)

// benchSession is a session file of about 4 MB: a real one where PLEAT_BENCH_SESSION
// names it.
func benchSession(b *testing.B) string {
	if name := os.Getenv("PLEAT_BENCH_SESSION"); name != "" {
		return name
	}
	file := filepath.Join(b.TempDir(), "session.jsonl")
	must(b, os.WriteFile(file, longSession(2_900), 0o644))
	return file
}

// readAndCount is the floor that compacting is measured against.
func readAndCount(b *testing.B, file string) {
	f, err := os.Open(file)
	must(b, err)
	defer f.Close()
	log, err := sessionlog.Open(f, nil)
	must(b, err)
	model, _ := model.DefaultModels().Lookup("claude-opus-4-5")
	count := tokens.NewTokenizer(model, nil)
	for rec, err := range log.Records() {
		must(b, err)
		count.CountMessage(rec.Message)
	}
}

// BenchmarkCompact folds a session of 4 MB to 60,000 tokens, store and output included,
// and reports how many times as long that takes as reading and counting it ("ratio"), in
// turns, and the same for the time that the processors worked ("cpu-ratio"), which does not
// depend on what else the machine does. The store is there already, as it is from the first
// command of a user on, with nothing in it. It indexes for search after the command is done.
func BenchmarkCompact(b *testing.B) {
	file := benchSession(b)
	info, err := os.Stat(file)
	must(b, err)
	b.SetBytes(info.Size())
	dir := b.TempDir()
	readAndCount(b, file) // loads the vocabulary, which is neither's
	n := 0
	var read, compact spent
	for b.Loop() {
		n++
		read.add(func() { readAndCount(b, file) })
		env := map[string]string{"PLEAT_STORE": filepath.Join(dir, strconv.Itoa(n)+".db")}
		made, err := sqlite.Open(env["PLEAT_STORE"], nil)
		must(b, err)
		must(b, made.Close())
		var told bytes.Buffer
		p := &term.Console{
			Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &told,
			Getenv: func(k string) string { return env[k] },
		}
		compact.add(func() {
			if code := execute(b.Context(), p, []string{"compact", file, "--budget", "60k"}); code != 0 {
				b.Fatal(told.String())
			}
		})
	}
	b.ReportMetric(float64(compact.wall)/float64(read.wall), "ratio")
	b.ReportMetric(float64(read.wall.Microseconds())/1e3/float64(n), "read-ms")
	if read.cpu > 0 {
		b.ReportMetric(float64(compact.cpu)/float64(read.cpu), "cpu-ratio")
		b.ReportMetric(float64(read.cpu.Microseconds())/1e3/float64(n), "read-cpu-ms")
		b.ReportMetric(float64(compact.cpu.Microseconds())/1e3/float64(n), "cpu-ms")
	}
}

// spent is what something took.
type spent struct{ wall, cpu time.Duration }

// add does it once more. What was garbage before is not its own.
func (s *spent) add(do func()) {
	runtime.GC()
	start, cpu := time.Now(), processorTime()
	do()
	s.wall += time.Since(start)
	s.cpu += processorTime() - cpu
}
