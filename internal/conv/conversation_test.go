package conv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

var counter = tokens.NewTokenizer(model.Model{}, nil)

// talk is a conversation of n rounds.
func talk(n int) []transcript.Message {
	msgs := []transcript.Message{
		transcript.NewMessage(transcript.RoleSystem, transcript.Say("Be brief.")), transcript.User("Read all of it."),
	}
	for i := range n {
		id := fmt.Sprint("c", i)
		msgs = append(msgs,
			transcript.Assistant(transcript.Call(id, "read_file", fmt.Sprintf(`{"path":"f%d.go"}`, i))),
			transcript.Results(transcript.Result(id, strings.Repeat(fmt.Sprintf("line of %d\n", i), 40))))
	}
	return msgs
}

// stored makes a conversation whose messages are in a store, and of which at most so many
// bytes are in memory.
func stored(t *testing.T, st store.Store, memory int, msgs []transcript.Message) *Conversation {
	t.Helper()
	key := store.SessionKey{Session: t.Name()}
	c := New(counter, NewContents(st, key, nil, memory))
	for i, m := range msgs {
		body, err := json.Marshal(m)
		difftest.Must(t, err)
		form := MessageForm{Form: FormPleat, Role: m.Role(), Origin: m.Origin()}
		data, err := json.Marshal(MessageData{form, ShapesOf(m)})
		difftest.Must(t, err)
		seq, err := st.Append(t.Context(), key, uint64(i),
			store.Entry{Kind: store.EntryMessage, Data: data, Body: body})
		difftest.Must(t, err)
		c.Add(m, ShapesOf(m), KeptMessage{Seq: seq, Body: transcript.HashOf(body), Form: form})
	}
	return c
}

func TestFacts(t *testing.T) {
	c := Of(counter, talk(3)...)
	facts := c.Facts()
	if c.Len() != 8 || facts.Prompt() != 1 || facts.Opening() != 2 || len(c.Rounds()) != 3 || c.Ledger().Len() != 3 {
		t.Fatalf("%d messages, prompt %d, opening %d, %d rounds, %d calls",
			c.Len(), facts.Prompt(), facts.Opening(), len(c.Rounds()), c.Ledger().Len())
	}
	result := facts.Block(transcript.BlockRef{Message: 3})
	if result.Call != 1 || result.Lines != 40 || result.Fixed || result.Empty ||
		result.Kind != transcript.KindToolResult {
		t.Errorf("result: %+v", result)
	}
	if !facts[1].Typed || facts[0].Typed || c.Whole() != facts.Tokens(0, c.Len()) || len(c.Said()) != 1 {
		t.Errorf("typed %v, whole %d, said %v", facts[1].Typed, c.Whole(), c.Said())
	}
	p, ok := c.Place(result.Handle.String())
	if !ok || p != (transcript.Place{Start: 3, End: 4, Block: 0}) || c.Handle(result.Hash, p) != result.Handle {
		t.Errorf("the handle of the result leads to %+v", p)
	}
	empty := Of(
		counter,
		transcript.Assistant(transcript.Call("a", "b", "{}")),
		transcript.Results(transcript.ToolResult{CallID: "a"}),
	)
	if !empty.Facts().Block(transcript.BlockRef{Message: 1}).Empty {
		t.Error("a result without content is not called empty")
	}
}

// TestMeasure: a stretch has the same hash, bytes and lines however much of it is in memory, in
// whatever order stretches are measured.
func TestMeasure(t *testing.T) {
	msgs := talk(60)
	for _, memory := range []int{1, 10_000, 1 << 30} {
		c := stored(t, store.NewMemory(), memory, msgs)
		for _, s := range [][2]int{{2, 40}, {2, 100}, {2, 60}, {1, 30}, {7, 9}, {2, 122}, {5, 5}} {
			h, bytes, lines, err := c.Measure(t.Context(), s[0], s[1])
			difftest.Must(t, err)
			text, err := c.RenderText(t.Context(), s[0], s[1])
			difftest.Must(t, err)
			if h != transcript.HashOf(text) || bytes != len(text) || lines != strings.Count(text, "\n") {
				t.Errorf("memory %d: messages %v have %d bytes and %d lines, measured %d and %d",
					memory, s, len(text), strings.Count(text, "\n"), bytes, lines)
			}
		}
	}
}

// faulty is a store that fails to read bodies, or has lost them.
type faulty struct {
	store.Store
	err error
}

func (f *faulty) Body(ctx context.Context, key store.SessionKey, h transcript.Hash) ([]byte, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.Store.Body(ctx, key, h)
}

