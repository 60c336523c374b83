package hook

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
)

func TestPlaced(t *testing.T) {
	long := strings.Repeat("x", 1000)
	user := func(text string) row { return row{Role: "user", Text: text} }
	call := func(id string) row { return row{Role: "assistant", Calls: map[string]int{id: 10}} }
	result := func(id string) row { return row{Role: "user", Results: map[string]int{id: 1000}} }
	old := user("[pleat: messages 2 to 9 of this conversation are folded.")
	rows := []row{
		user("Begin."), call("a"), result("a"), user(long), call("b"), result("b"), user("And now?"), call("c"),
		call("d"), result("c"), result("d"), call("new"), result("new"),
	}
	stubs := map[string]string{"b": "[folded]", "c": "[folded]", "gone": "[folded]"}
	for name, test := range map[string]struct {
		rows []row
		f    library.Folded
		want string // k, s, d
		at   int
	}{
		"nothing":   {rows, library.Folded{}, "kkkkkkkkkkkkk", 0},
		"in place":  {rows, library.Folded{Stubs: stubs}, "kkkkkskkkskkk", 0},
		"as a page": {rows, library.Folded{Stubs: stubs, Page: "P", Shown: shown("c", "d")}, "kdddddkkkskkk", 1},
		"again": {
			append([]row{rows[0], old}, rows[6:]...),
			library.Folded{Page: "P", Shown: shown("new")},
			"kddddddkk", 1,
		},
		"nothing known":     {rows, library.Folded{Page: "P"}, "kkkkkkkkkkkkk", 0},
		"without an answer": {rows[:1], library.Folded{Page: "P", Shown: shown("a")}, "k", 0},
	} {
		got := placed(test.rows, test.f, false)
		var is strings.Builder
		for _, what := range got.Rows {
			is.WriteByte(what[0])
		}
		if is.String() != test.want || got.Page != "" && got.At != test.at {
			t.Errorf("%s: %s before %d, want %s before %d", name, &is, got.At, test.want, test.at)
		}
		if _, ok := got.Stubs["gone"]; ok {
			t.Errorf("%s: a stub for a result that is not there", name)
		}
	}
}

func shown(ids ...string) map[string]bool {
	m := make(map[string]bool)
	for _, id := range ids {
		m[id] = true
	}
	return m
}
