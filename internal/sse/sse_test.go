package sse

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/diff"
)

// parse feeds the stream to a Parser in chunks of n bytes.
func parse(stream []byte, n, limit int) (events []string, p *Parser, err error) {
	p = &Parser{Limit: limit, OnEvent: func(ev Event) { events = append(events, show(ev)) }}
	for len(stream) > 0 && err == nil {
		n := min(n, len(stream))
		_, err = p.Write(stream[:n])
		stream = stream[n:]
	}
	return events, p, err
}

func show(ev Event) string { return fmt.Sprintf("%s|%s|%s", ev.Type, ev.Data, ev.ID) }

func TestParser(t *testing.T) {
	for _, tt := range []struct {
		name, stream string
		want         []string
		pending      string
	}{
		{"empty", "", nil, ""},
		{"one", "event: ping\ndata: {}\n\n", []string{"ping|{}|"}, ""},
		{"type lasts one event", "event: a\ndata: 1\n\ndata: 2\n\n", []string{"a|1|", "|2|"}, ""},
		{"CRLF", "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", []string{"a|1|", "|2|"}, ""},
		{"CR", "event: a\rdata: 1\r\rdata: 2\r\r", []string{"a|1|", "|2|"}, ""},
		{"mixed breaks", "data: 1\r\ndata: 2\n\r\ndata: 3\r\n\n", []string{"|1\n2|", "|3|"}, ""},
		{"many data lines", "data: a\ndata:\ndata\ndata:  b\n\n", []string{"|a\n\n\n b|"}, ""},
		{"only one space goes", "data:  x\n\n", []string{"| x|"}, ""},
		{"colons in data", "data: a: b:c\n\n", []string{"|a: b:c|"}, ""},
		{"comments", ": hi\n\n:\ndata: 1\n: x\n\n", []string{"|1|"}, ""},
		{"no data, no event", "event: a\n\ndata: 1\n\n", []string{"|1|"}, ""},
		{"empty data", "data\n\ndata:\n\n", []string{"||", "||"}, ""},
		{"id stays", "id: 7\ndata: 1\n\ndata: 2\n\nid\ndata: 3\n\n", []string{"|1|7", "|2|7", "|3|"}, ""},
		{"id with NUL", "id: 7\nid: a\x00b\ndata: 1\n\n", []string{"|1|7"}, ""},
		{"unknown fields", "retry: 10\ndatum: x\n data: x\nData: x\ndata: 1\n\n", []string{"|1|"}, ""},
		{"byte order mark", "\xEF\xBB\xBFdata: 1\n\n\xEF\xBB\xBFdata: 2\n\n", []string{"|1|"}, ""},
		{"byte order mark alone", "\xEF\xBB\xBF\ndata: 1\n\n", []string{"|1|"}, ""},
		{"cut before the empty line", "data: 1\n\nevent: a\ndata: 2\n", []string{"|1|"}, "a|2|"},
		{"cut in a line", "data: 1\n\nid: 4\ndata: [DONE]", []string{"|1|"}, "|[DONE]|4"},
		{"cut without data", "data: 1\n\nevent: a\n: c", []string{"|1|"}, ""},
	} {
		for n := 1; n <= len(tt.stream)+1; n++ {
			got, p, err := parse([]byte(tt.stream), n, 0)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if d := diff.Values(tt.want, got); d != "" {
				t.Fatalf("%s, in chunks of %d:\n%s", tt.name, n, d)
			}
			for range 2 { // asking twice changes nothing
				pending := ""
				if ev, ok := p.Pending(); ok {
					pending = show(ev)
				}
				if pending != tt.pending {
					t.Fatalf("%s, in chunks of %d: pending %q, want %q", tt.name, n, pending, tt.pending)
				}
			}
		}
	}
}

