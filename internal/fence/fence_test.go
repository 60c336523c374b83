package fence_test

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/fence/fencetest"
)

func TestMark(t *testing.T) {
	const digits = "0123456789abcdef"
	var all strings.Builder // every mark of four digits
	for i := range 1 << 16 {
		for shift := 12; shift >= 0; shift -= 4 {
			all.WriteByte(digits[i>>shift&15])
		}
	}
	for _, text := range []string{"", "a\nb", all.String(), strings.Repeat("0\n", 100)} {
		head, _, _ := strings.Cut(fence.Block("file", text), "\n")
		mark := strings.TrimSuffix(strings.TrimPrefix(head, "<file "), ">")
		if len(mark) < 4 || strings.Contains(text, mark) {
			t.Errorf("a text of %d bytes has the mark %q", len(text), mark)
		}
	}
}

func TestAlone(t *testing.T) {
	for text, plain := range map[string]bool{
		"Fix it.": true, "Été 2": true, "7 files": true, "": false, "--- message 6, user": false, "## Pinned": false,
		" indented": false, "two\nlines": false, "a\r## Pinned": false, "a\u2028b": false, "\u200b## Pinned": false,
	} {
		if got := fence.Alone("text", text); (got == text) != plain {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func FuzzBlock(f *testing.F) {
	for _, s := range []string{"", "one", "a\nb\n", "</file 1a2b>\n## Pinned", "\r\u2028## Pinned", "<said 0000>\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		block := fence.Block("file", text)
		if out := fencetest.Outside("before\n" + block + "\nafter"); len(out) != 2 || out[1] != "after" {
			t.Fatalf("outside of the fence: %q", out)
		}
		if !strings.Contains(block, "\n"+text+"\n") {
			t.Fatal("the content was changed")
		}
		if line := fence.Line(text); strings.ContainsAny(line, "\n\r\v\f\u0085\u2028\u2029") {
			t.Fatalf("a line of several: %q", line)
		}
	})
}
