package filestate

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/ledger/toolcall"
)

// FuzzFile changes a file and shows parts of it, as the bytes say, and follows that. No line
// that is said to be certain may be wrong, whatever was shown and whatever was not.
func FuzzFile(f *testing.F) {
	f.Add([]byte{9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 3, 1, 2, 1, 4, 2, 2, 0, 0, 9, 9})
	f.Add([]byte{20, 0, 0, 0, 1, 1, 2, 3, 0, 1, 5, 0, 9, 4, 1, 1, 1, 1, 3, 2, 0, 3, 5, 1})
	f.Add([]byte{5, 1, 2, 3, 4, 5, 0, 0, 9, 5, 2, 1, 3, 6, 1, 7, 0, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		next := func() int {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return int(b)
		}
		words := []string{"a", "b", "", "a b", "}", "{", "c"}
		lines := func(n int) string {
			var b strings.Builder
			for range n {
				b.WriteString(words[next()%len(words)] + "\n")
			}
			return b.String()
		}
		truth := lines(next() % 24)
		state := &File{}
		for call := 1; len(data) > 0 && call < 100 && len(truth) < 2_000; call++ {
			truth = fuzzStep(state, call, truth, next, lines)
			checkState(t, state, truth)
		}
	})
}

// fuzzStep does one thing to the file and to the state that follows it.
func fuzzStep(state *File, call int, truth string, next func() int, lines func(int) string) string {
	n := lineCount(truth)
	op := next()
	if op >= 224 { // an unseen change
		from := next() % (n + 1)
		to := min(from+next()%3, n)
		state.Lose(Doubt{Call: call, Why: "something ran"})
		return linesOf(truth, 0, from) + lines(next()%3) + linesOf(truth, to, n-to)
	}
	switch op % 8 {
	case 0, 1: // show a part
		from := next() % (n + 1)
		to := min(from+next()%8, n)
		if to > from {
			state.See(call, from+1, linesOf(truth, from, to-from), to == n && next()%2 == 0)
		}
	case 2, 3: // an edit of what is there once
		if len(truth) == 0 {
			break
		}
		from := next() % len(truth)
		old := truth[from:min(from+1+next()%12, len(truth))]
		now := strings.TrimSuffix(lines(next()%3), "\n")
		after := strings.Replace(truth, old, now, 1)
		if strings.Count(truth, old) == 1 && overlaps(truth, old) == 1 &&
			(after == "" || strings.HasSuffix(after, "\n")) {
			truth = after
			state.Replace(call, old, now, false)
		}
	case 4: // an edit of all of something
		old, now := lines(1), lines(next()%3)
		if next()%2 == 0 {
			old = strings.TrimSuffix(old, "\n")
			now = strings.TrimSuffix(now, "\n")
		}
		if after := strings.ReplaceAll(truth, old, now); old != "" && strings.Contains(truth, old) &&
			strings.Count(truth, old) == overlaps(truth, old) &&
			(after == "" || strings.HasSuffix(after, "\n")) {
			truth = after
			state.Replace(call, old, now, true)
		}
	case 5:
		at := next() % (n + 1)
		text := lines(1 + next()%2)
		truth = linesOf(truth, 0, at) + text + linesOf(truth, at, n-at)
		state.Insert(call, at, text)
	case 6:
		text := lines(1)
		truth += text
		state.Append(call, text)
	case 7: // a patch whose old lines are there once
		if n < 2 {
			break
		}
		from := next() % (n - 1)
		old := linesOf(truth, from, 1+next()%3)
		now := lines(next() % 3)
		if strings.Count("\n"+truth, "\n"+old) == 1 && overlaps("\n"+truth, "\n"+old) == 1 {
			truth = strings.TrimPrefix(strings.Replace("\n"+truth, "\n"+old, "\n"+now, 1), "\n")
			state.Patch(call, []toolcall.Hunk{{Old: linesIn(old), New: linesIn(now)}})
		}
	}
	return truth
}

// linesOf is n lines of a text from line first on, counted from 0.
func linesOf(text string, first, n int) string {
	text = text[offset(text, first):]
	return text[:offset(text, n)]
}

func linesIn(text string) []string {
	lines := strings.Split(text, "\n")
	return lines[:len(lines)-1]
}

// overlaps counts where a part begins in a text, also inside of itself.
func overlaps(text, part string) int {
	n := 0
	for i := range text {
		if strings.HasPrefix(text[i:], part) {
			n++
		}
	}
	return n
}

func checkState(t *testing.T, state *File, truth string) {
	t.Helper()
	if state.Certain() && state.Text != truth {
		t.Fatalf("the file:\n%s\nthe state:\n%s", truth, show(state))
	}
}

func FuzzShown(f *testing.F) {
	f.Add("     1→a\n     2→b\n\n<system-reminder>\nx\n</system-reminder>\n", 0, 0)
	f.Add("<path>x</path>\n<type>file</type>\n<content>\n3: a\n4: b\n\n(End of file - total 4 lines)\n</content>", 3, 0)
	f.Add("Here's the result of running `cat -n` on x:\n     1\ta\n", 0, 0)
	f.Add("1. a\n2. b\n\n[Output truncated. Use view_range=[3, ...] to continue]", 1, 200)
	f.Fuzz(func(t *testing.T, result string, first, last int) {
		p := []toolcall.PathChange{{First: first, Last: last}}
		for _, facts := range []toolcall.CallFacts{
			{Tool: "read", Paths: p}, {Tool: "Read", Paths: p}, {Command: "nl -ba x", Paths: p}, {Command: "cat x", Paths: p},
		} {
			s, ok := shownBy(&facts, result)
			if ok && s.First != max(first, 1) && !strings.Contains(result, "lines ") {
				t.Errorf("line %d of %q", s.First, result)
			}
		}
	})
}
