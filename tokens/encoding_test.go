package tokens_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
)

// A table names only encodings that can be counted with.
func TestKnownEncodings(t *testing.T) {
	for name, count := range map[string]int{ // of eight letters; 0: unknown
		"o200k_base": 1, "chars/4": 2, "chars/3.5": 3, "chars/0.1": 80, "chars/100": 1, "chars/1e1": 1,
		"": 0, "cl100k_base": 0, "o200k": 0, "O200K_BASE": 0, "p50k_base": 0, "gpt2": 0,
		"chars": 0, "chars/": 0, "chars/x": 0, "chars/0": 0, "chars/0.09": 0, "chars/101": 0,
		"chars/-4": 0, "chars/NaN": 0, "chars/Inf": 0, "chars/4 ": 0,
	} {
		row := fmt.Sprintf(`{"models": [{"id": "m", "window": 1000, "tokenizer": {"encoding": %q, "ratio": 1}}]}`, name)
		table, err := model.ParseModels(strings.NewReader(row))
		if (err == nil) != (count > 0) {
			t.Errorf("encoding %q: the table of models says %v", name, err)
		} else if count > 0 {
			m, _ := table.Lookup("m")
			if n := tokens.NewTokenizer(m, nil).CountText("response"); n != count {
				t.Errorf("encoding %q counts %d, want %d", name, n, count)
			}
		}
	}
}
