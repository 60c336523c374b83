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
	for _, l := range f.Lines() {
		if !l.Certain {
			b.WriteString("~")
		}
		fmt.Fprintf(&b, "%d %s\n", l.Number, l.Text)
	}
	switch n, ended := f.total, f.ended; {
	case f.Gone():
		b.WriteString("gone\n")
	case ended:
		fmt.Fprintf(&b, "of %d\n", n)
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
		}, "~1 a\n~2 a\n"},
		{"text that is not there", func(f *File) {
			f.Write(1, "a\nb\n")
			f.Replace(2, "x", "y", false)
		}, "~1 a\n~2 b\n"},
		{"two parts", func(f *File) {
			f.See(1, 10, "j\nk\n", false)
			f.See(2, 1, "a\nb\n", false)
		}, "1 a\n2 b\n10 j\n11 k\n"},
		{"parts that meet", func(f *File) {
			f.See(1, 3, "c\nd\n", true)
			f.See(2, 1, "a\nb\nc\n", false)
		}, "1 a\n2 b\n3 c\n4 d\nof 4\n"},
		{"an edit moves what comes after it", func(f *File) {
			f.See(1, 1, "a\nb\n", false)
			f.See(2, 10, "j\nk\n", true)
			f.Replace(3, "b\n", "", false)
		}, "1 a\n9 j\n10 k\nof 10\n"},
		{"an edit in the only unseen stretch", func(f *File) {
			f.See(1, 1, "a\nb\n", false)
			f.See(2, 10, "j\nk\n", true)
			f.Replace(3, "e\n", "E\nE\n", false)
		}, "~1 a\n~2 b\n~10 j\n~11 k\n"},
		{"an edit that may reach into known lines", func(f *File) {
			f.See(1, 1, "a\nb\n", false)
			f.Replace(3, "b\nc\n", "X\nc\n", false)
		}, "~1 a\n~2 b\n"},
		{"a read of what changed unseen", func(f *File) {
			f.See(1, 1, "a\nb\nc\n", true)
			f.See(2, 2, "B\n", false)
		}, "~1 a\n2 B\n~3 c\n"},
		{"a doubt", func(f *File) {
			f.Write(1, "a\nb\n")
			f.Lose(Doubt{Call: 2, Why: "sed -i"})
			f.See(3, 2, "b\n", false)
		}, "~1 a\n2 b\nof 2\n"},
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
		}, "1 a\n~2 b\nof 2\n"},
		{"inserted", func(f *File) {
			f.See(1, 1, "a\nb\n", false)
			f.Insert(2, 1, "x\ny")
		}, "1 a\n2 x\n3 y\n4 b\n"},
		{"shown where no file has lines", func(f *File) {
			f.See(1, 1, "a\n", false)
			f.See(2, 4_000_000_000, "b\n", false)
			f.See(3, math.MaxInt, "c\nd\n", true)
			f.See(4, math.MinInt, "c\nd\n", true)
		}, "1 a\n"},
		{"inserted where no file has lines", func(f *File) {
			f.Write(1, "a\nb\n")
			f.Insert(2, math.MaxInt, "x\n")
			f.Insert(3, -2, "x\n")
		}, "~1 a\n~2 b\n"},
		{"appended", func(f *File) {
			f.Write(1, "a\n")
			f.Append(2, "b\n")
		}, "1 a\n2 b\nof 2\n"},
		{"appended where the end is not certain", func(f *File) {
			f.Write(1, "a\n")
			f.Lose(Doubt{Call: 2, Why: "sed -i"})
			f.See(3, 1, "a\n", false)
			f.Append(4, "b\n")
		}, "1 a\n"},
		{"patched where the end is not certain", func(f *File) {
			f.Write(1, "a\n")
			f.Lose(Doubt{Call: 2, Why: "sed -i"})
			f.See(3, 1, "a\n", false)
			f.Patch(4, []toolcall.Hunk{{Old: []string{"a"}, New: []string{"b"}}})
			if f.Certain() {
				f.Write(5, "the end became certain")
			}
		}, "1 b\nof 1\n"},
		{"patched where no line is certain", func(f *File) {
			f.Write(1, "a\n")
			f.Lose(Doubt{Call: 2, Why: "sed -i"})
			f.Patch(3, []toolcall.Hunk{{Old: []string{"a"}, New: []string{"b"}}})
			f.Append(4, "c\n")
		}, "~1 b\n"},
		{"an uncertain edit between two unseen stretches", func(f *File) {
			f.Write(1, "a\nb\nc\nd\ne\n")
			f.Lose(Doubt{Call: 2, Why: "sed -i"})
			f.See(3, 3, "c\n", false)
			f.Replace(4, "b\n", "B\nB\n", false)
		}, "~1 a\n~2 b\n~3 c\n~4 d\n~5 e\n"},
		{"patched from the last hunk on", func(f *File) {
			f.Write(1, "a\nx\nb\nx\n")
			f.Patch(
				2,
				[]toolcall.Hunk{
					{Old: []string{"b"}, New: []string{"b", "B"}},
					{Old: []string{"x"}, New: []string{"y"}},
				},
			)
		}, "1 a\n2 x\n3 b\n4 B\n5 y\nof 5\n"},
		{"patched after its context", func(f *File) {
			f.Write(1, "func a\n\tx\nfunc b\n\tx\n")
			f.Patch(2, []toolcall.Hunk{{Context: []string{"func b"}, Old: []string{"\tx"}, New: []string{"\ty"}}})
		}, "1 func a\n2 \tx\n3 func b\n4 \ty\nof 4\n"},
		{"patched where nothing was seen", func(f *File) {
			f.See(1, 1, "a\nb\n", false)
			f.Patch(2, []toolcall.Hunk{{Old: []string{"q"}, New: []string{"q", "r"}}})
		}, "~1 a\n~2 b\n"},
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

func TestDiff(t *testing.T) {
	before := "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n"
	after := "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nk\nnew\nl\n"
	want := "@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n e\n@@ -9,4 +9,5 @@\n i\n j\n k\n+new\n l\n"
	if got := unifiedDiff(before, after); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := unifiedDiff("", "x\n"); got != "@@ -0,0 +1,1 @@\n+x\n" {
		t.Errorf("of a new file:\n%s", got)
	}
	if got := unifiedDiff("x\n", "x\n"); got != "" {
		t.Errorf("of equal files:\n%s", got)
	}
}
