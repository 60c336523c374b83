package rows_test

import (
	"bytes"
	"testing"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/transcript"
)

func TestPlaces(t *testing.T) {
	const answer = `{"role":"assistant","content":[{"type":"thinking","thinking":"why\n\"so\"","signature":"c2ln"},` +
		`{"type":"text","text":"text that is \u00e4 \ud83d\ude00"},{"type":"tool_use","id":"a","input":{"command": "ls\n",` +
		` "n":[1, 2]}}]}`
	for name, c := range map[string]struct {
		text, body string
		in         bool
	}{
		"an answer": {
			"why\n\"so\"\ntext that is ä 😀\n{\"command\": \"ls\\n\", \"n\":[1, 2]}\n", answer, true,
		},
		"part of it":          {"text that is ä 😀\n", answer, true},
		"without a line feed": {"text that is ä 😀", answer, true},
		"another order":       {"text that is ä 😀\nwhy\n\"so\"\n", answer, false},
		"more than it says":   {"text that is ä 😀\nand more\n", answer, false},
		"half of a string":    {"text that\n", answer, false},
		"joined": {
			"one\ntwo\n\nthree\n", `{"content":[{"text":"one"},{"text":"two\n"},{"text":"\nthree"}]}`, true,
		},
		"nothing of it": {"something else", answer, false},
		"no JSON":       {"text that is ä 😀\n", answer[:len(answer)-2], false},
		"no body":       {"text", "", false},
	} {
		b := rows.PackPlaces(c.text, []byte(c.body))
		if b.InBody() != c.in {
			t.Errorf("%s: in the body: %v", name, b.InBody())
		}
		if got, err := textOf(b, c.body, c.text); err != nil || string(got) != c.text {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.text)
		}
		if len(b.Data) > max(len(c.text), 1) {
			t.Errorf("%s: %d bytes packed to %d", name, len(c.text), len(b.Data))
		}
		if !b.InBody() {
			continue
		}
		if got, err := b.Unpack(len(c.text), transcript.HashOf(c.text)); err == nil {
			t.Errorf("%s: unpacked without its body to %q", name, got)
		}
		for i := range b.Data {
			damaged := rows.Blob{Size: b.Size, Codec: b.Codec, Data: bytes.Clone(b.Data)}
			damaged.Data[i] ^= 0x40
			if got, err := textOf(damaged, c.body, c.text); err == nil {
				t.Errorf("%s: byte %d flipped: %q", name, i, got)
			}
		}
	}
}

func textOf(b rows.Blob, body, text string) ([]byte, error) {
	if b.InBody() {
		return b.UnpackFrom([]byte(body), len(text), transcript.HashOf(text))
	}
	return b.Unpack(len(text), transcript.HashOf(text))
}

// Any text comes back from any body, and any list of places is text or an error.
func FuzzPlaces(f *testing.F) {
	f.Add("a\nb\n", []byte(`{"x":"a","y":["b\n"]}`), []byte{1<<2 | 2, 'a', 3<<2 | 1, 5})
	f.Add(`{"c":1}`, []byte(`[{"c":1}]`), []byte{7 << 2, 1})
	f.Fuzz(func(t *testing.T, text string, body, list []byte) {
		b := rows.PackPlaces(text, body)
		if got, err := textOf(b, string(body), text); err != nil || string(got) != text {
			t.Errorf("%q, %v, want %q", got, err, text)
		}
		b = rows.Blob{Size: len(text), Codec: 3, Data: list}
		if got, err := b.UnpackFrom(body, len(text), transcript.HashOf(text)); err == nil && string(got) != text {
			t.Errorf("%v in %q: %q, want %q or an error", list, body, got, text)
		}
	})
}
