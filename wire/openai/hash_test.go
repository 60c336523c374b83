package openai

import (
	"testing"

	"github.com/pleat-dev/pleat/transcript"
)

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
