package wire

import (
	"testing"

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
		c.Reset(message, jsonspan.Limits{Depth: 500})
		c.Skip()
		if c.End() != nil {
			return
		}
		once := AppendNormal(nil, message)
		c.Reset(once, jsonspan.Limits{})
		c.Skip()
		if err := c.End(); err != nil {
			t.Fatalf("%v: %s", err, once)
		}
		if twice := AppendNormal(nil, once); string(twice) != string(once) {
			t.Fatalf("once  %s\ntwice %s", once, twice)
		}
	})
}
