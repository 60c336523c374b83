package gemini

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestConversations runs the conversations in testdata. Each is a txtar file: a
// sentence of purpose, the request, what to do to it, and what comes out.
//
//	request     a body
//	edits       lines "M.B text", "M.B -" to drop a block, "M -" to drop a message,
//	            "M + text" to put a message of our own before message M
//	decoded     the messages and blocks
//	violations  what Check says of the result, for a model that wants signatures
//	result      the body with the edits made
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/conversations/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			comment, parts := splitArchive(string(data))
			got := converse(t, parts)
			var out strings.Builder
			out.WriteString(comment)
			for _, name := range []string{"request", "edits", "decoded", "violations", "result"} {
				fmt.Fprintf(&out, "-- %s --\n%s", name, got[name])
				if got[name] != parts[name] && !*update {
					t.Errorf("%s: got\n%s\nwant\n%s", name, got[name], parts[name])
				}
			}
			if *update {
				if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// splitArchive takes a txtar file apart.
func splitArchive(data string) (comment string, parts map[string]string) {
	parts = make(map[string]string)
	name := ""
	for line := range strings.Lines(data) {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "-- ") && strings.HasSuffix(trimmed, " --") {
			name = strings.TrimSpace(trimmed[3 : len(trimmed)-3])
			parts[name] = ""
			continue
		}
		if name == "" {
			comment += line
		} else {
			parts[name] += line
		}
	}
	return comment, parts
}

func converse(t *testing.T, parts map[string]string) map[string]string {
	t.Helper()
	r := decode(t, parts["request"])
	var decoded strings.Builder
	for i, m := range r.Messages {
		for j, b := range m.Blocks().All() {
			o, _ := b.(transcript.Opaque)
			fmt.Fprintf(&decoded, "%d.%d %s %s %s%.40q\n", i, j, m.Role(), b.Kind(), o.Type, textOf(b))
		}
	}
	result, err := r.Splice(goldenView(t, len(r.Messages), parts["edits"]))
	if err != nil {
		t.Fatal(err)
	}
	model, _ := model.DefaultModels().Lookup("gemini-3.1-pro-preview")
	var violations strings.Builder
	for _, v := range decode(t, string(result)).Check(model) {
		fmt.Fprintf(&violations, "%s %s\n", v.Rule, v)
	}
	return map[string]string{
		"request": parts["request"], "edits": parts["edits"],
		"decoded": decoded.String(), "violations": violations.String(), "result": string(result),
	}
}

func goldenView(t *testing.T, n int, edits string) transcript.View {
	t.Helper()
	whole := transcript.Whole(n)
	drop, before := make(map[int]bool), make(map[int][]transcript.ViewMessage)
	for line := range strings.Lines(edits) {
		where, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		message, block, isBlock := strings.Cut(where, ".")
		i, err := strconv.Atoi(message)
		if err != nil || i > n {
			t.Fatalf("edit %q: %v", line, err)
		}
		switch {
		case isBlock:
			j, _ := strconv.Atoi(block)
			e := transcript.BlockEdit{Block: j, Text: what}
			if what == "-" {
				e = transcript.BlockEdit{Block: j, Drop: true}
			}
			whole.Messages[i].Edits = append(whole.Messages[i].Edits, e)
		case what == "-":
			drop[i] = true
		default:
			before[i] = append(before[i], transcript.ViewMessage{Source: -1, Made: transcript.User(strings.TrimPrefix(what, "+ "))})
		}
	}
	var v transcript.View
	for i := range n + 1 {
		v.Messages = append(v.Messages, before[i]...)
		if i < n && !drop[i] {
			v.Messages = append(v.Messages, whole.Messages[i])
		}
	}
	return v
}
