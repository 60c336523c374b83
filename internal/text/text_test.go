package text

import (
	"slices"
	"strings"
	"testing"
)

func TestNumbersAndNames(t *testing.T) {
	tests := []struct {
		name      string
		got, want any
	}{
		{"PlainName", PlainName("Todo_Write-it"), "todowriteit"},
		{"Plural", Plural(1, "line") + Plural(1204, "line"), "1 line1,204 lines"},
		{"Thousands", Thousands(-1234567), "-1,234,567"},
		{"Kilobytes", Kilobytes(1536), "1.5KB"},
		{"LineCount", LineCount("a\nb"), 2},
		{"LineCount, closed", LineCount("a\nb\n"), 2},
		{"LineCount, empty", LineCount(""), 0},
		{"IsDigits", IsDigits("12") && !IsDigits("") && !IsDigits("1a"), true},
		{"IsNumber", IsNumber("10.0.0.1") && !IsNumber("v1"), true},
		{"IsHex", IsHex("27a33e9") && !IsHex("facade") && !IsHex("12g"), true},
		{"IsLetterRune", IsLetterRune('é') && IsLetterRune('a') && !IsLetterRune('1'), true},
		{"ContainsAny", ContainsAny("abc", "x", "b") && !ContainsAny("abc", "x"), true},
		{"HasAnyPrefix", HasAnyPrefix("abc", "x", "ab") && !HasAnyPrefix("abc", "b"), true},
		{"JoinSections", JoinSections("a\n", "", "b\n\n"), "a\n\nb"},
		{"LineHash of a numbered line", LineHash("  12→the same line"), LineHash("- the same line,")},
		{"LineHash of little", LineHash("}"), uint64(0)},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, test.got, test.want)
		}
	}
}

func TestNumberEnd(t *testing.T) {
	for line, want := range map[string]string{
		"   12→x": "   12→", "12\tx": "12\t", "12:x": "12:", "L12: x": "L12:", "12| x": "12|", "x": "", "12 x": "",
		"12": "", "": "",
	} {
		if got := line[:NumberEnd(line)]; got != want {
			t.Errorf("the number before %q is %q, want %q", line, got, want)
		}
	}
}

func TestDiffLines(t *testing.T) {
	for _, test := range []struct{ a, b, want string }{
		{"a b c", "a b c", " a  b  c"},
		{"a b c", "a x c", " a -b +x  c"},
		{"", "a b", "+a +b"},
		{"a b", "", "-a -b"},
		{"a b c d", "b d e", "-a  b -c  d +e"},
	} {
		a, b := strings.Fields(test.a), strings.Fields(test.b)
		var got []string
		for _, l := range DiffLines(a, b, 100) {
			line := ""
			if l.Kind == '+' {
				line = b[l.B]
			} else {
				line = a[l.A]
			}
			got = append(got, string(l.Kind)+line)
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("from %q to %q: %q, want %q", test.a, test.b, s, test.want)
		}
	}
	// Too different for the shortest diff: everything goes and everything comes.
	ops := DiffLines([]string{"a", "b", "c"}, []string{"x", "y", "z"}, 1)
	if n := len(ops); n != 6 {
		t.Errorf("%d lines, want 6", n)
	}
}

func TestShort(t *testing.T) {
	for n, want := range map[int]string{
		0: "0", 999: "999", 1000: "1.0k", 9949: "9.9k", 9950: "10k", 12_991: "13k", 30_600: "31k", 99_542: "100k",
		999_499: "999k", 999_500: "1.0M", 9_949_999: "9.9M", 9_950_000: "10M", 12_991_000: "13M",
	} {
		if got := Short(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	tests := []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"Don't touch src/legacy, v1.2.", []string{"don't", "touch", "src/legacy", "v1.2"}},
		{"It’s fine — “really” …", []string{"it's", "fine", "really"}},
		{"はい、foo_bar-baz $HOME \xff\x80x", []string{"はい", "foo_bar-baz", "$home", "x"}},
	}
	for _, tt := range tests {
		var got []string
		for _, w := range Words(tt.in) {
			if got = append(got, w.Text); len(tt.in[w.Start:w.End]) < len(w.Text) {
				t.Errorf("Words(%q): %q is at %q", tt.in, w.Text, tt.in[w.Start:w.End])
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("Words(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
