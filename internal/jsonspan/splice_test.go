package jsonspan

import (
	"strings"
	"testing"
)

func TestSplice(t *testing.T) {
	edit := func(start, end int, with string) Edit { return Edit{Span{start, end}, []byte(with)} }
	for _, tt := range []struct {
		name  string
		edits []Edit
		want  string // of 0123456789, or an error that contains it
	}{
		{"none", nil, "0123456789"},
		{"replace", []Edit{edit(2, 4, "abc")}, "01abc456789"},
		{"delete", []Edit{edit(0, 3, ""), edit(9, 10, "")}, "345678"},
		{"all", []Edit{edit(0, 10, "x")}, "x"},
		{"touching", []Edit{edit(2, 4, "a"), edit(4, 6, "b")}, "01ab6789"},
		{"unsorted", []Edit{edit(8, 9, "c"), edit(0, 1, "a"), edit(4, 5, "b")}, "a123b567c9"},
		{"insert", []Edit{edit(5, 5, "x"), edit(5, 5, "y"), edit(0, 0, "<"), edit(10, 10, ">")}, "<01234xy56789>"},
		{"insert before replacement", []Edit{edit(5, 6, "y"), edit(5, 5, "x")}, "01234xy6789"},
		{"overlap", []Edit{edit(4, 6, ""), edit(2, 5, "")}, "edit [4,6) overlaps one that ends at 5"},
		{"twice", []Edit{edit(4, 6, ""), edit(4, 6, "")}, "edit [4,6) overlaps one that ends at 6"},
		{"behind", []Edit{edit(4, 11, "")}, "edit [4,11) outside of 10 bytes"},
		{"negative", []Edit{edit(-1, 2, "")}, "edit [-1,2) outside of 10 bytes"},
		{"backwards", []Edit{edit(4, 3, "")}, "edit [4,3) outside of 10 bytes"},
	} {
		got, err := Splice([]byte("0123456789"), tt.edits)
		if err != nil && strings.Contains(err.Error(), tt.want) {
			continue
		}
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestSpliceAllocatesOnce(t *testing.T) {
	data := []byte(strings.Repeat("0123456789", 1000))
	var edits []Edit
	for i := range 64 {
		edits = append(edits, Edit{Span{i * 40, i*40 + 20}, []byte("x")})
	}
	for _, n := range []int{1, 20, 64} {
		got := testing.AllocsPerRun(10, func() {
			out, err := Splice(data, edits[:n])
			if err != nil || len(out) != len(data)-19*n {
				t.Fatal(len(out), err)
			}
		})
		if got != 1 {
			t.Errorf("%d edits make %v allocations, want 1", n, got)
		}
	}
}

func TestAppendCompact(t *testing.T) {
	const value = " { \"a b\" : [ 1.0 ,\r\n\t\"x \\\" y\" , { } ] , \"\\u0061\":null } "
	const want = `>{"a b":[1.0,"x \" y",{}],"\u0061":null}`
	if got := string(AppendCompact([]byte(">"), []byte(value))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestUnquote(t *testing.T) {
	for _, tt := range []struct {
		lit, want string
		ok        bool
	}{
		{`""`, "", true},
		{`"abc"`, "abc", true},
		{`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t", true},
		{`"\u0041\u00E9\u00e9\u20ac"`, "Aéé€", true},
		{`"\ud83d\ude42"`, "🙂", true},
		{`"\ud83d"`, "\uFFFD", true},
		{`"\ud83dx"`, "\uFFFDx", true},
		{`"\ud83d\u0041"`, "\uFFFDA", true},
		{`"\ude42\ud83d\ude42"`, "\uFFFD🙂", true},
		{`"\ud83d\n"`, "\uFFFD\n", true},
		{"\"\xff\"", "\xff", true},
		{"\"\xff\\n\"", "\xff\n", true},
		{``, "", false},
		{`"`, "", false},
		{`a`, "", false},
		{`"a`, "", false},
		{`"a"b"`, "", false},
		{`"\"`, "", false},
		{`"\u12"`, "", false},
		{"\"\n\"", "", false},
		{`"a" `, "", false},
	} {
		got, ok := Unquote([]byte(tt.lit))
		if got != tt.want || ok != tt.ok {
			t.Errorf("Unquote(%s) = %q, %v, want %q, %v", tt.lit, got, ok, tt.want, tt.ok)
		}
		dst, ok := AppendUnquote([]byte("> "), []byte(tt.lit))
		if string(dst) != "> "+tt.want || ok != tt.ok {
			t.Errorf("AppendUnquote(%s) = %q, %v, want %q, %v", tt.lit, dst, ok, tt.want, tt.ok)
		}
	}
}

func TestKeyIs(t *testing.T) {
	for _, tt := range []struct {
		lit, name string
		want      bool
	}{
		{`"role"`, "role", true},
		{`"role"`, "rol", false},
		{`"role"`, "roles", false},
		{`"role"`, "Role", false},
		{`"\u0072ole"`, "role", true},
		{`"\u0072ole"`, "\\u0072ole", false},
		{`"\\a"`, `\a`, true},
		{`"\\a"`, `\\a`, false},
		{`"a\nb"`, "a\nb", true},
		{`"a\nb"`, `a\nb`, false},
		{`""`, "", true},
		{`"\u0000"`, "\x00", true},
		{`"`, "", false},
		{``, "", false},
	} {
		data := []byte(tt.lit)
		if got := KeyIs(data, Span{0, len(data)}, tt.name); got != tt.want {
			t.Errorf("KeyIs(%s, %q) = %v, want %v", tt.lit, tt.name, got, tt.want)
		}
	}
	if KeyIs([]byte(`"a"`), Span{0, 9}, "a") || KeyIs([]byte(`"a"`), Span{-1, 2}, "a") {
		t.Error("KeyIs believes a span outside of the text")
	}
}
