package sessionlog_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/sessionlog"
)

// billed is what a file says it was billed for, all requests together.
type billed struct {
	Requests, Window int
	Usage            model.Usage
}

func (b *billed) add(input, cached, written, hour, output, reasoning any) {
	b.Requests++
	b.Usage.Input += number(input)
	b.Usage.CacheRead += number(cached)
	b.Usage.CacheWrite += number(written) - number(hour)
	b.Usage.CacheWrite1h += number(hour)
	b.Usage.Output += number(output)
	b.Usage.Reasoning += number(reasoning)
}

// TestCorpusUsage adds up what every reader hands out and compares with sums over the decoded
// JSON of the file, made without the package.
func TestCorpusUsage(t *testing.T) {
	sums := map[string]func(data []byte) billed{
		"claude-code": billedClaude, "codex": billedCodex, "opencode": billedOpenCode, "gemini-cli": billedGemini,
		"copilot-cli": billedCopilot, "pi": billedPi,
	}
	for _, path := range corpustest.Files(t) {
		sum := sums[filepath.Base(filepath.Dir(filepath.Dir(path)))]
		if sum == nil {
			continue // its format has no usage
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		log, err := sessionlog.Open(bytes.NewReader(data), &sessionlog.Options{Abandoned: true, Sidechains: true})
		if err != nil {
			t.Fatal(err)
		}
		var got billed
		for rec, err := range log.Records() {
			if err != nil {
				t.Fatal(err)
			}
			if u := rec.Usage; u != nil {
				got.add(
					float64(u.Input), float64(u.CacheRead), float64(u.CacheWrite+u.CacheWrite1h),
					float64(u.CacheWrite1h), float64(u.Output), float64(u.Reasoning),
				)
			}
		}
		got.Window = log.Info().Window
		want := sum(data)
		if d := difftest.Values(want, got); d != "" {
			t.Errorf("%s (- file, + reader):\n%s", path, d)
		}
		t.Logf("%s: %+v", filepath.Base(path), got)
	}
}

func decoded(data []byte) []object {
	lines, err := jsonLines(data)
	if err != nil {
		panic(err)
	}
	return lines
}

// billedClaude: every line of an answer repeats its usage, and the last has it complete. An
// automatic compaction below the usual window shows that this was the window.
func billedClaude(data []byte) (b billed) {
	last := map[string]any{}
	for _, o := range decoded(data) {
		if u := dig(o, "message", "usage"); u != nil && str(dig(o, "message", "model")) != "<synthetic>" {
			last[str(dig(o, "message", "id"))] = u
		}
		if meta := dig(o, "compactMetadata"); str(dig(meta, "trigger")) == "auto" &&
			number(dig(meta, "preTokens")) < 200_000 {
			b.Window = 200_000
		}
	}
	for _, u := range last {
		b.add(dig(u, "input_tokens"), dig(u, "cache_read_input_tokens"), dig(u, "cache_creation_input_tokens"),
			dig(u, "cache_creation", "ephemeral_1h_input_tokens"), dig(u, "output_tokens"), nil)
	}
	return b
}

// billedCodex takes the totals that the last report has.
func billedCodex(data []byte) (b billed) {
	var total any
	for _, o := range decoded(data) {
		info := dig(o, "payload", "info")
		if str(dig(o, "payload", "type")) != "token_count" || info == nil {
			continue
		}
		if now := dig(info, "total_token_usage"); total == nil ||
			number(dig(now, "total_tokens")) != number(dig(total, "total_tokens")) {
			b.Requests++
			total = now
		}
		b.Window = number(dig(info, "model_context_window"))
	}
	requests := b.Requests
	cached := number(dig(total, "cached_input_tokens"))
	b.add(
		float64(number(dig(total, "input_tokens"))-cached), float64(cached), nil, nil, dig(total, "output_tokens"),
		dig(total, "reasoning_output_tokens"),
	)
	b.Requests = requests
	return b
}

func document(data []byte) (o object) {
	if err := json.Unmarshal(data, &o); err != nil {
		panic(err)
	}
	return o
}

func billedOpenCode(data []byte) (b billed) {
	for _, m := range list(document(data)["messages"]) {
		if u := dig(m, "info", "tokens"); u != nil {
			thought := number(dig(u, "reasoning"))
			b.add(
				dig(u, "input"), dig(u, "cache", "read"), dig(u, "cache", "write"), nil,
				float64(number(dig(u, "output"))+thought), float64(thought),
			)
		}
	}
	return b
}

func billedGemini(data []byte) (b billed) {
	for _, m := range list(document(data)["messages"]) {
		if u := dig(m, "tokens"); u != nil {
			cached, thought := number(dig(u, "cached")), number(dig(u, "thoughts"))
			b.add(
				float64(number(dig(u, "input"))-cached), float64(cached), nil, nil,
				float64(number(dig(u, "output"))+thought),
				float64(thought),
			)
		}
	}
	return b
}

func billedCopilot(data []byte) (b billed) {
	for _, o := range decoded(data) {
		if n := number(dig(o, "data", "outputTokens")); n > 0 && strings.HasPrefix(typeOf(o), "assistant.message") {
			b.add(nil, nil, nil, nil, float64(n), nil)
		}
	}
	return b
}

func billedPi(data []byte) (b billed) {
	for _, o := range decoded(data) {
		if u := dig(o, "message", "usage"); u != nil {
			b.add(dig(u, "input"), dig(u, "cacheRead"), dig(u, "cacheWrite"), nil, dig(u, "output"), nil)
		}
	}
	return b
}
