package filestate

import (
	"strings"
	"testing"
)

// FuzzBody does to a body of several chunks what the bytes say, and the same to a string.
func FuzzBody(f *testing.F) {
	f.Add([]byte{0, 3, 1, 9, 40, 2, 5, 1, 7, 3, 0, 200, 90, 8, 4, 1, 1, 250, 30, 3, 2, 9, 9, 255, 2, 0, 60, 60, 7})
	f.Add(
		[]byte{
			200,
			1,
			255,
			255,
			255,
			1,
			0,
			0,
			0,
			0,
			128,
			128,
			9,
			2,
			100,
			0,
			9,
			3,
			50,
			10,
			20,
			4,
			0,
			1,
			1,
			2,
			77,
			200,
			255,
			3,
		},
	)
	f.Fuzz(func(t *testing.T, data []byte) {
		next := func() int {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return int(b)
		}
		lines := func(n int) string {
			var b strings.Builder
			for i := range n {
				b.WriteString(strings.Repeat("some words of line ", i%7) + string(rune('a'+i%26)) + "\n")
			}
			return b.String()
		}
		want := lines(40 + next())
		got := bodyOf(want)
		for step := 0; len(data) > 0 && step < 60 && want != ""; step++ {
			at := (next()<<8 | next()) % len(want)
			size := min((next()<<8|next())%7_000, len(want)-at)
			switch next() % 4 {
			case 0, 1:
				with := lines(next() % 40)
				if size+at == len(want) && with == "" && at > 0 && want[at-1] != '\n' {
					with = "\n"
				}
				want, got = want[:at]+with+want[at+size:], got.replace(at, size, with)
			case 2:
				before, after := got.split(next())
				got = after.plus(before)
				want = after.String() + before.String()
			case 3:
				checkSearch(t, got, want, want[at:at+min(size, 1+next()*20)], at/2)
			}
			if got.String() != want || got.size != len(want) || got.lines != lineCount(want) {
				t.Fatalf("a body of %d bytes and %d lines:\n%s\nwant:\n%s", got.size, got.lines, got, want)
			}
			if !got.hasPrefix(want[:min(len(want), size)]) || !got.hasSuffix(want[len(want)-min(len(want), size):]) ||
				got.hasPrefix(want+"x") ||
				got.hasSuffix("x"+want) {
				t.Fatal("it does not begin and end as it does")
			}
		}
	})
}

func checkSearch(t *testing.T, b body, all, text string, from int) {
	t.Helper()
	if text == "" {
		return
	}
	for _, aligned := range []bool{false, true} {
		s := b.search(text)
		for at := from; at <= len(all); {
			want := strings.Index(all[at:], text)
			for want >= 0 && aligned && !begins(all, at+want) {
				if k := strings.Index(all[at+want+1:], text); k >= 0 {
					want += 1 + k
				} else {
					want = -1
				}
			}
			if want >= 0 {
				want += at
			}
			if got := s.next(at, aligned); got != want {
				t.Fatalf("%q is at %d from %d on, want %d, in:\n%s", text, got, at, want, all)
			}
			if want < 0 {
				break
			}
			at = want + len(text)
		}
	}
}
