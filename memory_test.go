package pleat_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// readStore counts the bodies that are read.
type readStore struct {
	store.Store
	bodies int
}

func (r *readStore) Body(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	r.bodies++
	return r.Store.Body(ctx, key, hash)
}

// A view whose large results are folded does not read them, however little is kept in memory.
func TestFoldedIsNotRead(t *testing.T) {
	for _, size := range []int{100_000, 3_000_000} {
		st := &readStore{Store: store.NewMemory()}
		s := open(t, st, &pleat.Options{Memory: 1 << 20, Budget: pleat.Budget{Window: 100_000}})
		mustAppend(t, s, pleat.User("start"))
		for i := range 30 {
			a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
			mustAppend(t, s, pleat.Assistant(pleat.Call(a, "sh", `{"command":"cat log"}`), pleat.Call(b, "sh", `{"command":"ls"}`)),
				pleat.Results(pleat.Result(a, strings.Repeat(a+" some line\n", size/20)), pleat.Result(b, "go.mod")))
			for range 2 { // the second view is the first one again
				st.bodies = 0
				if _, err := s.Messages(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if st.bodies > 0 {
				t.Fatalf("results of %d bytes: view %d reads %d bodies", size, i, st.bodies)
			}
		}
	}
}

// TestWeight: what a session says that it takes of memory is what opening it takes, within a half.
func TestWeight(t *testing.T) {
	for _, memory := range []int{64 << 10, 0} {
		st, o := store.NewMemory(), &pleat.Options{Memory: memory, Budget: pleat.Budget{Window: 16_000}}
		talkOf(t, open(t, st, o), 400)
		before := heap()
		s := open(t, st, o)
		view(t, s)
		if took, says := heap()-before, inside.Of(s).MemoryBytes(); says < took*2/3 || says > took*3/2 {
			t.Errorf("memory %d: it takes %d bytes and says %d", memory, took, says)
		}
	}
}

// talkOf has a session fold many rounds.
func talkOf(t *testing.T, s *pleat.Session, rounds int) {
	for i := range rounds {
		id := fmt.Sprint("c", i)
		mustAppend(t, s, pleat.User("Look at the next file, please."), pleat.Assistant(pleat.Call(id, "read_file",
			fmt.Sprintf(`{"path":"src/f%d.go"}`, i))), pleat.Results(pleat.Result(id, strings.Repeat("a line\n", 300))))
		view(t, s)
	}
}

// heap is how many bytes are in use, without what pools and finalizers still have.
func heap() int {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

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
