package sse

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/difftest"
)

// parse feeds the stream to a Splitter in chunks of n bytes and returns the events that
// have data.
func parse(stream []byte, n, limit int) (events []string, s *Splitter, err error) {
	s = &Splitter{Limit: limit}
	for len(stream) > 0 && err == nil {
		n := min(n, len(stream))
		err = s.Feed(stream[:n], func(raw, data []byte) {
			if len(data) > 0 {
				events = append(events, show(raw, data))
			}
		})
		stream = stream[n:]
	}
	return events, s, err
}

func show(raw, data []byte) string { return Type(raw) + "|" + string(data) }

// pending is what the end of the stream cut off.
func pending(s *Splitter) string {
	raw, data := s.Rest()
	if len(data) == 0 {
		return ""
	}
	return show(raw, data)
}

func TestSplitter(t *testing.T) {
	for _, tt := range []struct {
		name, stream string
		want         []string
		pending      string
	}{
		{"empty", "", nil, ""},
		{"one", "event: ping\ndata: {}\n\n", []string{"ping|{}"}, ""},
		{"type lasts one event", "event: a\ndata: 1\n\ndata: 2\n\n", []string{"a|1", "|2"}, ""},
		{"CRLF", "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", []string{"a|1", "|2"}, ""},
		{"CR", "event: a\rdata: 1\r\rdata: 2\r\r", []string{"a|1", "|2"}, ""},
		{"mixed breaks", "data: 1\r\ndata: 2\n\r\ndata: 3\r\n\n", []string{"|1\n2", "|3"}, ""},
		{"LF, then CR", "data: 1\n\rdata: 2\n\r\r", []string{"|1", "|2"}, ""},
		{"CR, then CRLF", "data: 1\r\r\ndata: 2\r\r\n", []string{"|1", "|2"}, ""},
		{"many data lines", "data: a\ndata:\ndata\ndata:  b\n\n", []string{"|a\n\n\n b"}, ""},
		{"only one space goes", "data:  x\n\n", []string{"| x"}, ""},
		{"colons in data", "data: a: b:c\n\n", []string{"|a: b:c"}, ""},
		{"comments", ": hi\n\n:\ndata: 1\n: x\n\n", []string{"|1"}, ""},
		{"no data, no event", "event: a\n\ndata: 1\n\n", []string{"|1"}, ""},
		{"empty data", "data\n\ndata:\n\n", nil, ""},
		{"unknown fields", "retry: 10\ndatum: x\n data: x\nData: x\ndata: 1\n\n", []string{"|1"}, ""},
		{"byte order mark", "\xEF\xBB\xBFdata: 1\n\n\xEF\xBB\xBFdata: 2\n\n", []string{"|1"}, ""},
		{"byte order mark alone", "\xEF\xBB\xBF\ndata: 1\n\n", []string{"|1"}, ""},
		{"cut before the empty line", "data: 1\n\nevent: a\ndata: 2\n", []string{"|1"}, "a|2"},
		{"cut in a line", "data: 1\n\nid: 4\ndata: [DONE]", []string{"|1"}, "|[DONE]"},
		{"cut without data", "data: 1\n\nevent: a\n: c", []string{"|1"}, ""},
	} {
		for n := 1; n <= len(tt.stream)+1; n++ {
			got, s, err := parse([]byte(tt.stream), n, 0)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if d := difftest.Values(tt.want, got); d != "" {
				t.Fatalf("%s, in chunks of %d:\n%s", tt.name, n, d)
			}
			if rest := pending(s); rest != tt.pending {
				t.Fatalf("%s, in chunks of %d: pending %q, want %q", tt.name, n, rest, tt.pending)
			}
		}
	}
}

func TestSplitterLimit(t *testing.T) {
	for _, tt := range []struct {
		stream string
		want   []string
		ok     bool
	}{
		{"data: 1234\n\n", []string{"|1234"}, true},
		{"data: 1\n\ndata: 1234567\n\n", []string{"|1"}, false},
		{"data:1\ndata:2\n\n", nil, false},
		{":2345678901234", nil, false},
	} {
		for n := 1; n <= len(tt.stream); n++ {
			got, _, err := parse([]byte(tt.stream), n, 12)
			if tt.ok != (err == nil) || !tt.ok && !errors.Is(err, ErrTooLarge) {
				t.Fatalf("%q in chunks of %d: error %v", tt.stream, n, err)
			}
			if d := difftest.Values(tt.want, got); d != "" {
				t.Fatalf("%q in chunks of %d:\n%s", tt.stream, n, d)
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
		want := []string{typ + "|" + string(data)}
		if len(data) == 0 {
			want = nil
		}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q: %q, %v, want %q", wire, got, err, want)
		}
	})
}

func ExampleSplitter() {
	var s Splitter
	for _, chunk := range []string{"event: pi", "ng\nda", "ta: {}\n", "\nevent: stop\n"} {
		err := s.Feed([]byte(chunk), func(raw, data []byte) { fmt.Printf("%s: %s\n", Type(raw), data) })
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output: ping: {}
}

// Whatever the chunks, the events are the same, and no byte is lost.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte("event: a\ndata: 1\n\n: c\r\n\r\ndata: 2\r\rrest"), uint8(3))
	f.Add([]byte("\n\n\n\r\n\r\n\r\r"), uint8(1))
	f.Add([]byte("event: message_start\ndata: {\"type\":\"message_start\"}\n\nevent: ping\ndata: {}\n\n"), uint8(7))
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		split := func(size int) (events []string, all string) {
			var s Splitter
			for rest := stream; len(rest) > 0; {
				n := min(size, len(rest))
				s.Feed(rest[:n], func(raw, _ []byte) { events = append(events, string(raw)) })
				rest = rest[n:]
			}
			rest, _ := s.Rest()
			return events, strings.Join(events, "") + string(rest)
		}
		whole, all := split(len(stream) + 1)
		if all != string(stream) {
			t.Fatalf("%q became %q", stream, all)
		}
		for _, n := range []int{1, int(size)%16 + 1} {
			if pieces, again := split(n); strings.Join(pieces, "|") != strings.Join(whole, "|") || again != all {
				t.Fatalf("in chunks of %d: %q, whole: %q", n, pieces, whole)
			}
		}
	})
}

func TestData(t *testing.T) {
	for raw, want := range map[string]string{
		"event: x\ndata: {}\n\n":      "{}",
		"data:{}\r\n\r\n":             "{}",
		"data: a\ndata: b\nid: 1\n\n": "a\nb",
		": comment\n\n":               "",
		"data\n\n":                    "",
	} {
		if got := string(Data([]byte(raw))); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}

// A long line of a stream is neither moved nor looked at again with every piece of it that
// comes: that took half a minute here.
func TestSplitterLongLine(t *testing.T) {
	var s Splitter
	piece, began := bytes.Repeat([]byte("x"), 100), time.Now()
	for range 50_000 {
		difftest.Must(t, s.Feed(piece, nil))
	}
	if took := time.Since(began); took > 5*time.Second || len(s.buf) != 5_000_000 {
		t.Errorf("%d bytes took %v", len(s.buf), took)
	}
	s.Limit = 1000
	if err := s.Feed(piece, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}
