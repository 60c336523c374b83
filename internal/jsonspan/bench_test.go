package jsonspan

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// body returns a request in the style of the Anthropic Messages API of about
// size bytes: turns of assistant text, tool calls and tool results of 1 to
// 40 KB, with line breaks, quotes, escapes and text beyond ASCII.
func body(size int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := []string{
		"func", "return", "err", "the", "context", "if", "nil", "window", "müßte",
		"строка", "数据", "request", "handler", `\"quoted\"`, `\u00e9t\u00e9`, `C:\\tmp`,
		"configuration", "0x7ffd", "{", "}", "==", "value.Interface()", "🙂", `a\/b`, "internal/server",
	}
	text := func(n int) []byte {
		var b []byte
		for column := 0; len(b) < n; {
			at := len(b)
			if r := rnd.IntN(100); r < 94 {
				b = append(b, words[r%9]...)
			} else {
				b = append(b, words[rnd.IntN(len(words))]...)
			}
			b = append(b, ' ')
			if column += len(b) - at; column > 60 {
				b = append(b, `\n\t`...)
				column = 0
			}
		}
		return b
	}
	b := []byte(`{"model": "m-1",  "max_tokens":1E+2, "temperature": 1.0,"metadata":{"n":123456789012345678901234567890}, "messages": [`)
	for i := 0; len(b) < size; i++ {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = fmt.Appendf(b, `{"role":"assistant","content":[{"type":"text","text":"%s"},`, text(200))
		b = fmt.Appendf(b,
			`{"type":"tool_use","id":"toolu_%d","name":"bash","input":{"command":"%s","timeout":%d, "background":false}}]}`, i,
			text(80), i)
		b = fmt.Appendf(b,
			`, {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"%s"}]}`, i,
			text(1000+rnd.IntN(39000)))
	}
	return append(b, "]}\n"...)
}

// results finds the contents of all tool results, appending them to spans.
func results(data []byte, spans []Span) ([]Span, error) {
	var c Cursor
	c.Reset(data, Limits{})
	c.Object()
	for key, ok := c.NextKey(); ok; key, ok = c.NextKey() {
		if !KeyIs(data, key, "messages") {
			c.Skip()
			continue
		}
		for c.Array(); c.NextElem(); {
			c.Object()
			for key, ok := c.NextKey(); ok; key, ok = c.NextKey() {
				if !KeyIs(data, key, "content") || c.Kind() != Array {
					c.Skip()
					continue
				}
				for c.Array(); c.NextElem(); {
					spans = blockContent(data, &c, spans)
				}
			}
		}
	}
	return spans, c.End()
}

func blockContent(data []byte, c *Cursor, spans []Span) []Span {
	c.Object()
	for key, ok := c.NextKey(); ok; key, ok = c.NextKey() {
		if span := c.Skip(); KeyIs(data, key, "content") {
			spans = append(spans, span)
		}
	}
	return spans
}

var folded = []byte(`"folded"`)

// edit20 replaces 20 of data's tool results, which it finds by walking it.
func edit20(data []byte, spans []Span, edits []Edit) ([]byte, error) {
	spans, err := results(data, spans[:0])
	if err != nil {
		return nil, err
	}
	edits = edits[:0]
	for i := range 20 {
		edits = append(edits, Edit{spans[i*len(spans)/20], folded})
	}
	return Splice(data, edits)
}

var sink []byte

// BenchmarkCopy is the floor: one copy of the body into new memory.
func BenchmarkCopy(b *testing.B) {
	data := body(2 << 20)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		sink = bytes.Clone(data)
	}
}

// BenchmarkWalk visits the whole body and finds all tool results.
func BenchmarkWalk(b *testing.B) {
	data := body(2 << 20)
	spans := make([]Span, 0, 1024)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := results(data, spans); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEdit20 walks the body and replaces 20 tool results. It also makes as
// many plain copies, outside of the measured time, to report how many copies
// one edit costs under the same conditions. The goal is to
// stay below 3; portable code (-tags purego) does not reach it.
func BenchmarkEdit20(b *testing.B) {
	data := body(2 << 20)
	spans, edits := make([]Span, 0, 1024), make([]Edit, 0, 20)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		out, err := edit20(data, spans, edits)
		if err != nil {
			b.Fatal(err)
		}
		sink = out
	}
	start := time.Now()
	for range b.N {
		sink = bytes.Clone(data)
	}
	b.ReportMetric(float64(b.Elapsed())/float64(time.Since(start)), "x-copy")
}