// TestUnreadable: a store that cannot be read is an error; a message that it has lost is
// replaced by one of the same shape that says so.
func TestUnreadable(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name string
		err  error
		want error
	}{
		{"reads", nil, nil},
		{"fails", broken, broken},
		{"lost", store.ErrNotFound, nil},
		{"damaged", store.ErrCorrupt, nil},
	} {
		st := &faulty{Store: store.NewMemory()}
		c := stored(t, st, 0, talk(5))
		c.Contents.Shrink(0)
		st.err = tt.err
		ref := transcript.BlockRef{Message: 3}
		b, err := c.Block(t.Context(), ref)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: block: %v", tt.name, err)
		}
		if lost := err == nil &&
			strings.Contains(transcript.BlockText(b), "damaged"); lost != (tt.err != nil && tt.want == nil) {
			t.Errorf("%s: %v", tt.name, transcript.BlockText(b))
		}
		if _, _, _, err := c.Measure(t.Context(), 2, 8); !errors.Is(err, tt.want) {
			t.Errorf("%s: measure: %v", tt.name, err)
		}
		if _, err := c.RenderText(t.Context(), 2, 8); !errors.Is(err, tt.want) {
			t.Errorf("%s: render: %v", tt.name, err)
		}
		err = c.Reading(t.Context(), func(tr *transcript.Transcript) error {
			if n := tr.At(3).Blocks().Len(); n != 1 {
				t.Errorf("%s: %d blocks", tt.name, n)
			}
			return nil
		})
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: reading: %v", tt.name, err)
		}
	}
}

// TestShrink: what is dropped from memory is read back as it was.
func TestShrink(t *testing.T) {
	msgs := talk(10)
	c := stored(t, store.NewMemory(), 0, msgs)
	c.Contents.Shrink(0)
	says := func(i int, m transcript.Message) bool { return c.SaidAt(i, i+1).Equal(SaidIn(m, 0)) }
	for i := range msgs {
		m, err := c.Message(t.Context(), i)
		if err != nil || !says(i, m) || Fingerprint(SaidIn(m, 0)) != Fingerprint(SaidIn(msgs[i], 0)) {
			t.Errorf("message %d: %v, %v", i, m.Text(), err)
		}
		if at, ok := c.MessageAt(c.Contents.Entry(i)); !ok || at != i {
			t.Errorf("entry of message %d is that of %d", i, at)
		}
	}
	if says(1, transcript.User("Something else.")) || says(1, transcript.Assistant(transcript.Say("Read all of it."))) {
		t.Error("other words, or another speaker, are taken for the same")
	}
}

func TestSearchText(t *testing.T) {
	m := transcript.Assistant(transcript.Say("I look."), transcript.Call("a", "bash", `{"command":"ls -l"}`))
	if got := SearchText(m); !strings.HasPrefix(got, "I look.\n") || !strings.Contains(got, "ls -l") ||
		strings.Contains(got, `{"`) {
		t.Errorf("%q", got)
	}
	if got := ReadableCalls(m).Calls()[0].Input.String(); !strings.Contains(got, "ls -l") ||
		strings.Contains(got, `{"`) {
		t.Errorf("%q", got)
	}
}

// Where two places would have the same address the later one gets a longer one, and each
// address is read back as what it was.
func TestHandlesMeet(t *testing.T) {
	hash, p := transcript.HashOf("some words"), transcript.Place{Start: 4, End: 5, Block: 1}
	var index Handles
	var names []string
	for h := range handlesFor(hash, p) {
		if got := index.Name(hash, p); got != h {
			t.Fatalf("place gets %v, want %v", got, h)
		}
		if got := transcript.ParseHandle(h.String()); got != h {
			t.Errorf("%v is read as %v", h, got)
		}
		names = append(names, h.String())
		if len(names) == 5 {
			break
		}
		if index.places == nil {
			index.Add(transcript.HashOf("other words"), transcript.Place{Start: 0, End: 1, Block: 0})
		}
		index.places[h] = transcript.Place{Start: 9, End: 10, Block: len(names)} // somebody else has it
	}
	for i, n := range []int{8, 10, 12, 12, 12} {
		if len(names[i]) != n {
			t.Errorf("address %d is %q, want %d characters", i, names[i], n)
		}
	}
	if !strings.HasPrefix(names[1], names[0]) || !strings.HasPrefix(names[2], names[1]) || names[3] == names[2] ||
		names[4] == names[3] {
		t.Errorf("addresses %q: want longer ones, then others", names)
	}
	name := index.Add(hash, p)
	if at, ok := index.At(name); !ok || at != p {
		t.Errorf("%v leads to %v", name, at)
	}
	stretch := transcript.Place{Start: 2, End: 8, Block: -1}
	if at, ok := index.At(index.Add(hash, stretch)); !ok || at != stretch {
		t.Errorf("a stretch's address leads to %v", at)
	}
	for _, text := range []string{"", "short", "UPPER000", "with space", "longerthantwelve", "iiiiiiii"} {
		if h := transcript.ParseHandle(text); h != 0 {
			t.Errorf("%q is read as a handle: %v", text, h)
		}
	}
}
