// Package wiretest has what the tests of several wires share.
package wiretest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

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
	Golden(t, "testdata/conversations/*.txtar", 2, func(t *testing.T, _ string, in []File) []File {
		decoded, violations, result := converse(t, in[0].Data,
			func(n int) transcript.View { return edited(t, n, in[1].Data) })
		return []File{{"decoded", decoded}, {"violations", violations}, {"result", result}}
	})
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

// Chunks writes a stream into one recorder whole and into another in random chunks, and
// fails the test if that makes a difference. It returns the messages of the answer.
func Chunks(t *testing.T, stream []byte, seed uint64, whole, chunked model.Recorder) []transcript.Message {
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
