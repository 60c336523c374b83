package difftest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/difftest"
)

type level int

func (level) String() string { return "level" }

type thing struct {
	Name  string
	Sizes []int
	By    map[string]any
	Next  *thing
	At    time.Time
	Level level
	raw   []byte
}

func TestEqual(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	make1 := func(at time.Time) thing {
		return thing{
			Name:  "a",
			Sizes: []int{1, 2},
			By:    map[string]any{"x": 1, "y": "z"},
			Next:  &thing{Name: "b"},
			At:    at,
			raw:   []byte("r"),
		}
	}
	if d := difftest.Values(make1(at), make1(at.In(time.FixedZone("far", 3600)))); d != "" {
		t.Errorf("the same values differ:\n%s", d)
	}
}

func TestDifferent(t *testing.T) {
	tests := []struct {
		name      string
		want, got any
		lines     string
	}{
		{"field", thing{Name: "a"}, thing{Name: "b"}, "- \tName: \"a\"\n+ \tName: \"b\"\n"},
		{"unexported", thing{raw: []byte("a")}, thing{raw: []byte("b")}, "- \traw: \"a\"\n+ \traw: \"b\"\n"},
		{"nil and empty", []int(nil), []int{}, "- []int nil\n+ []int {\n+ }\n"},
		{"map", map[string]int{"a": 1, "b": 2}, map[string]int{"a": 1, "b": 3}, "- \t\"b\": 2\n+ \t\"b\": 3\n"},
		{
			"behind a pointer", &thing{Next: &thing{}}, &thing{Next: &thing{Name: "x"}},
			"- \t\tName: \"\"\n+ \t\tName: \"x\"\n",
		},
		{"type", 1, int64(1), "- int 1\n+ int64 1\n"},
		{"type in an interface", []any{1}, []any{uint(1)}, "- \t0: int 1\n+ \t0: uint 1\n"},
		{"same String", level(1), level(2), "- difftest_test.level 1\n+ difftest_test.level 2\n"},
		{"an element more", []int{1, 2}, []int{1, 2, 3}, "+ \t2: 3\n"},
		{"text", "a\nb\nc\n", "a\nc\n", "  a\n- b\n  c\n"},
		{"a newline more", "a", "a\n", "- a\n"},
		{"long string in a field", thing{Name: "a\nb\nc"}, thing{Name: "a\nx\nc"}, "- \tb\\n\n+ \tx\\n\n"},
		{"nothing", nil, 0, "- nil\n+ int 0\n"},
		{"bad UTF-8", []string{"\xff"}, []string{`\xff`}, `"\\xff"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := difftest.Values(tt.want, tt.got); !strings.Contains(got, tt.lines) {
				t.Errorf("got\n%swanted in it\n%s", got, tt.lines)
			}
		})
	}
}

func TestLongTexts(t *testing.T) {
	a, b := strings.Repeat("a\n", 3_000), strings.Repeat("b\n", 3_000)
	if got := difftest.Values("x\n"+a+"y\n", "x\n"+b+"y\n"); strings.Count(got, "\n") != 6_000+3 {
		t.Errorf("%d lines", strings.Count(got, "\n"))
	}
}
