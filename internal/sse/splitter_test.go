package sse

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

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
		if err := s.Feed(piece, nil); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took > 5*time.Second || len(s.buf) != 5_000_000 {
		t.Errorf("%d bytes took %v", len(s.buf), took)
	}
	s.Limit = 1000
	if err := s.Feed(piece, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}
