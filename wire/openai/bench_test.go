package openai

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/transcript"
)

// output is what a tool prints: lines, with the escapes that JSON needs for them.
func output(size int) string {
	return strings.Repeat(`\tif err := run(ctx, \"step\"); err != nil { return fmt.Errorf(\"run: %w\", err) }\n`,
		size/83+1)[:size/83*83]
}

// largeChat is a Chat body of about size bytes whose mass is tool results.
func largeChat(size int) []byte {
	var sb strings.Builder
	sb.WriteString(`{"model":"gpt-x","stream":true,"messages":[{"role":"system","content":"You are an agent."},{"role":"user","content":"Fix it."}`)
	for i := 0; sb.Len() < size; i++ {
		fmt.Fprintf(&sb, `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"bash","arguments":"{\"command\":\"go test ./...\"}"}}]}`, i)
		fmt.Fprintf(&sb, `,{"role":"tool","tool_call_id":"call_%d","content":"%s"}`, i, output(8<<10))
	}
	sb.WriteString(`]}`)
	return []byte(sb.String())
}

// largeResponses is its twin.
func largeResponses(size int) []byte {
	var sb strings.Builder
	sb.WriteString(`{"model":"gpt-x","stream":true,"store":false,"instructions":"You are an agent.","input":[{"role":"user","content":"Fix it."}`)
	for i := 0; sb.Len() < size; i++ {
		fmt.Fprintf(&sb, `,{"type":"reasoning","id":"rs_%d","summary":[],"encrypted_content":"%s"}`, i,
			strings.Repeat("gAAAAB", 100))
		fmt.Fprintf(&sb, `,{"type":"function_call","id":"fc_%d","call_id":"call_%[1]d","name":"bash","arguments":"{\"command\":\"go test ./...\"}","status":"completed"}`, i)
		fmt.Fprintf(&sb, `,{"type":"function_call_output","call_id":"call_%d","output":"%s"}`, i, output(8<<10))
	}
	sb.WriteString(`]}`)
	return []byte(sb.String())
}

// fold20 is a view that replaces 20 tool results.
func fold20(msgs []transcript.Message) transcript.View {
	v := transcript.Whole(len(msgs))
	left := 20
	for i, m := range msgs {
		if m.Role() == transcript.RoleTool && left > 0 {
			v.Messages[i].Edits = []transcript.BlockEdit{{Block: 0, Text: "[folded: go test, 98 lines, unfold(k3f9)]"}}
			left--
		}
	}
	return v
}

var sink []byte

// BenchmarkEdit20 decodes a body of 2 MB, replaces 20 tool results and reports how many
// times longer that takes than copying the body once.
func BenchmarkEdit20(b *testing.B) {
	for _, d := range []struct {
		name   string
		body   []byte
		decode func([]byte) (request, error)
	}{
		{"chat", largeChat(2 << 20), decoders[0].decode},
		{"responses", largeResponses(2 << 20), decoders[1].decode},
	} {
		b.Run(d.name, func(b *testing.B) {
			b.SetBytes(int64(len(d.body)))
			b.ReportAllocs()
			var copying time.Duration
			for b.Loop() {
				r, err := d.decode(d.body)
				if err != nil {
					b.Fatal(err)
				}
				if sink, err = r.Splice(fold20(r.common().Messages)); err != nil {
					b.Fatal(err)
				}
				// Measured in turn, so that whatever else the machine does hits both.
				b.StopTimer()
				start := time.Now()
				copyOnce(d.body)
				copying += time.Since(start)
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed())/float64(copying), "x-copy")
		})
	}
}

// BenchmarkCopy is the floor: one copy of the body.
func BenchmarkCopy(b *testing.B) {
	body := largeChat(2 << 20)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		copyOnce(body)
	}
}

func copyOnce(body []byte) {
	sink = make([]byte, len(body))
	copy(sink, body)
}
