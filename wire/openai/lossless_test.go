package openai

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/internal/wire/wiretest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// request is what tests need of both kinds of request.
type request interface {
	Body() []byte
	Splice(v transcript.View, tools ...model.Tool) ([]byte, error)
	Hashes() []transcript.Hash
	Check(model.Model) []transcript.Violation
	common() *Request
}

func (r *ChatRequest) common() *Request      { return &r.Request }
func (r *ResponsesRequest) common() *Request { return &r.Request }

type decoder struct {
	name   string
	decode func([]byte) (request, error)
	make   func(gen) []byte
}

// Nil pointers in a non-nil interface are nobody's friend.
func lift[T request](r T, err error) (request, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}

var decoders = []decoder{
	{"chat", func(b []byte) (request, error) { return lift(DecodeChat(b)) }, gen.chat},
	{"responses", func(b []byte) (request, error) { return lift(DecodeResponses(b)) }, gen.responses},
}

func generated(t *testing.T) int {
	if testing.Short() {
		return 300
	}
	return 2500
}

func TestGeneratedBodiesAreLossless(t *testing.T) {
	for _, d := range decoders {
		t.Run(d.name, func(t *testing.T) {
			for seed := range generated(t) {
				g := newGen(uint64(seed))
				body := d.make(g)
				orig := bytes.Clone(body)
				r, err := d.decode(body)
				if err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, body)
				}
				out, err := r.Splice(transcript.Whole(len(r.common().Messages)))
				if err != nil || !bytes.Equal(out, orig) {
					t.Fatalf("seed %d: whole view: %v\n got %s\nwant %s", seed, err, out, orig)
				}
				if v := r.Check(model.Model{}); len(v) > 0 {
					t.Fatalf("seed %d: legal request has violations: %v\n%s", seed, v, body)
				}
				if n := len(r.Hashes()); n != len(r.common().Messages) {
					t.Fatalf("seed %d: %d hashes for %d messages", seed, n, len(r.common().Messages))
				}
				editInPlace(t, d, g, r)
				editAtRandom(t, d, g, r)
				if !bytes.Equal(body, orig) {
					t.Fatalf("seed %d: the body was changed", seed)
				}
			}
		})
	}
}

// editable lists the blocks of a message that an edit may change.
func editable(r request, i int) []int {
	var list []int
	for k, p := range r.common().body.Elements[i].Places {
		if !p.Content.IsZero() {
			list = append(list, k)
		}
	}
	return list
}

// editInPlace replaces contents and checks byte for byte that nothing else changed, with
// a splice of its own.
func editInPlace(t *testing.T, d decoder, g gen, r request) {
	t.Helper()
	c := r.common()
	v := transcript.Whole(len(c.Messages))
	type change struct {
		jsonspan.Span
		with string
	}
	var changes []change
	for i := range v.Messages {
		for _, k := range editable(r, i) {
			if !g.Chance(30) {
				continue
			}
			text := g.Pick("[folded]", "a \"stub\"\nwith é", "x")
			v.Messages[i].Edits = append(v.Messages[i].Edits, transcript.BlockEdit{Block: k, Text: text})
			with := string(jsonspan.AppendQuote(nil, text))
			if rr, ok := r.(*ResponsesRequest); ok && rr.items[i].form != formString {
				with = rr.items[i].wrap(text)
			}
			changes = append(changes,
				change{c.body.Elements[i].Places[k].Content.Move(c.body.Elements[i].Span.Start), with})
		}
	}
	sort.Slice(changes, func(a, b int) bool { return changes[a].Start < changes[b].Start })
	var want strings.Builder
	last := 0
	for _, ch := range changes {
		want.Write(r.Body()[last:ch.Start])
		want.WriteString(ch.with)
		last = ch.End
	}
	want.Write(r.Body()[last:])
	got, err := r.Splice(v)
	if err != nil || string(got) != want.String() {
		t.Fatalf("edit in place: %v\nbody %s\n got %s\nwant %s", err, r.Body(), got, want.String())
	}
	again(t, d, r, v, got)
}

// editAtRandom drops and adds messages and drops blocks.
func editAtRandom(t *testing.T, d decoder, g gen, r request) {
	t.Helper()
	c := r.common()
	var v transcript.View
	for i, m := range c.Messages {
		if g.Chance(20) {
			v.Messages = append(v.Messages,
				transcript.ViewMessage{Source: -1, Made: transcript.User(fmt.Sprintf("digest %d", i))})
		}
		if g.Chance(30) {
			continue
		}
		vm := transcript.ViewMessage{Source: i}
		places := c.body.Elements[i].Places
		left := map[uint8]int{}
		for _, p := range places {
			left[p.List]++
		}
		for k := range m.Blocks().Len() {
			switch p := places[k]; {
			case !p.Whole.IsZero() && left[p.List] > 1 && g.Chance(40):
				left[p.List]--
				vm.Edits = append(vm.Edits, transcript.BlockEdit{Block: k, Drop: true})
			case !p.Content.IsZero() && g.Chance(20):
				vm.Edits = append(vm.Edits, transcript.BlockEdit{Block: k, Text: "stub"})
			}
		}
		v.Messages = append(v.Messages, vm)
	}
	out, err := r.Splice(v)
	if err != nil {
		t.Fatalf("splice: %v\n%+v\n%s", err, v, r.Body())
	}
	// What stands before and behind the messages is as it was.
	array := c.body.Array
	if !bytes.HasPrefix(out, r.Body()[:array.Start+1]) || !bytes.HasSuffix(out, r.Body()[array.End-1:]) {
		t.Fatalf("bytes outside of the messages changed\nbody %s\n got %s", r.Body(), out)
	}
	again(t, d, r, v, out)
}

