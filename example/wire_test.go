package example_test

import (
	"context"
	"fmt"
	"log"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// lines is a wire: a message is a line such as
//
//	user "Hello."
const lines transcript.Format = "lines"

// decodeLine reads a message. It keeps the line, which is sent again as it came.
func decodeLine(raw []byte) (transcript.Message, error) {
	role, quoted, _ := strings.Cut(string(raw), " ")
	text, err := strconv.Unquote(quoted)
	if err != nil {
		return transcript.Message{}, fmt.Errorf("read line %q: %w", raw, err)
	}
	return transcript.WireMessage(transcript.Role(role), lines, string(raw), transcript.Say(text)), nil
}

// encodeLines writes messages. Only those that pleat made or changed are written anew.
func encodeLines(msgs []transcript.Message) (string, error) {
	var b strings.Builder
	for i, m := range msgs {
		if m.Format() == lines && m.Raw() != "" {
			b.WriteString(m.Raw() + "\n")
			continue
		}
		for _, blk := range m.Blocks().All() {
			if _, ok := blk.(transcript.Text); !ok {
				return "", fmt.Errorf("message %d: lines have only text", i+1)
			}
		}
		fmt.Fprintf(&b, "%s %q\n", m.Role(), m.Text())
	}
	return b.String(), nil
}

// checkLines refuses views that cannot be written as lines.
func checkLines(v transcript.View, t *transcript.Transcript) error {
	msgs, err := v.Resolve(t)
	if err == nil {
		_, err = encodeLines(msgs)
	}
	return err
}

// A session is given a wire's codec and its check. Messages that no fold touches keep
// their bytes, even after the session was closed and opened again.
func Example_wire() {
	ctx := context.Background()
	st, key := store.NewMemory(), store.SessionKey{Session: "wire"}
	opts := &pleat.Options{
		Policy: fold.Policy{
			Name:  "drop",
			AtRed: fold.Steps{lever.Digest{Keep: 2, Tokens: 300, Stub: "[{n} messages are folded]"}},
		},
		Budget: fold.Budget{Window: 1_000},
		Wire:   model.Wire{Format: lines, Codec: decodeLine, Check: checkLines},
	}
	s, err := pleat.OpenSession(ctx, st, key, opts)
	if err != nil {
		log.Fatal(err)
	}
	for i := range 10 {
		for _, line := range []string{
			`user "Tell me more."`, `assistant "` + strings.Repeat(`M\u006fre. `, 60) + `"`,
			fmt.Sprintf(`user "Number %d?"`, i),
			`assistant "Yes\x21"`,
		} {
			m, err := decodeLine([]byte(line))
			if err == nil {
				err = s.Append(ctx, m)
			}
			if err != nil {
				log.Fatal(err)
			}
		}
	}
	s.Close()
	s, err = pleat.OpenSession(ctx, st, key, opts)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	v, err := s.View(ctx, pleat.Turn{})
	if err != nil {
		log.Fatal(err)
	}
	msgs, err := s.Resolve(ctx, v)
	if err != nil {
		log.Fatal(err)
	}
	request, err := encodeLines(msgs)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(request)
	// Output:
	// user "Tell me more."
	// user "[37 messages are folded]"
	// user "Number 9?"
	// assistant "Yes\x21"
}
