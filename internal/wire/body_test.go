package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/transcript"
)

func TestAppendNormal(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"space between tokens", "{ \"role\" :\t\"user\" , \"n\" : [ 1 , 2 ] }", `{"role":"user","n":[1,2]}`},
		{
			"space inside strings", `{"content":[{"type":"text","text":"a  b \n"}]}`,
			`{"content":[{"type":"text","text":"a  b \n"}]}`,
		},
		{"string content", `{"role":"user","content":"hi"}`, `{"role":"user","content":[{"type":"text","text":"hi"}]}`},
		{
			"string content of a result", `{"content":[{"type":"tool_result","content":"r"}]}`,
			`{"content":[{"type":"tool_result","content":[{"type":"text","text":"r"}]}]}`,
		},
		{
			"deeper is data", `{"content":[{"content":[{"content":"x"}]}]}`,
			`{"content":[{"content":[{"content":"x"}]}]}`,
		},
		{
			"markers",
			`{"content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}],"cache_control":{}}`,
			`{"content":[{"type":"text","text":"a"}]}`,
		},
		{"markers first", `{"cache_control":{},"role":"user"}`, `{"role":"user"}`},
		{
			"markers of the other provider",
			`{"content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"ttl":"30m"}}]}`,
			`{"content":[{"type":"input_text","text":"a"}]}`,
		},
		{"marker with an escape", `{"cache_contro\u006c":{},"role":"user"}`, `{"role":"user"}`},
		{
			"markers inside inputs are data", `{"content":[{"input":{"cache_control": 1}}]}`,
			`{"content":[{"input":{"cache_control":1}}]}`,
		},
		{
			"markers of parts", `{"content":[{"content":[{"text":"x","cache_control":{}}]}]}`,
			`{"content":[{"content":[{"text":"x"}]}]}`,
		},
		{
			"numbers and escapes keep their form", `{"a":1.0,"b":"\u00e9\/","c":"\ud83d","d":1E+2}`,
			`{"a":1.0,"b":"\u00e9\/","c":"\ud83d","d":1E+2}`,
		},
		{"null content", `{"role":"assistant","content": null}`, `{"role":"assistant","content":null}`},
		{"members twice", `{"role":"a", "role":"b"}`, `{"role":"a","role":"b"}`},
		{"no object", `[ 1 , {"cache_control":1} ]`, `[1,{"cache_control":1}]`},
		{"empty", `{ }`, `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(AppendNormal(nil, []byte(tt.in))); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if again := string(AppendNormal(nil, []byte(tt.want))); again != tt.want {
				t.Errorf("the normal form of the normal form is %s", again)
			}
		})
	}
}

func TestHashes(t *testing.T) {
	const data = `[{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"user","content":"b"}]`
	var h []transcript.Hash
	for e := range jsonspan.Value(data).Elements() {
		h = append(h, Hash(e.Of([]byte(data))))
	}
	if h[0] != h[1] || h[0] == h[2] {
		t.Errorf("hashes are %v, want the first two equal and the third another", h)
	}
}

// FuzzAppendNormal: the normal form is JSON, and its own normal form.
func FuzzAppendNormal(f *testing.F) {
	f.Add([]byte(`{"role":"user","content":[{"type":"text","text":"a","cache_control":{}}, {"content":"x"}]}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		var c jsonspan.Cursor
		c.Reset(message)
		c.Skip()
		if c.End() != nil {
			return
		}
		once := AppendNormal(nil, message)
		c.Reset(once)
		c.Skip()
		if err := c.End(); err != nil && !errors.Is(err, jsonspan.ErrDepth) { // text content has become a list
			t.Fatalf("%v: %s", err, once)
		}
		if twice := AppendNormal(nil, once); string(twice) != string(once) {
			t.Fatalf("once  %s\ntwice %s", once, twice)
		}
	})
}

// build makes a body whose messages have blocks in two lists, a text of its own, and
// space as the random numbers have it. Each element is {"a":[…],"b":[…]} or {"t":"…"}.
func build(rng *rand.Rand, sizes []uint8) *Body {
	var data bytes.Buffer
	space := func() {
		data.WriteString([]string{"", "", "", " ", "\n\t", "  "}[rng.IntN(6)])
	}
	comma := func(i int) {
		if i > 0 {
			space()
			data.WriteByte(',')
			space()
		}
	}
	b := &Body{}
	data.WriteString(`{"before":1.0,"messages":`)
	b.Array.Start = data.Len()
	data.WriteByte('[')
	space()
	for i, size := range sizes {
		comma(i)
		e := Element{Span: jsonspan.Span{Start: data.Len()}}
		if size == 0 {
			data.WriteString(`{"t":`)
			start := data.Len()
			fmt.Fprintf(&data, `"text %d"`, i)
			e.Places = append(e.Places, Place{Content: jsonspan.Span{Start: start, End: data.Len()}})
		} else {
			data.WriteString(`{"a":[`)
			for list, n := range []uint8{size % 5, size / 5 % 5} {
				if list == 1 {
					data.WriteString(`],"b":[`)
				}
				space()
				for j := range int(n) {
					comma(j)
					e.Places = append(e.Places, block(&data, uint8(list), i, j))
				}
				space()
			}
			data.WriteByte(']')
		}
		data.WriteByte('}')
		e.Span.End = data.Len()
		b.Elements = append(b.Elements, newElement(e.Span, e.Places))
	}
	space()
	data.WriteByte(']')
	b.Array.End = data.Len()
	data.WriteString(`,"after":"\ud83d"}`)
	b.Data = data.Bytes()
	return b
}

