package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCuts(t *testing.T) {
	tests := []struct{ name, got, want string }{
		{"CutText", CutText("año", 2), "a"},
		{"CutText, all of it", CutText("año", 9), "año"},
		{"CutEnd", CutEnd("año", 2), "o"},
		{"CutEnd, all of it", CutEnd("año", 9), "año"},
		{"ClipRunes", ClipRunes("año nuevo", 3), "año"},
		{"ClipRunes, all of it", ClipRunes("año", 9), "año"},
		{"Clip, two lines", Clip("one\ntwo", 20), "one…"},
		{"Clip, too long", Clip("0123456789", 9), "012345…"},
		{"Clip, no room", Clip("0123456789", 7), ""},
		{"ClipPath", ClipPath("/home/me/src/app/main.go 1-20", 20), "…/app/main.go 1-20"},
		{"ClipPath of no path", ClipPath("0123456789", 9), "012345…"},
		{"OneLine", OneLine(" a\n\tb  c ", 20), "a b c"},
		{"OneLine, too long", OneLine("one two three", 7), "one two…"},
		{"OneLine of much", OneLine(strings.Repeat("a ", 100), 10), "a a a a a …"},
		{
			"ShortMiddle", ShortMiddle("1 first\n2 second\n3 third\n4 fourth\n5 fifth\n", 24),
			"1 first\n2 second\n[… 18 bytes left out …]\n5 fifth\n",
		},
		{"ShortMiddle of little", ShortMiddle("a\nb", 24), "a\nb"},
		{"FirstWords", FirstWords("one two\nthree", 2), "one two …"},
		{"FirstWords, all of them", FirstWords("one two", 2), "one two"},
		{"FirstLines", FirstLines("one\ntwo\nthree", 9), "one\ntwo"},
		{"FirstLines, none", FirstLines("one", -1), ""},
		{"ClipQuestion", ClipQuestion("año nuevo", 2), "a …"},
		{"ClipQuestion, all of it", ClipQuestion("año", 9), "año"},
		{
			"ClipAround", ClipAround("the words before it are long, then NAME, and more words", 35, 20),
			"…then NAME, and more…",
		},
		{"ClipAround, at the beginning", ClipAround("NAME comes first, then more", 0, 12), "NAME comes…"},
		{"ClipAround, all of it", ClipAround("NAME", 0, 12), "NAME"},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, test.got, test.want)
		}
	}
	before, after, found := CutLast("a/b/c", "/")
	if before != "a/b" || after != "c" || !found {
		t.Errorf("CutLast: %q, %q, %v", before, after, found)
	}
	if before, _, found = CutLast("abc", "/"); before != "abc" || found {
		t.Errorf("CutLast without it: %q, %v", before, found)
	}
}

// FuzzCuts checks that no cut is inside a character or longer than it may be.
func FuzzCuts(f *testing.F) {
	f.Add("the año nuevo\nbegins", 7)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if !utf8.ValidString(s) || n < 0 || n > 1<<20 {
			return
		}
		for name, got := range map[string]string{
			"CutText": CutText(s, n), "CutEnd": CutEnd(s, n), "Clip": Clip(s, n), "ClipPath": ClipPath(s, n),
		} {
			if len(got) > n || !utf8.ValidString(got) {
				t.Errorf("%s(%q, %d) = %q", name, s, n, got)
			}
		}
		if got := OneLine(s, n); len(got) > n+len("…") || !utf8.ValidString(got) {
			t.Errorf("OneLine(%q, %d) = %q", s, n, got)
		}
	})
}

func TestSentenceEnd(t *testing.T) {
	for s, want := range map[string]string{
		"One. Two.":            "One.",
		"Is it? Yes.":          "Is it?",
		"Run `a. b` now. Two.": "Run `a. b` now.",
		"3. An item. Two.":     "3. An item.",
		"It is go.mod. Two.":   "It is go.mod.",
		"(Really.) Two.":       "(Really.)",
		"好。二":                  "好。",
		"no end":               "no end",
	} {
		if got := s[:SentenceEnd(s)]; got != want {
			t.Errorf("the first sentence of %q is %q, want %q", s, got, want)
		}
	}
}