// again decodes what a splice made and compares it with what the view means.
func again(t *testing.T, d decoder, r request, v transcript.View, out []byte) {
	t.Helper()
	r2, err := d.decode(out)
	if err != nil {
		t.Fatalf("decode spliced: %v\n%s", err, out)
	}
	want, err := v.Resolve(transcript.NewTranscript(r.common().Messages...))
	must(t, err)
	got := r2.common().Messages
	if len(got) != len(want) {
		t.Fatalf("spliced request has %d messages, want %d\n%s", len(got), len(want), out)
	}
	for i := range got {
		if g, w := summary(got[i]), summary(want[i]); g != w {
			t.Fatalf("message %d\n got %s\nwant %s\nbody %s\nout  %s", i, g, w, r.Body(), out)
		}
		vm := v.Messages[i]
		if vm.Source >= 0 && len(vm.Edits) == 0 && got[i].Raw() != want[i].Raw() && !lostID(r, r2, vm.Source, i) {
			t.Fatalf("message %d was not edited but changed\n got %s\nwant %s", i, got[i].Raw(), want[i].Raw())
		}
	}
	if rr, ok := r2.(*ResponsesRequest); ok {
		for _, viol := range rr.CheckAgainst(r.(*ResponsesRequest), model.Model{}) {
			_, typ, _ := strings.Cut(viol.Message, "of type '")
			typ, _, _ = strings.Cut(typ, "'")
			if viol.Rule == "reasoning-missing" && !needsID(typ) {
				t.Fatalf("ids were not repaired: %v\n%s", viol, out)
			}
		}
	}
}

// lostID reports whether the one thing that may change about an item did.
func lostID(before, after request, i, k int) bool {
	b, ok := before.(*ResponsesRequest)
	return ok && b.items[i].id != "" && after.(*ResponsesRequest).items[k].id == ""
}

// summary shows what a message means, not its bytes.
func summary(m transcript.Message) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "%s:", m.Role())
	for _, b := range m.Blocks().All() {
		switch b := b.(type) {
		case transcript.Text:
			fmt.Fprintf(&sb, " text(%q)", b.Text.String())
		case transcript.Thinking:
			fmt.Fprintf(&sb, " thinking(%q,%q,%v)", b.Text.String(), b.Signature, b.Redacted)
		case transcript.ToolCall:
			in := b.Input.String()
			if b.Name == "shell" {
				in = "…" // shell calls keep what is around their commands
			}
			fmt.Fprintf(&sb, " call(%s,%s,%q)", b.ID, b.Name, in)
		case transcript.ToolResult:
			fmt.Fprintf(&sb, " result(%s,%q)", b.CallID, b.Text())
		case transcript.Image:
			fmt.Fprintf(&sb, " image(%s,%s,%s)", b.MediaType, b.Data.String(), b.URL)
		case transcript.Opaque:
			fmt.Fprintf(&sb, " opaque(%s)", b.Type)
		}
	}
	return sb.String()
}

func TestDecodeAfter(t *testing.T) {
	after := map[string]func(earlier request, body []byte) (request, error){
		"chat": func(e request, body []byte) (request, error) {
			return lift(DecodeChatAfter(e.(*ChatRequest).Earlier(), body))
		},
		"responses": func(e request, body []byte) (request, error) {
			return lift(DecodeResponsesAfter(e.(*ResponsesRequest).Earlier(), body))
		},
	}
	for _, d := range decoders {
		onWire := wiretest.Wire[request]{
			Decode: d.decode,
			After:  after[d.name],
			Parts:  func(r request) (*wire.Body, []transcript.Message) { return &r.common().body, r.common().Messages },
			Generate: func(seed uint64) (*rand.Rand, func() []byte) {
				g := newGen(seed)
				return g.Rand, func() []byte { return d.make(g) }
			},
		}
		t.Run(d.name, onWire.TestAfter)
	}
}

func hashes(t *testing.T, d decoder, body string) []transcript.Hash {
	t.Helper()
	r, err := d.decode([]byte(body))
	must(t, err)
	return r.Hashes()
}

