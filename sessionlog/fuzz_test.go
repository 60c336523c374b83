package sessionlog_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/transcript"
)

func FuzzClaudeCode(f *testing.F)      { fuzz(f, sessionlog.ClaudeCode) }
func FuzzCodex(f *testing.F)           { fuzz(f, sessionlog.Codex) }
func FuzzOpenCode(f *testing.F)        { fuzz(f, sessionlog.OpenCode) }
func FuzzGeminiCLI(f *testing.F)       { fuzz(f, "gemini-cli") }
func FuzzCopilotCLI(f *testing.F)      { fuzz(f, "copilot-cli") }
func FuzzPi(f *testing.F)              { fuzz(f, sessionlog.Pi) }
func FuzzAnthropic(f *testing.F)       { fuzz(f, "anthropic") }
func FuzzOpenAIChat(f *testing.F)      { fuzz(f, "openai-chat") }
func FuzzOpenAIResponses(f *testing.F) { fuzz(f, "openai-responses") }
func FuzzQwenCode(f *testing.F)        { fuzz(f, "qwen-code") }
func FuzzCline(f *testing.F)           { fuzz(f, "cline") }
func FuzzOpenHands(f *testing.F)       { fuzz(f, "openhands") }

// fuzz reads anything as one format. Whatever it is: no panic, no empty message, the same
// result twice, raw elements that are JSON, and strict mode differs by its error only.
func fuzz(f *testing.F, format sessionlog.Format) {
	for name, data := range fixtures(f) {
		if detected, err := sessionlog.Detect(bytes.NewReader(data)); err != nil {
			f.Fatalf("%s: %v", name, err)
		} else if detected == format {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		opts := sessionlog.Options{Sidechains: true, Abandoned: true}
		first := shapes(t, sessionlog.OpenAs(data, format, opts))
		if d := difftest.Values(first, shapes(t, sessionlog.OpenAs(data, format, opts))); d != "" {
			t.Errorf("reading twice gives two results:\n%s", d)
		}
		opts.Strict = true
		strict := shapes(t, sessionlog.OpenAs(data, format, opts))
		if len(strict) > len(first) || !slices.Equal(strict, first[:len(strict)]) {
			t.Errorf("strict mode reads other records: %v, want a prefix of %v", strict, first)
		}
	})
}

type shape struct {
	Role   transcript.Role
	Blocks int
	Text   string
	Line   int
}

func shapes(t *testing.T, log *sessionlog.Log) (all []shape) {
	for rec, err := range log.Records() {
		if err != nil {
			break
		}
		m := rec.Message
		if m.Blocks().Len() == 0 {
			t.Error("a message without blocks")
		}
		if m.Format() != transcript.FormatNone && !json.Valid([]byte(m.Raw())) {
			t.Errorf("raw element is not JSON: %q", m.Raw())
		}
		if rec.Line < 1 {
			t.Errorf("line %d", rec.Line)
		}
		all = append(all, shape{m.Role(), m.Blocks().Len(), m.Text(), rec.Line})
	}
	return all
}

// FuzzDetect opens anything without being told what it is.
func FuzzDetect(f *testing.F) {
	for _, data := range fixtures(f) {
		f.Add(data)
		f.Add(data[:len(data)*2/3])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		log, err := sessionlog.Open(bytes.NewReader(data), nil)
		if err != nil {
			return
		}
		shapes(t, log)
		for i := 1; i < min(log.Sessions(), 3); i++ {
			if one, err := sessionlog.Open(bytes.NewReader(data), &sessionlog.Options{Session: i}); err == nil {
				shapes(t, one)
			}
		}
	})
}
