package pleat_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// counting counts the bytes of bodies that are read.
type counting struct {
	*store.Memory
	bytes int
}

func (c *counting) Shared(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	b, err := c.Memory.Shared(ctx, key, hash)
	c.bytes += len(b)
	return b, err
}

// Stretches that begin where pages begin are measured as their messages go by: to fold a
// session that is larger than memory, next to nothing of it is read back, and what was
// measured is what unfolding shows.
func TestMeasureReadsLittleBack(t *testing.T) {
	st := &counting{Memory: store.NewMemory()}
	tight := open(t, st, &pleat.Options{Memory: 64 << 10})
	wide := open(t, store.NewMemory(), nil)
	msgs := []transcript.Message{transcript.User("read them all")}
	for i := range 400 {
		id := fmt.Sprint(i)
		msgs = append(
			msgs,
			transcript.Assistant(transcript.Say("now "+id), transcript.Call(id, "read_file", `{"path":"f`+id+`"}`)),
			transcript.Results(transcript.Result(id, strings.Repeat("some words of file "+id+"\n", 600))),
		)
	}
	for _, s := range []*pleat.Session{tight, wide} {
		mustAppend(t, s, msgs...)
	}
	for _, c := range []struct{ start, end, most int }{
		{1, 801, 100 << 10},
		{1, 799, 3 << 20},
		{1, 11, 1 << 20},
		{1, 1, 0},
		{201, 221, 1 << 20},
		{1, 801, 0},
	} {
		st.bytes = 0
		h, bytes, lines := pleat.MeasureStretch(tight, c.start, c.end)
		if st.bytes > c.most {
			t.Errorf("to measure messages %d to %d, %d bytes were read back, want at most %d", c.start,
				c.end, st.bytes, c.most)
		}
		text := pleat.RenderStretch(wide, c.start, c.end)
		want := strings.Count(text, "\n")
		if h != transcript.HashOf(text) || bytes != len(text) || lines != want {
			t.Errorf(
				"messages %d to %d: %v, %d bytes, %d lines; want %v, %d, %d",
				c.start,
				c.end,
				h,
				bytes,
				lines,
				transcript.HashOf(text),
				len(text),
				want,
			)
		}
	}
}
