package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/sessionlog"
)

// benchSession is a session file of about 4 MB: a real one where PLEAT_BENCH_SESSION
// names it.
func benchSession(b *testing.B) string {
	if name := os.Getenv("PLEAT_BENCH_SESSION"); name != "" {
		return name
	}
	file := filepath.Join(b.TempDir(), "session.jsonl")
	if err := os.WriteFile(file, longSession(2_900), 0o644); err != nil {
		b.Fatal(err)
	}
	return file
}

// readAndCount is the floor that compacting is measured against.
func readAndCount(b *testing.B, file string) {
	f, err := os.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	log, err := sessionlog.Open(f, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	model, _ := pleat.DefaultModels().Lookup("claude-opus-4-5")
	count := pleat.NewTokenizer(model, nil)
	for rec, err := range log.Records() {
		if err != nil {
			b.Fatal(err)
		}
		count.CountMessage(rec.Message)
	}
}

// BenchmarkCompact folds a session of 4 MB to 60,000 tokens, store and output included,
// and reports how many times as long that takes as reading and counting it ("ratio"). The
// store indexes for search after the command is done.
func BenchmarkCompact(b *testing.B) {
	file := benchSession(b)
	info, err := os.Stat(file)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	dir := b.TempDir()
	n := 0
	var floor, all time.Duration
	for b.Loop() {
		start := time.Now()
		readAndCount(b, file)
		read := time.Now()
		n++
		env := map[string]string{"PLEAT_STORE": filepath.Join(dir, strconv.Itoa(n)+".db")}
		var told bytes.Buffer
		p := &program{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &told, getenv: func(k string) string { return env[k] }}
		if code := p.run(b.Context(), []string{"compact", file, "--budget", "60k"}); code != 0 {
			b.Fatal(told.String())
		}
		floor += read.Sub(start)
		all += time.Since(read)
	}
	b.ReportMetric(float64(all)/float64(floor), "ratio")
	b.ReportMetric(float64(floor.Milliseconds())/float64(n), "read-ms")
}