func block(data *bytes.Buffer, list uint8, i, j int) Place {
	p := Place{List: list, Whole: jsonspan.Span{Start: data.Len()}, JSON: j == 2}
	fmt.Fprintf(data, `{"id":"%d-%d-%d","c":`, i, list, j)
	p.Content.Start = data.Len()
	data.WriteString(`"old"`)
	p.Content.End = data.Len()
	data.WriteByte('}')
	p.Whole.End = data.Len()
	if j == 3 {
		p.Content = jsonspan.Span{} // may only be kept or dropped
	}
	return p
}

// choose makes a view, and what the array should say once it is applied.
func choose(rng *rand.Rand, b *Body) (transcript.View, []string) {
	var v transcript.View
	var want []string
	made := func() {
		for rng.IntN(5) == 0 {
			text := fmt.Sprintf("made %d", rng.IntN(100))
			v.Messages = append(v.Messages, transcript.ViewMessage{Source: -1, Made: transcript.User(text)})
			want = append(want, `{"made":"`+text+`"}`)
		}
	}
	for i := range b.Elements {
		made()
		if rng.IntN(4) == 0 {
			continue
		}
		vm, says := chooseEdits(rng, b, i)
		v.Messages, want = append(v.Messages, vm), append(want, says)
	}
	made()
	return v, want
}

func chooseEdits(rng *rand.Rand, b *Body, i int) (transcript.ViewMessage, string) {
	e, vm := b.Elements[i], transcript.ViewMessage{Source: i}
	left, lists := map[uint8]int{}, map[uint8][]string{}
	for _, p := range e.Places {
		left[p.List]++
	}
	whole := string(e.Span.Of(b.Data))
	for j, p := range e.Places {
		says := ""
		if !p.Whole.IsZero() {
			says = string(p.Whole.Of(e.Span.Of(b.Data)))
		}
		switch n := rng.IntN(4); {
		case n == 0 && !p.Whole.IsZero() && left[p.List] > 1:
			left[p.List]--
			vm.Edits = append(vm.Edits, transcript.BlockEdit{Block: j, Drop: true})
			continue
		case n == 1 && !p.Content.IsZero():
			text, lit := "new \"x\"", `"new \"x\""`
			if p.JSON {
				text, lit = `{"new": 1}`, `{"new": 1}`
			}
			vm.Edits = append(vm.Edits, transcript.BlockEdit{Block: j, Text: text})
			says = strings.Replace(says, `"old"`, lit, 1)
			if p.Whole.IsZero() {
				return vm, `{"t":` + lit + `}`
			}
		}
		lists[p.List] = append(lists[p.List], says)
	}
	if strings.HasPrefix(whole, `{"t"`) {
		return vm, whole
	}
	return vm, `{"a":[` + strings.Join(lists[0], ",") + `],"b":[` + strings.Join(lists[1], ",") + `]}`
}

func encodeMade(m transcript.Message) ([]byte, error) {
	return []byte(`{"made":"` + m.Text() + `"}`), nil
}

// checkSplice is the property: the result is JSON, its array says what the view says,
// and everything outside of the array is as it was.
func checkSplice(seed uint64, sizes []uint8) error {
	rng := rand.New(rand.NewPCG(seed, 3))
	b := build(rng, sizes)
	original := bytes.Clone(b.Data)
	v, want := choose(rng, b)
	out, err := b.Splice(v, Made{Encode: encodeMade})
	if err != nil {
		return err
	}
	if !bytes.Equal(b.Data, original) {
		return errors.New("the body was changed")
	}
	if !bytes.HasPrefix(out, original[:b.Array.Start+1]) || !bytes.HasSuffix(out, original[b.Array.End-1:]) {
		return fmt.Errorf("bytes around the array changed: %s", out)
	}
	if !json.Valid(out) {
		return fmt.Errorf("not JSON: %s\nfrom %s", out, original)
	}
	array := out[b.Array.Start : len(out)-(len(original)-b.Array.End)]
	got := string(jsonspan.AppendCompact(nil, array))
	if w := string(jsonspan.AppendCompact(nil, []byte("["+strings.Join(want, ",")+"]"))); got != w {
		return fmt.Errorf("from %s\ngot  %s\nwant %s", original, got, w)
	}
	return nil
}

