// Package wiretest has what the tests of several wires share.
package wiretest

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Converse decodes a body, splices the view that edits make of its messages into it, and
// describes what it found.
type Converse func(t *testing.T, body string, edits func(messages int) transcript.View) (decoded, violations,
	result string)

// Conversations runs the conversations in testdata. Each is a txtar file: a sentence of
// purpose, the request, what to do to it, and what comes out.
//
//	request     a body
//	edits       lines "M.B text", "M.B -" to drop a block, "M -" to drop a message,
//	            "M + text" to put a message of our own before message M
//	decoded     the messages and blocks
//	violations  what Check says of the result
//	result      the body with the edits made
func Conversations(t *testing.T, converse Converse) {
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
			comment, parts := split(string(data))
			got := map[string]string{"request": parts["request"], "edits": parts["edits"]}
			got["decoded"], got["violations"], got["result"] = converse(t, parts["request"],
				func(n int) transcript.View { return edited(t, n, parts["edits"]) })
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

// Blocks lists the blocks of messages, a line each.
func Blocks(msgs []transcript.Message) string {
	var b strings.Builder
	for i, m := range msgs {
		for j, block := range m.Blocks().All() {
			o, _ := block.(transcript.Opaque)
			fmt.Fprintf(&b, "%d.%d %s %s %s%.40q\n", i, j, m.Role(), block.Kind(), o.Type, transcript.BlockText(block))
		}
	}
	return b.String()
}

// split takes a txtar file apart.
func split(data string) (comment string, parts map[string]string) {
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

// edited is the view that edits make of n messages.
func edited(t *testing.T, n int, edits string) transcript.View {
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
			before[i] = append(before[i],
				transcript.ViewMessage{Source: -1, Made: transcript.User(strings.TrimPrefix(what, "+ "))})
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

// Recorder takes a stream in and has the answer.
type Recorder interface {
	Write(p []byte) (int, error)
	Reply() (model.Reply, error)
}

// Chunks writes a stream into one recorder whole and into another in random chunks, and
// fails the test if that makes a difference. It returns the messages of the answer.
func Chunks(t *testing.T, stream []byte, seed uint64, whole, chunked Recorder) []transcript.Message {
	t.Helper()
	whole.Write(stream)
	rng := rand.New(rand.NewPCG(seed, 1))
	for rest := bytes.Clone(stream); len(rest) > 0; {
		n := 1 + rng.IntN(len(rest))
		chunked.Write(rest[:n])
		rest = rest[n:]
	}
	a, errA := whole.Reply()
	b, errB := chunked.Reply()
	if (errA == nil) != (errB == nil) || errA != nil && errA.Error() != errB.Error() {
		t.Fatalf("chunks matter: %v and %v", errA, errB)
	}
	if len(a.Messages) != len(b.Messages) || a.Usage != b.Usage || a.StopRaw != b.StopRaw || a.ID != b.ID {
		t.Fatalf("chunks matter: %s", difftest.Values(a.Usage, b.Usage))
	}
	for i, m := range a.Messages {
		if m.Raw() != b.Messages[i].Raw() {
			t.Fatalf("chunks matter:\n%s\n%s", m.Raw(), b.Messages[i].Raw())
		}
	}
	return a.Messages
}