// What clients change from request to request without meaning anything by it.
func TestHashesIgnoreFormAndMarkers(t *testing.T) {
	const mark = `,"prompt_cache_breakpoint":{"mode":"explicit"}`
	for _, tt := range []struct {
		d    decoder
		a, b string
	}{
		{
			decoders[0], `{"messages":[{"role":"user","content":"x"}]}`,
			`{ "messages" : [ {"role": "user", "content": [{"type":"text","text":"x"` + mark + `}]} ] }`,
		},
		{
			decoders[1], `{"input":[{"role":"user","content":[{"type":"input_text","text":"x"}]}]}`,
			`{"input":[{"role":"user","content":[{"type":"input_text","text":"x"` + mark + `}]}]}`,
		},
		{
			decoders[1],
			`{"input":[{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"x"}]}]}`,
			`{"input":[{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"x"` + mark +
				`}]}]}`,
		},
		{decoders[1], `{"input":"x"}`, `{"input":[{"role":"user","content":"x"}]}`},
	} {
		a, b := hashes(t, tt.d, tt.a), hashes(t, tt.d, tt.b)
		for i := range a {
			if a[i] != b[i] {
				t.Errorf("hash %d differs:\n%s\n%s", i, tt.a, tt.b)
			}
		}
	}
}

func TestHashesTellMessagesApart(t *testing.T) {
	for _, tt := range []struct {
		d    decoder
		a, b string
	}{
		{decoders[0], `{"messages":[{"role":"user","content":"x"}]}`, `{"messages":[{"role":"system","content":"x"}]}`},
		{
			decoders[1], `{"input":[{"type":"function_call_output","call_id":"a","output":"x"}]}`,
			`{"input":[{"type":"function_call_output","call_id":"a","output":"y"}]}`,
		},
	} {
		if hashes(t, tt.d, tt.a)[0] == hashes(t, tt.d, tt.b)[0] {
			t.Errorf("the same hash:\n%s\n%s", tt.a, tt.b)
		}
	}
	a, b := hashes(t, decoders[1], `{"input":"x","instructions":"a"}`), hashes(t, decoders[1],
		`{"input":"x","instructions":"b"}`)
	if a[0] != b[0] {
		t.Error("instructions count for a message")
	}
}

// seeds adds the requests of testdata and some generated ones.
func seeds(f *testing.F, add func(body []byte)) {
	files, _ := filepath.Glob("testdata/request/*.txtar")
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(f, err)
		_, in := wiretest.Archive(string(text))
		add([]byte(in[0].Data))
	}
	for seed := range uint64(8) {
		add(newGen(seed).chat())
		add(newGen(seed).responses())
	}
	for _, rules := range [][]ruleTest{chatRules, responsesRules} {
		for _, rt := range rules {
			add([]byte(rt.bad))
		}
	}
}

// FuzzDecode: nothing panics, and what is accepted passes through unchanged.
func FuzzDecode(f *testing.F) {
	seeds(f, func(body []byte) { f.Add(body) })
	f.Fuzz(func(t *testing.T, body []byte) {
		orig := bytes.Clone(body)
		for _, d := range decoders {
			r, err := d.decode(body)
			if err != nil {
				continue
			}
			c := r.common()
			out, err := r.Splice(transcript.Whole(len(c.Messages)))
			if err != nil || !bytes.Equal(out, orig) {
				t.Fatalf("%s: whole view: %v", d.name, err)
			}
			r.Check(model.Model{})
			if len(r.Hashes()) != len(c.Messages) {
				t.Fatalf("%s: hashes", d.name)
			}
			for i, m := range c.Messages {
				if n := len(c.body.Elements[i].Places); n != m.Blocks().Len() {
					t.Fatalf("%s: message %d has %d places for %d blocks", d.name, i, n, m.Blocks().Len())
				}
				EncodeChatMessage(m)
				EncodeItems(m)
			}
		}
		DecodeChatReply(body)
		DecodeResponsesReply(body)
		if !bytes.Equal(body, orig) {
			t.Fatal("the body was changed")
		}
	})
}

// FuzzSplice: any view of any request gives an error or a request that shows the view.
func FuzzSplice(f *testing.F) {
	seeds(f, func(body []byte) { f.Add(body, uint64(len(body))) })
	f.Fuzz(func(t *testing.T, body []byte, seed uint64) {
		for _, d := range decoders {
			r, err := d.decode(body)
			if err != nil {
				continue
			}
			if rr, ok := r.(*ResponsesRequest); ok && rr.body.Array.IsZero() {
				continue // nothing to edit but a string
			}
			g := newGen(seed)
			editInPlace(t, d, g, r)
			editAtRandom(t, d, g, r)
		}
	})
}

// FuzzRecorder: nothing panics, and chunks do not matter.
func FuzzRecorder(f *testing.F) {
	files, _ := filepath.Glob("testdata/stream/*.txtar")
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(f, err)
		_, in := wiretest.Archive(string(text))
		f.Add([]byte(in[0].Data), 3, 50)
	}
	f.Fuzz(func(t *testing.T, data []byte, a, b int) {
		for _, chat := range []bool{true, false} {
			want := record(chat, data, len(data))
			if got := record(chat, data, a, b); got != want {
				t.Fatalf("chunks of %d and %d:\n got %s\nwant %s", a, b, got, want)
			}
		}
	})
}
