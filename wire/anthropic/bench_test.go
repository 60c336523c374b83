package anthropic

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/transcript"
)

// benchBody is a conversation of about two megabytes in which an agent reads files:
// 250 rounds of a call and a result of 8 KB, as clients send it.
func benchBody() []byte {
	line := `\tif err := store.Append(ctx, key, last, entries...); err != nil { return fmt.Errorf(\"append: %w\", err) }\n`
	result := strings.Repeat(line, 8000/len(line))
	var b bytes.Buffer
	b.WriteString(`{"model":"claude-opus-5-5","max_tokens":32000,"messages":[{"role":"user","content":"Find the bug."}`)
	for i := range 250 {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"text","text":"Reading file %d."},{"type":"tool_use","id":"toolu_%04d","name":"Read","input":{"path":"src/file%d.go"}}]}`, i, i, i)
		fmt.Fprintf(&b, `,{"role":"user","content":[{"tool_use_id":"toolu_%04d","type":"tool_result","content":"%s"}]}`,
			i, result)
	}
	b.WriteString(`],"system":"You are careful.","stream":true}`)
	return b.Bytes()
}

// benchView stubs 20 results spread over the conversation.
func benchView(n int) transcript.View {
	v := transcript.Whole(n)
	for i := range 20 {
		v.Messages[2+24*i].Edits = []transcript.BlockEdit{
			{Block: 0, Text: "[result folded; unfold(\"k3f9\") shows it]"},
		}
	}
	return v
}

func BenchmarkCopy(b *testing.B) {
	body := benchBody()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		out := make([]byte, len(body))
		copy(out, body)
		sink = out
	}
}

func BenchmarkDecode(b *testing.B) {
	body := benchBody()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(body); err != nil {
			b.Fatal(err)
		}
	}
}

var sink []byte // keeps the copies from being optimised away

// BenchmarkEdit20 is what a proxy does to a request: decode it, put 20 stubs in. The
// metric x-copy relates it to one copy of the body. Both are timed in turns and their
// medians compared, because what else runs on the machine disturbs them alike.
func BenchmarkEdit20(b *testing.B) {
	body := benchBody()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	view := benchView(501)
	var edits, copies []time.Duration
	for b.Loop() {
		begin := time.Now()
		r, err := Decode(body)
		if err != nil {
			b.Fatal(err)
		}
		if sink, err = r.Splice(view); err != nil {
			b.Fatal(err)
		}
		edits = append(edits, time.Since(begin))

		b.StopTimer()
		begin = time.Now()
		out := make([]byte, len(body))
		copy(out, body)
		sink = out
		copies = append(copies, time.Since(begin))
		b.StartTimer()
	}
	slices.Sort(edits)
	slices.Sort(copies)
	b.ReportMetric(float64(edits[len(edits)/2])/float64(copies[len(copies)/2]), "x-copy")
}
