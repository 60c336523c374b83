package term

import (
	"strings"
	"testing"
	"testing/quick"
)

func TestTokenCount(t *testing.T) {
	for in, want := range map[string]TokenCount{
		"60000":  60_000,
		"60_000": 60_000,
		"60k":    60_000,
		"60K":    60_000,
		"0.2M":   200_000,
		"1m":     1_000_000,
		"1.5k":   1_500,
		"1":      1,
	} {
		var got TokenCount
		if err := got.Set(in); err != nil || got != want {
			t.Errorf("Set(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "k", "0", "-5", "60kk", "many", "NaN", "Inf", "1e300M", "0.0001"} {
		var got TokenCount
		if err := got.Set(in); err == nil {
			t.Errorf("Set(%q) = %d; want an error", in, got)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Thousands(0), "0"},
		{Thousands(999), "999"},
		{Thousands(1204), "1,204"},
		{Thousands(-1204567), "-1,204,567"},
		{Short(999), "999"},
		{Short(1500), "1.5k"},
		{Short(9_960), "10k"},
		{Short(61_400), "61k"},
		{Short(999_600), "1.0M"},
		{Short(12_000_000), "12M"},
		{ByteSize(812), "812 B"},
		{ByteSize(4_100), "4.1 kB"},
		{ByteSize(12_300_000), "12 MB"},
		{Plural(1, "call"), "1 call"},
		{Plural(1204, "call"), "1,204 calls"},
		{Percent(1, 3), "33%"},
		{Percent(1, 0), "0%"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// Whatever the text, it fits its columns and cannot move the cursor.
func TestLinesFit(t *testing.T) {
	fits := func(s string, width uint8) bool {
		n := int(width)%100 + 12
		line := OneLine(s)
		return Columns(Clip(line, n)) <= n && !strings.ContainsFunc(line,
			func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x9b })
	}
	for _, s := range []string{"", "plain", "a\x1b[2Jb\nc\td", "日本語のセッション記録です", "é" +
		strings.Repeat("e\u0301", 40), strings.Repeat("x", 5_000)} {
		for n := range 100 {
			if !fits(s, uint8(n)) {
				t.Errorf("%q does not fit", s)
			}
		}
	}
	if err := quick.Check(fits, nil); err != nil {
		t.Error(err)
	}
}

func TestBar(t *testing.T) {
	for _, tt := range []struct {
		part, whole, n int
		want           string
	}{
		{0, 10, 4, "    "},
		{10, 10, 4, "████"},
		{5, 10, 4, "██  "},
		{1, 1_000_000, 4, "▏   "},
		{20, 10, 2, "██"},
		{1, 0, 2, "  "},
	} {
		if got := Bar(tt.part, tt.whole, tt.n); got != tt.want {
			t.Errorf("bar(%d, %d, %d) = %q, want %q", tt.part, tt.whole, tt.n, got, tt.want)
		}
	}
}

// Broken lines keep their indentation, in colours too, and no tab is left that would jump over
// what stands on the screen.
func TestWrapLines(t *testing.T) {
	s := Screen{Width: 20, colour: true}
	for _, tt := range []struct{ in, want string }{
		{"one two three four five", "one two three four\nfive"},
		{"    one two three four", "    one two three\n    four"},
		{string(s.Dim("  one two three four")), "  \x1b[2mone two three four\x1b[0m"},
		{string(s.Dim("  one two three four five")), "  \x1b[2mone two three four\n  five\x1b[0m"},
		{"1\tone\n11\ttwo", "1       one\n11      two"},
	} {
		if got := WrapLines(tt.in, s.Width); got != tt.want {
			t.Errorf("wrapLines(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// Help that is too wide is filled anew, flags stay in their column, and what is left of an example
// does not look like another.
func TestRefill(t *testing.T) {
	in := "A text that the source\nbreaks\nat will.\n  a list\n  of two\n\nUsage:\n  pleat x\n\nExamples:\n  pleat x one two three\n  pleat x --long one two three four\n\n" +
		"Flags:\n  -x   does one thing or another"
	want := "A text that the source\nbreaks at will.\n  a list\n  of two\n\nUsage:\n  pleat x\n\nExamples:\n  pleat x one two three\n  pleat x --long one\n      two three four\n\n" +
		"Flags:\n  -x   does one thing or\n       another"
	if got := Refill(in, 25); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWithoutPassword(t *testing.T) {
	for text, want := range map[string]string{
		"http://u:p@h/x":                           "http://u:xxxxx@h/x",
		"http:/u:p@h":                              "http:/u:xxxxx@h",
		"http:u:p@h":                               "http:u:xxxxx@h",
		"http//u:p@h":                              "http//u:xxxxx@h",
		"mysql:/u:p@h":                             "mysql:/u:xxxxx@h",
		"'postgress:/u:p@h'":                       "'postgress:/u:xxxxx@h'",
		"see \"http://u:p w @x y@h/\": no":         "see \"http://u:xxxxx@h/\": no",
		"http://u:p#w@h":                           "http://u:xxxxx@h",
		"http://u:a@b\"c@h":                        "http://u:xxxxx@h",
		"http://u:80/x?y@h":                        "http://u:xxxxx@h",
		"http://u:ab://c d@h":                      "http://u:xxxxx@h",
		"a=http://u:p@h1 b=https://u:p w@h2":       "a=http://u:xxxxx@h1 b=https://u:xxxxx@h2",
		"http://127.0.0.1:4141 answers me@x":       "http://127.0.0.1:4141 answers me@x",
		`"u":"http://h:1","v":"http://w:p@h"`:      `"u":"http://h:1","v":"http://w:xxxxx@h"`,
		`"u":"http://h","v":"me@x"`:                `"u":"http://h","v":"me@x"`,
		"https://h: lookup of me@x":                "https://h: lookup of me@x",
		"user:hunter2@h":                           "user:xxxxx@h",
		`--url "user:a/b@c@h:80/x" fails`:          `--url "user:xxxxx@h:80/x" fails`,
		"url=user:1@h":                             "url=user:xxxxx@h",
		"https://me@h C:\\me@x note: me@x git@h:x": "https://me@h C:\\me@x note: me@x git@h:x",
		"https://h/models/m:run by me@x\nhttp://h": "https://h/models/m:xxxxx@x\nhttp://h",
		"/u:p@h/db":                                "/u:xxxxx@h/db",
		"u:p@h":                                    "u:xxxxx@h",
		"u:p w@h":                                  "u:xxxxx@h",
		"u:p@w@h/db":                               "u:xxxxx@h/db",
		"u:p/w x@y@h":                              "u:xxxxx@h",
		"user:\\p@h":                               "user:xxxxx@h",
		"open \"u:p w@h\": no me@x":                "open \"u:xxxxx@h\": no me@x",
		"./u:p@h":                                  "./u:xxxxx@h",
		"u:p@h v:p@h":                              "u:xxxxx@h",
		"a.go:12:5: me@x at 10:30 me@x":            "a.go:12:5: me@x at 10:30 me@x",
	} {
		if got := WithoutPassword(text); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func TestByteCount(t *testing.T) {
	for text, want := range map[string]ByteCount{
		"800M":   8e8,
		"1.5 GB": 15e8,
		"64k":    64e3,
		"1000":   1000,
		"":       0,
		"-1":     0,
		"x":      0,
		"1T":     0,
	} {
		var got ByteCount
		if err := got.Set(text); (err != nil) != (want == 0) || got != want {
			t.Errorf("%q is %d, want %d (%v)", text, got, want, err)
		}
	}
}

// JSON says the same with characters that turn the direction of text as escapes.
func TestJSONDirection(t *testing.T) {
	var b strings.Builder
	if err := WriteJSON(&b, "a\u202eb\u200d\u2069 <c>"); err != nil || b.String() != `"a\u202eb`+"\u200d"+`\u2069 <c>"`+"\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
