package pleattest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Open opens the session "test" of a store.
func Open(t testing.TB, st store.Store, o *pleat.Options) *pleat.Session {
	t.Helper()
	s, err := pleat.OpenSession(context.Background(), st, store.SessionKey{Session: "test"}, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Append appends messages to a session.
func Append(t testing.TB, s *pleat.Session, msgs ...transcript.Message) {
	t.Helper()
	if err := s.Append(context.Background(), msgs...); err != nil {
		t.Fatal(err)
	}
}

// Read appends n rounds, numbered from first on, each of which reads a file of about size bytes.
func Read(t testing.TB, s *pleat.Session, first, n, size int) {
	t.Helper()
	for i := first; i < first+n; i++ {
		said := fmt.Sprintf("Next, file %d.", i)
		text := strings.Repeat(fmt.Sprintf("line of file %d with some words in it\n", i), size/38)
		Append(t, s, readFile(i, said, text)...)
	}
}

// Talk appends n rounds, numbered from first on, in which the assistant says much and reads
// little: what only a digest can make shorter.
func Talk(t testing.TB, s *pleat.Session, first, n int) {
	t.Helper()
	for i := first; i < first+n; i++ {
		var b strings.Builder
		for k := range 12 {
			fmt.Fprintf(&b, "Handler %d of file %d takes its lock before the queue is drained, "+
				"and that is why item %d waits. ", k, i, k*i)
		}
		Append(t, s, append(readFile(i, b.String(), fmt.Sprintf("package p%d\n", i)),
			transcript.Assistant(transcript.Say(fmt.Sprintf("So much for file %d.", i))), transcript.User("Go on."))...)
	}
}

// readFile is a round in which the assistant says something and reads file i.
func readFile(i int, said, text string) []transcript.Message {
	id := fmt.Sprintf("call_%d", i)
	call := transcript.Call(id, "read_file", fmt.Sprintf(`{"path":"src/file%d.go"}`, i))
	return []transcript.Message{
		transcript.Assistant(transcript.Say(said), call), transcript.Results(transcript.Result(id, text)),
	}
}

// Digestible appends a conversation worth digesting: a rule, a decision with its reason, exact
// values, and twice n rounds of [Talk].
func Digestible(t testing.TB, s *pleat.Session, n int) {
	t.Helper()
	Append(t, s,
		transcript.User("Make the gateway listen on port 8443 and find out why it drops sessions. "+
			"Never modify files under legacy/."),
		transcript.Assistant(transcript.Say("I will look at the gateway first.")),
		transcript.User("Please also keep the timeout at 2750 ms."))
	Talk(t, s, 0, n)
	Append(t, s, transcript.Assistant(transcript.Say("The sessions are dropped in src/file3.go because sessionCache "+
		"evicts after 300 entries. I chose an LRU over a ring buffer since eviction order matters.")))
	Talk(t, s, n, n)
}

// View returns the messages of a session's view.
func View(t testing.TB, s *pleat.Session) []transcript.Message {
	t.Helper()
	v, err := s.View(context.Background(), pleat.Turn{})
	if err != nil {
		t.Fatal(err)
	}
	msgs, err := s.Resolve(context.Background(), v)
	if err != nil {
		t.Fatal(err)
	}
	return msgs
}

// Text returns what messages say, call and answer, each under its role.
func Text(msgs []transcript.Message) string {
	var b strings.Builder
	for _, m := range msgs {
		b.WriteString(string(m.Role()) + "\n")
		for _, blk := range m.Blocks().All() {
			if blk.Kind() != transcript.KindThinking {
				b.WriteString(transcript.BlockText(blk))
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Outline is a line for each message: its role, and the beginnings of its blocks.
func Outline(msgs []transcript.Message) []string {
	var out []string
	for _, m := range msgs {
		line := string(m.Role()) + ":"
		for _, b := range m.Blocks().All() {
			text := transcript.BlockText(b)
			if i := strings.IndexByte(text, '\n'); i >= 0 {
				text = text[:i] + "…"
			}
			if len(text) > 60 {
				text = text[:60] + "…"
			}
			line += " " + text
		}
		out = append(out, line)
	}
	return out
}
