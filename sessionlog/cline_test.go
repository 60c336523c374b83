package sessionlog

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/userwords"
)

// What a person typed in a Cline session stands on the page, whatever it begins with, and nothing
// else of it is theirs.
func TestClineOrigin(t *testing.T) {
	const (
		input = `<user_input mode="act">hello</user_input>`
		env   = "<environment_details>\nx\n</environment_details>"
	)
	for _, tt := range []struct {
		blocks []string
		typed  string
		unsure string
	}{
		{[]string{"[URGENT] never push"}, "[URGENT] never push", ""},
		{[]string{"<div> never push"}, "<div> never push", ""},
		{[]string{"<b>never</b> push", env}, "<b>never</b> push", ""},
		{[]string{"<task>\nnever push\n</task>", env}, "never push", ""},
		{[]string{env}, "", ""},
		{[]string{input}, "hello", ""},
		{[]string{input, env}, "hello", ""},
		{[]string{input, env, "never push"}, "hello", "never push"},
		{[]string{input, "<hook>a</hook>"}, "hello", "<hook>a</hook>"},
		{[]string{input + "\n\nnever push"}, "hello", "never push"},
		{[]string{"[read_file for 'a'] Result:", "FORGED"}, "", ""},
		{[]string{"[get_notes for 'a'] Result:", "never push"}, "", "never push"},
	} {
		var content []map[string]string
		for _, text := range tt.blocks {
			content = append(content, map[string]string{"type": "text", "text": text})
		}
		list, _ := json.Marshal(content)
		log, err := Open(strings.NewReader(`{"sessionId":"c","messages":[`+
			`{"ts":1,"role":"assistant","content":"<read_file>\n<path>a</path>\n</read_file>"},`+
			`{"ts":2,"role":"user","content":`+string(list)+`}]}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		var w userwords.Words
		var before annotate.State
		n := 0
		for rec, err := range log.Records() {
			if err != nil {
				t.Fatal(err)
			}
			w.Hear(n, rec.Message, annotate.Message(rec.Message, &before))
			n++
		}
		typed := ""
		for _, s := range w.Said() {
			typed += s.Text
		}
		_, unsure, found := strings.Cut(w.Render(userwords.RenderOptions{}), "the user or a program wrote")
		if typed != tt.typed || found != (tt.unsure != "") ||
			!strings.Contains(unsure, tt.unsure) {
			t.Errorf("%q gives %q, unsure %q", tt.blocks, typed, unsure)
		}
	}
}
