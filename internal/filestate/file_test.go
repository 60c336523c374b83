package filestate

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/ledger/toolcall"
)

// show writes a state: a line for each line, with its number, and "~" before what is not
// certain.
func show(f *File) string {
	var b strings.Builder
	number := 1
	for line := range strings.Lines(f.Text) {
		if f.Doubt.Call > 0 {
			b.WriteString("~")
		}
		fmt.Fprintf(&b, "%d %s", number, line)
		number++
	}
	switch {
	case f.Gone:
		b.WriteString("gone\n")
	case f.Whole:
		fmt.Fprintf(&b, "of %d\n", lineCount(f.Text))
	}
	return b.String()
}

func TestFile(t *testing.T) {
	tests := []struct {
		name  string
		steps func(f *File)
		want  string
	}{
		{"nothing", func(f *File) {}, ""},
		{"written", func(f *File) { f.Write(1, "a\nb") }, "1 a\n2 b\nof 2\n"},
		{"written empty", func(f *File) { f.Write(1, "") }, "of 0\n"},
		{"deleted", func(f *File) { f.Write(1, "a\n"); f.Delete(2) }, "gone\n"},
		{"edited", func(f *File) {
			f.Write(1, "a\nb\nc\n")
			f.Replace(2, "b\n", "x\ny\n", false)
		}, "1 a\n2 x\n3 y\n4 c\nof 4\n"},
		{"edited inside a line", func(f *File) {
			f.Write(1, "one two\nthree\n")
			f.Replace(2, "two\nth", "2\n\nTH", false)
		}, "1 one 2\n2 \n3 THree\nof 3\n"},
		{"all", func(f *File) {
			f.Write(1, "a b a\na\n")
			f.Replace(2, "a", "c\nd", true)
		}, "1 c\n2 d b c\n3 d\n4 c\n5 d\nof 5\n"},
		{"several places for one edit", func(f *File) {
			f.Write(1, "a\na\n")
			f.Replace(2, "a", "b", false)
		}, "~1 a\n~2 a\nof 2\n"},
		{"text that is not there", func(f *File) {
			f.Write(1, "a\nb\n")
			f.Replace(2, "x", "y", false)
		}, "~1 a\n~2 b\nof 2\n"},
		{"shown in parts only", func(f *File) {
			f.See(1, 3, "c\nd\n", true)
			f.See(2, 1, "a\nb\nc\n", false)
			f.Replace(3, "b\n", "", false)
			f.Insert(4, 1, "x\n")
			f.Append(5, "y\n")
			f.Patch(6, []toolcall.Hunk{{Old: []string{"a"}, New: []string{"b"}}})
		}, ""},
		{"a part of what is known", func(f *File) {
			f.See(1, 1, "a\nb\nc\n", true)
			f.See(2, 2, "b\nc\n", true)
		}, "1 a\n2 b\n3 c\nof 3\n"},
		{"a part of what changed unseen", func(f *File) {
			f.See(1, 1, "a\nb\nc\n", true)
			f.See(2, 2, "B\n", false)
		}, "~1 a\n~2 b\n~3 c\nof 3\n"},
		{"a part of what grew unseen", func(f *File) {
			f.See(1, 1, "a\nb\n", true)
			f.See(2, 2, "b\nc\n", false)
		}, "~1 a\n~2 b\nof 2\n"},
		{"a doubt", func(f *File) {
			f.Write(1, "a\nb\n")
			f.Lose(Doubt{Call: 2, Why: "sed -i"})
			f.See(3, 2, "b\n", false)
		}, "~1 a\n~2 b\nof 2\n"},
		{"a doubt that was for nothing", func(f *File) {
			f.Write(1, "a\nb\n")
			f.Lose(Doubt{Call: 2, Why: "sed -i"})
			f.Vouch()
		}, "1 a\n2 b\nof 2\n"},
		{"a doubt from before it was seen", func(f *File) {
			f.Write(1, "a\nb\n")
			f.Lose(Doubt{Call: 2, Why: "sed -i"})
			f.See(3, 1, "a\n", false)
			f.Vouch()
		}, "~1 a\n~2 b\nof 2\n"},
		{"inserted", func(f *File) {
			f.Write(1, "a\nb\n")
			f.Insert(2, 1, "x\ny")
		}, "1 a\n2 x\n3 y\n4 b\nof 4\n"},
		{"shown where no file has lines", func(f *File) {
			f.Write(1, "a\n")
			f.See(2, 4_000_000_000, "b\n", false)
			f.See(3, math.MaxInt, "c\nd\n", true)
			f.See(4, math.MinInt, "c\nd\n", true)
		}, "~1 a\nof 1\n"},
		{"inserted where no file has lines", func(f *File) {
			f.Write(1, "a\nb\n")
			f.Insert(2, math.MaxInt, "x\n")
			f.Insert(3, -2, "x\n")
		}, "~1 a\n~2 b\nof 2\n"},
		{"appended", func(f *File) {
			f.Write(1, "a\n")
			f.Append(2, "b\n")
		}, "1 a\n2 b\nof 2\n"},
		{"appended in doubt", func(f *File) {
			f.Write(1, "a\n")
			f.Lose(Doubt{Call: 2, Why: "sed -i"})
			f.See(3, 1, "a\n", false)
			f.Append(4, "b\n")
		}, "~1 a\n~2 b\nof 2\n"},
		{"patched in doubt", func(f *File) {
			f.Write(1, "a\n")
			f.Lose(Doubt{Call: 2, Why: "sed -i"})
			f.Patch(3, []toolcall.Hunk{{Old: []string{"a"}, New: []string{"b"}}})
			f.Append(4, "c\n")
		}, "~1 b\n~2 c\nof 2\n"},
		{"patched from the last hunk on", func(f *File) {
			f.Write(1, "a\nx\nb\nx\n")
			f.Patch(
				2,
				[]toolcall.Hunk{
					{Old: []string{"b"}, New: []string{"b", "B"}}, {Old: []string{"x"}, New: []string{"y"}},
				},
			)
		}, "1 a\n2 x\n3 b\n4 B\n5 y\nof 5\n"},
		{"patched after its context", func(f *File) {
			f.Write(1, "func a\n\tx\nfunc b\n\tx\n")
			f.Patch(2, []toolcall.Hunk{{Context: []string{"func b"}, Old: []string{"\tx"}, New: []string{"\ty"}}})
		}, "1 func a\n2 \tx\n3 func b\n4 \ty\nof 4\n"},
		{"patched where nothing was seen", func(f *File) {
			f.Write(1, "a\nb\n")
			f.Patch(2, []toolcall.Hunk{{Old: []string{"q"}, New: []string{"q", "r"}}})
		}, "~1 a\n~2 b\nof 2\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &File{}
			tt.steps(f)
			if got := show(f); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}
