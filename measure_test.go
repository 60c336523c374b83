package pleat_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
)

// counting counts the bytes of bodies that are read.
type counting struct {
	*pleat.MemStore
	bytes int
}

func (c *counting) Body(ctx context.Context, key pleat.SessionKey, hash pleat.Hash) ([]byte, error) {
	b, err := c.MemStore.Body(ctx, key, hash)
	c.bytes += len(b)
	return b, err
}

// Stretches that begin where pages begin are measured as their messages go by: to fold a
// session that is larger than memory, next to nothing of it is read back, and what was
// measured is what unfolding shows.
func TestMeasureReadsLittleBack(t *testing.T) {
	store := &counting{MemStore: pleat.NewMemStore()}
	tight := open(t, store, &pleat.Options{Memory: 64 << 10})
	wide := open(t, pleat.NewMemStore(), nil)
	msgs := []pleat.Message{pleat.User("read them all")}
	for i := range 400 {
		id := fmt.Sprint(i)
		msgs = append(msgs, pleat.Assistant(pleat.Say("now "+id), pleat.Call(id, "read_file", `{"path":"f`+id+`"}`)),
			pleat.Results(pleat.Result(id, strings.Repeat("some words of file "+id+"\n", 600))))
	}
	for _, s := range []*pleat.Session{tight, wide} {
		if err := s.Append(t.Context(), msgs...); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ start, end, most int }{
		{1, 801, 100 << 10},
		{1, 799, 3 << 20},
		{3, 801, 100 << 10},
		{3, 401, 3 << 20},
		{1, 11, 1 << 20},
		{1, 1, 0},
		{201, 221, 1 << 20},
		{1, 801, 0},
	} {
		store.bytes = 0
		h, bytes, lines := pleat.MeasureStretch(tight, c.start, c.end)
		if store.bytes > c.most {
			t.Errorf("to measure messages %d to %d, %d bytes were read back, want at most %d", c.start, c.end, store.bytes, c.most)
		}
		text := pleat.RenderStretch(wide, c.start, c.end)
		want := strings.Count(text, "\n")
		if h != pleat.HashOf(text) || bytes != len(text) || lines != want {
			t.Errorf("messages %d to %d: %v, %d bytes, %d lines; want %v, %d, %d", c.start, c.end, h, bytes, lines, pleat.HashOf(text), len(text), want)
		}
	}
}
