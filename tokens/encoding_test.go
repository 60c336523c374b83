package tokens

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/model"
)

// Package model says which encodings a table may name, this package counts with them: they
// must agree.
func TestKnownEncodings(t *testing.T) {
	for name, known := range map[string]bool{
		"o200k_base": true, "chars/4": true, "chars/3.5": true, "chars/0.1": true, "chars/100": true, "chars/1e1": true,
		"": false, "cl100k_base": false, "o200k": false, "O200K_BASE": false, "p50k_base": false, "gpt2": false,
		"chars": false, "chars/": false, "chars/x": false,
		"chars/0":    false,
		"chars/0.09": false,
		"chars/101":  false,
		"chars/-4":   false,
		"chars/NaN":  false,
		"chars/Inf":  false,
		"chars/4 ":   false,
	} {
		row := fmt.Sprintf(`{"models": [{"id": "m", "window": 1000, "tokenizer": {"encoding": %q, "ratio": 1}}]}`, name)
		_, tableErr := model.ParseModels(strings.NewReader(row))
		counter, err := counterFor(name)
		if (err == nil) != known || (tableErr == nil) != known {
			t.Errorf("encoding %q: the counter says %v, the table of models %v; known: %v", name, err, tableErr, known)
		}
		if known && counter.Count("some text of a few words") <= 0 {
			t.Errorf("encoding %q counts nothing", name)
		}
	}
	for m := range model.DefaultModels().All() {
		if _, err := counterFor(m.Tokenizer.Encoding); err != nil {
			t.Errorf("model %s: %v", m.ID, err)
		}
	}
}
