package sessionfile

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
)

// What show says a session cost, and how many requests it had, against the file's own words,
// which are read here with encoding/json alone: pi writes the cost of every request, Codex
// the tokens of all of them together.
func TestCorpusShow(t *testing.T) {
	files := 0
	for _, path := range corpustest.Files(t) {
		data, err := os.ReadFile(path)
		difftest.Must(t, err)
		var requests, window int
		var usd float64
		switch filepath.Base(filepath.Dir(filepath.Dir(path))) {
		case "pi":
			requests, usd = saidByPi(t, data)
		case "codex":
			requests, window, usd = saidByCodex(t, data)
		default:
			continue
		}
		files++
		p := &term.Console{Stderr: io.Discard, Getenv: func(string) string { return "" }}
		f, err := Read(t.Context(), p, path, Flags{})
		difftest.Must(t, err)
		o, err := Overview(f, 10, p.Progress())
		difftest.Must(t, err)
		if got := len(o.Window.Prompts); got != requests {
			t.Errorf("%s: %d requests, the file has %d", path, got, requests)
		}
		if math.Abs(o.USD-usd) > 1e-6 {
			t.Errorf("%s: $%.6f, by the file $%.6f", path, o.USD, usd)
		}
		if window > 0 && o.Window.Size != window {
			t.Errorf("%s: window %d, the file says %d", path, o.Window.Size, window)
		}
		t.Logf("%s: %d requests, $%.2f, window %d", filepath.Base(path), requests, usd, o.Window.Size)
	}
	if files == 0 {
		t.Skip("no session of pi or Codex in PLEAT_CORPUS")
	}
}

func saidByPi(t *testing.T, data []byte) (requests int, usd float64) {
	t.Helper()
	for line := range strings.Lines(string(data)) {
		var o struct {
			Message struct {
				Usage *struct {
					TotalTokens int
					Cost        struct{ Total float64 }
				}
			}
		}
		difftest.Must(t, json.Unmarshal([]byte(line), &o))
		if u := o.Message.Usage; u != nil && u.TotalTokens > 0 {
			requests++
			usd += u.Cost.Total
		}
	}
	return requests, usd
}

func saidByCodex(t *testing.T, data []byte) (requests, window int, usd float64) {
	t.Helper()
	type tokens struct {
		Input     int `json:"input_tokens"`
		Cached    int `json:"cached_input_tokens"`
		Output    int `json:"output_tokens"`
		Reasoning int `json:"reasoning_output_tokens"`
	}
	var total tokens
	name := ""
	for line := range strings.Lines(string(data)) {
		var o struct {
			Payload struct {
				Type, Model string
				Info        json.RawMessage
			}
		}
		difftest.Must(t, json.Unmarshal([]byte(line), &o))
		if o.Payload.Model != "" {
			name = o.Payload.Model
		}
		var info struct {
			Total  tokens `json:"total_token_usage"`
			Window int    `json:"model_context_window"`
		}
		if o.Payload.Type != "token_count" || json.Unmarshal(o.Payload.Info, &info) != nil || info.Total == total {
			continue
		}
		requests++
		total, window = info.Total, info.Window
	}
	m, _ := model.DefaultModels().Lookup(name)
	price, _ := m.PriceAt(1) // no prompt of the corpus reaches the price tier of long ones
	usd = float64(total.Input-total.Cached)*price.Input + float64(total.Cached)*price.CacheRead +
		float64(total.Output)*price.Output
	return requests, window, usd / 1e6
}