func TestSplice(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 4))
		sizes := make([]uint8, rng.IntN(7))
		for i := range sizes {
			sizes[i] = uint8(rng.IntN(25))
		}
		if err := checkSplice(seed, sizes); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func FuzzSplice(f *testing.F) {
	f.Add(uint64(1), []byte{0, 6, 12, 24})
	f.Add(uint64(2), []byte{})
	f.Fuzz(func(t *testing.T, seed uint64, sizes []byte) {
		if len(sizes) > 40 {
			return
		}
		for i := range sizes {
			sizes[i] %= 25
		}
		difftest.Must(t, checkSplice(seed, sizes))
	})
}

func TestSpliceWhole(t *testing.T) {
	b := build(rand.New(rand.NewPCG(1, 1)), []uint8{0, 7, 3})
	out, err := b.Splice(transcript.Whole(3), Made{})
	if err != nil || &out[0] != &b.Data[0] || len(out) != len(b.Data) {
		t.Errorf("whole view gives %v, want the same bytes", err)
	}
}

// TestSpliceSeparators: a body that was printed for people stays one.
func TestSpliceSeparators(t *testing.T) {
	const body = "[\n  1,\n  2,\n  3\n]"
	b := &Body{Data: []byte(body), Array: jsonspan.Span{End: len(body)}}
	for _, digit := range "123" {
		at := strings.IndexRune(body, digit)
		b.Elements = append(b.Elements, Element{Span: jsonspan.Span{Start: at, End: at + 1}})
	}
	m := func(i int) transcript.ViewMessage { return transcript.ViewMessage{Source: i} }
	made := transcript.ViewMessage{Source: -1, Made: transcript.User("x")}
	tests := []struct {
		view []transcript.ViewMessage
		want string
	}{
		{[]transcript.ViewMessage{m(0), m(2)}, "[\n  1,\n  3\n]"},
		{[]transcript.ViewMessage{m(1), m(2)}, "[\n  2,\n  3\n]"},
		{[]transcript.ViewMessage{m(0), m(1)}, "[\n  1,\n  2\n]"},
		{[]transcript.ViewMessage{m(0), made, m(1), m(2)}, "[\n  1,\n  {\"made\":\"x\"},\n  2,\n  3\n]"},
		{[]transcript.ViewMessage{m(0), made, m(2)}, "[\n  1,\n  {\"made\":\"x\"},\n  3\n]"},
		{[]transcript.ViewMessage{made, m(2)}, "[\n  {\"made\":\"x\"},\n  3\n]"},
		{[]transcript.ViewMessage{m(0), m(1), m(2), made}, "[\n  1,\n  2,\n  3,{\"made\":\"x\"}\n]"},
		{[]transcript.ViewMessage{}, "[\n  \n]"},
	}
	for _, tt := range tests {
		out, err := b.Splice(transcript.View{Messages: tt.view}, Made{Encode: encodeMade})
		if err != nil || string(out) != tt.want {
			t.Errorf("got %q, %v; want %q", out, err, tt.want)
		}
	}
}

func TestSpliceErrors(t *testing.T) {
	b := build(rand.New(rand.NewPCG(1, 1)), []uint8{0, 4, 1})
	one := func(source int, edits ...transcript.BlockEdit) transcript.View {
		return transcript.View{Messages: []transcript.ViewMessage{{Source: source, Edits: edits}}}
	}
	bad := errors.New("bad message")
	tests := []struct {
		name string
		view transcript.View
		want error
	}{
		{"source behind the end", one(3), transcript.ErrBadView},
		{
			"source twice",
			transcript.View{Messages: []transcript.ViewMessage{{Source: 1}, {Source: 1}}},
			transcript.ErrBadView,
		},
		{"no such block", one(1, transcript.BlockEdit{Block: 4, Text: "x"}), transcript.ErrNoSuchBlock},
		{"negative block", one(1, transcript.BlockEdit{Block: -1, Text: "x"}), transcript.ErrNoSuchBlock},
		{
			"edits out of order",
			one(1, transcript.BlockEdit{Block: 1, Text: "x"}, transcript.BlockEdit{Block: 0, Text: "x"}),
			transcript.ErrNoSuchBlock,
		},
		{
			"drop of a block that is in no list", one(0, transcript.BlockEdit{Block: 0, Drop: true}),
			transcript.ErrNotEditable,
		},
		{
			"edit of a block that may only be kept", one(1, transcript.BlockEdit{Block: 3, Text: "x"}),
			transcript.ErrNotEditable,
		},
		{"drop of the last block", one(2, transcript.BlockEdit{Block: 0, Drop: true}), transcript.ErrBadView},
		{"text that is not JSON", one(1, transcript.BlockEdit{Block: 2, Text: "{]"}), transcript.ErrBadView},
		{"made message that cannot be encoded", one(-1), bad},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := b.Splice(tt.view, Made{Encode: func(transcript.Message) ([]byte, error) { return nil, bad }})
			if !errors.Is(err, tt.want) {
				t.Errorf("error is %v, want %v", err, tt.want)
			}
		})
	}
}
