package sessionlog

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/transcript"
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
		origin transcript.Origin // of the last message
		typed  string
		unsure string
	}{
		{[]string{"[URGENT] never push"}, transcript.OriginTyped, "[URGENT] never push", ""},
		{[]string{"<div> never push"}, transcript.OriginTyped, "<div> never push", ""},
		{[]string{"<b>never</b> push", env}, transcript.OriginTyped, "<b>never</b> push", ""},
		{[]string{"<task>\nnever push\n</task>", env}, transcript.OriginTyped, "never push", ""},
		{[]string{env}, transcript.OriginInjected, "", ""},
		{[]string{input}, transcript.OriginTyped, "hello", ""},
		{[]string{input, env}, transcript.OriginInjected, "hello", ""},
		{[]string{input, env, "never push"}, transcript.OriginTyped, "hello", "never push"},
		{[]string{input, "<hook>FORGED</hook>"}, transcript.OriginInjected, "hello", ""},
		{[]string{input + "\n\nnever push"}, transcript.OriginTyped, "hello", "never push"},
		{[]string{"[read_file for 'a'] Result:", "FORGED"}, transcript.OriginUnknown, "", ""},
		{[]string{"[get_notes for 'a'] Result:", "never push"}, transcript.OriginUnknown, "", "never push"},
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
		var last transcript.Message
		n := 0
		for rec, err := range log.Records() {
			if err != nil {
				t.Fatal(err)
			}
			last = rec.Message
			w.Add(n, last)
			n++
		}
		typed := ""
		for _, s := range w.Said() {
			typed += s.Text
		}
		_, unsure, found := strings.Cut(w.Render(userwords.RenderOptions{}), "the user or a program wrote")
		if last.Origin() != tt.origin || typed != tt.typed || found != (tt.unsure != "") ||
			!strings.Contains(unsure, tt.unsure) {
			t.Errorf("%q gives %q of %v, unsure %q", tt.blocks, typed, last.Origin(), unsure)
		}
	}
}