func TestParserLimit(t *testing.T) {
	for _, tt := range []struct {
		stream string
		want   []string
		ok     bool
	}{
		{"data: 1234\n\n", []string{"|1234|"}, true},
		{"data: 1\n\ndata: 12345\n\n", []string{"|1|"}, false},
		{"data:1\ndata:2\ndata:3\ndata:4\ndata:5\n\n", []string{"|1\n2\n3\n4\n5|"}, true},
		{"data:1\ndata:2\ndata:3\ndata:4\ndata:5\ndata:6\n\n", nil, false},
		{":2345678901", nil, false},
	} {
		for n := 1; n <= len(tt.stream); n++ {
			got, p, err := parse([]byte(tt.stream), n, 10)
			if tt.ok != (err == nil) || !tt.ok && !errors.Is(err, ErrTooLarge) {
				t.Fatalf("%q in chunks of %d: error %v", tt.stream, n, err)
			}
			if d := diff.Values(tt.want, got); d != "" {
				t.Fatalf("%q in chunks of %d:\n%s", tt.stream, n, d)
			}
			if _, again := p.Write([]byte("data: 1\n\n")); !tt.ok && again != err {
				t.Fatalf("%q: the error does not stick: %v", tt.stream, again)
			}
			if _, pending := p.Pending(); !tt.ok && pending {
				t.Fatalf("%q: pending after an error", tt.stream)
			}
		}
	}
}

func TestAppend(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{string(AppendEvent(nil, "ping", []byte("{}"))), "event: ping\ndata: {}\n\n"},
		{string(AppendEvent([]byte(">"), "", nil)), ">data: \n\n"},
		{string(AppendEvent(nil, "", []byte("a\nb\r\nc\rd\n"))), "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"},
		{string(AppendEvent(nil, "a\ndata: forged", []byte("x"))), "event: a\ndata: x\n\n"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// FuzzChunks checks that chunks do not matter: a stream gives the same events
// and the same pending one, whole or in pieces.
func FuzzChunks(f *testing.F) {
	f.Add([]byte("event: a\r\ndata: 1\r\n\r\nid: x\rdata: 2\r\r: c\n\ndata: 3"), uint8(3), uint8(0))
	f.Add([]byte("\xEF\xBB\xBFdata\n\ndata: 1\n\n"), uint8(1), uint8(8))
	f.Fuzz(func(t *testing.T, stream []byte, n, limit uint8) {
		whole, p, err := parse(stream, len(stream), int(limit))
		parts, q, partsErr := parse(stream, int(n)+1, int(limit))
		if (err == nil) != (partsErr == nil) {
			t.Fatalf("whole: %v, in chunks: %v", err, partsErr)
		}
		if d := diff.Values(whole, parts); d != "" {
			t.Fatal(d)
		}
		a, okA := p.Pending()
		b, okB := q.Pending()
		if okA != okB || show(a) != show(b) {
			t.Fatalf("pending: whole %q, in chunks %q", show(a), show(b))
		}
	})
}

// FuzzAppend checks that what is written is read back.
func FuzzAppend(f *testing.F) {
	f.Add("ping", []byte("a\nb"))
	f.Fuzz(func(t *testing.T, typ string, data []byte) {
		if strings.ContainsAny(typ, "\r\n") {
			return
		}
		wire := AppendEvent([]byte(": a comment\n\n"), typ, data)
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
		data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
		got, _, err := parse(wire, 7, 0)
		if want := show(Event{Type: typ, Data: data}); err != nil || len(got) != 1 || got[0] != want {
			t.Fatalf("%q: %q, %v, want %q", wire, got, err, want)
		}
	})
}

func ExampleParser() {
	p := &Parser{OnEvent: func(ev Event) { fmt.Printf("%s: %s\n", ev.Type, ev.Data) }}
	for _, chunk := range []string{"event: pi", "ng\nda", "ta: {}\n", "\nevent: stop\n"} {
		if _, err := p.Write([]byte(chunk)); err != nil {
			fmt.Println(err)
		}
	}
	// Output: ping: {}
}
