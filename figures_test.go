package pleat_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	placeholder = regexp.MustCompile(`\{([a-z0-9-]+)(%?)\}`)
	percentage  = regexp.MustCompile(`.{0,60}\d %`)
)

// stated is what a page can have where a sentence has a placeholder.
const stated = `(?:\d[\d.,]*(?: / \d+)?\b|[A-Z][^.|:]*?)`

// TestFigures: README, CHANGELOG and docs/measured.md state the figures and lists of docs/figures.json. For each page the
// file has sentences, in which {NAME} is a value and {NAME%} the same in percent.
func TestFigures(t *testing.T) {
	var file struct {
		Figures map[string]struct{ Value, Unit, Measured string }
		Pages   map[string][]string
	}
	text, err := os.ReadFile("docs/figures.json")
	must(t, err)
	must(t, json.Unmarshal(text, &file))
	used := make(map[string]bool)
	for page, sentences := range file.Pages {
		text, err := os.ReadFile(page)
		must(t, err)
		rest := strings.Join(strings.Fields(string(text)), " ")
		for _, sentence := range sentences {
			want := placeholder.ReplaceAllStringFunc(sentence, func(p string) string {
				name := placeholder.FindStringSubmatch(p)
				used[name[1]] = true
				return shown(t, file.Figures[name[1]].Value, name[2])
			})
			marked := regexp.QuoteMeta(placeholder.ReplaceAllString(sentence, "\x00"))
			found := regexp.MustCompile(strings.ReplaceAll(marked, "\x00", stated)).FindAllString(rest, -1)
			for _, f := range found {
				if f != want {
					t.Errorf("%s says %q, docs/figures.json %q", page, f, want)
				}
			}
			if len(found) == 0 {
				t.Errorf("%s lacks %q", page, sentence)
			}
			rest = strings.ReplaceAll(rest, want, "")
		}
		if left := percentage.FindString(rest); left != "" {
			t.Errorf("%s says %q, which docs/figures.json lacks", page, left)
		}
	}
	for name, f := range file.Figures {
		if !used[name] || f.Value == "" || f.Unit == "" || f.Measured == "" {
			t.Errorf("docs/figures.json: %s is stated nowhere, or lacks something: %+v", name, f)
		}
	}
}

// The check runs README's first commands as they stand there: what builds pleat, and what tests it.
func TestFiguresOfCommands(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	must(t, err)
	script, err := os.ReadFile(".ci/run")
	must(t, err)
	first, _, _ := strings.Cut(string(readme), "\n## ")
	for _, command := range []string{"go install ./cmd/pleat", "go test work"} {
		if !strings.Contains(first, "\n    "+command+" ") || !strings.Contains(string(script), " "+command) {
			t.Errorf("README's first screen or .ci/run lacks %q", command)
		}
	}
}

// shown is a value as a page states it.
func shown(t *testing.T, value, form string) string {
	t.Helper()
	if form == "" {
		return value
	}
	share, err := strconv.ParseFloat(value, 64)
	must(t, err)
	return fmt.Sprintf("%.0f", 100*share)
}
