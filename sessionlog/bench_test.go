package sessionlog_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/sessionlog"
)

// made is a Claude Code log of about 8 MB: rounds of a call and a result of 8 kB that the
// log repeats in its structured form.
func made() []byte {
	var b bytes.Buffer
	output := strings.Repeat(`\tif err != nil {\n\t\treturn fmt.Errorf(\"x\")\n\t}\n`, 160)
	parent := `null`
	for i := 0; b.Len() < 8<<20; i++ {
		fmt.Fprintf(
			&b,
			`{"parentUuid":%s,"isSidechain":false,"type":"assistant","message":{"id":"m%d","role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Bash","input":{"command":"go test"}}]},"uuid":"a%d","timestamp":"2026-01-02T03:04:05.000Z"}`+"\n",
			parent, i, i, i,
		)
		fmt.Fprintf(
			&b,
			`{"parentUuid":"a%d","isSidechain":false,"type":"user","message":{"role":"user","content":[{"tool_use_id":"t%d","type":"tool_result","content":"%s"}]},"toolUseResult":{"stdout":"%s"},"uuid":"u%d","timestamp":"2026-01-02T03:04:05.000Z"}`+"\n",
			i, i, output, output, i,
		)
		parent = fmt.Sprintf(`"u%d"`, i)
	}
	return b.Bytes()
}

func bench(b *testing.B, data []byte) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		log, err := sessionlog.Open(bytes.NewReader(data), nil)
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range log.Records() {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkClaudeCode(b *testing.B) { bench(b, made()) }

// BenchmarkCorpus reads the largest real file of each format.
func BenchmarkCorpus(b *testing.B) {
	dir := corpustest.Folders(b)[0]
	for _, name := range []string{"claude-code", "codex", "opencode", "gemini-cli", "copilot-cli", "pi"} {
		files, _ := filepath.Glob(filepath.Join(dir, name, "*", "*"))
		var largest []byte
		for _, file := range files {
			if data, err := os.ReadFile(file); err == nil && len(data) > len(largest) {
				largest = data
			}
		}
		b.Run(name, func(b *testing.B) { bench(b, largest) })
	}
}
