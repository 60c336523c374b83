package pleat_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
)

// prefixed returns the recall tools, those left out aside, with a prefix before their names.
func prefixed(prefix string, without ...string) []pleat.Tool {
	tools := slices.DeleteFunc(pleat.RecallTools(), func(t pleat.Tool) bool { return slices.Contains(without, t.Name) })
	for i := range tools {
		tools[i].Name = prefix + tools[i].Name
	}
	return tools
}

// TestRecallNames looks at how pages and answers name the recall tools.
func TestRecallNames(t *testing.T) {
	const how = `Nothing is lost: X_search("words") finds folded lines, X_unfold("handle" or "#call") shows it exactly, ` +
		`X_ledger() lists every call; the whole stretch is X_unfold("`
	const less = `Nothing is lost: X_unfold("handle" or "#call") shows it exactly, X_ledger() lists every call; the whole`
	search := pleat.Tool{Name: "search", Description: "Searches the web.", Schema: `{}`}
	for _, c := range []struct {
		prefix, want string
		tools        []pleat.Tool
	}{
		{"", how, prefixed("")},
		{"pleat_", how, prefixed("pleat_")},
		{"", less, append(prefixed("", "search"), search)},
	} {
		s := open(t, store.NewMemory(), &pleat.Options{Budget: pleat.Budget{Window: 12_000}, Tools: c.tools})
		mustSync(t, s, turns(40, 2_000))
		for i := range 40 {
			mustAppend(t, s, pleat.User("Go on."), pleat.Assistant(pleat.Say(strings.Repeat("I looked at it. ", 40+i))))
		}
		if text := allText(view(t, s)); !strings.Contains(text, strings.ReplaceAll(c.want, "X_", c.prefix)) {
			t.Errorf("with %q the page says:\n%s", c.prefix, text)
		}
		r, ok := s.Answer(t.Context(), pleat.Call("c", c.prefix+"search", `{"queries":["zzzqqq"]}`))
		if ok == slices.ContainsFunc(c.tools, func(t pleat.Tool) bool { return t.Description == search.Description }) {
			t.Errorf("search is answered: %v", ok)
		}
		if ok && !strings.Contains(r.Text(), " or "+c.prefix+"ledger() for calls") {
			t.Error(r.Text())
		}
		if text := inside.Of(s).LedgerText(pleat.LedgerFilter{}, 300); !strings.Contains(text, ": "+c.prefix+"ledger(to=") {
			t.Error(text)
		}
	}
}

// TestSetHeadRenames gives the recall tools other names in the middle of a session.
func TestSetHeadRenames(t *testing.T) {
	s := open(t, store.NewMemory(), &pleat.Options{Budget: pleat.Budget{Window: 8_000}, Tools: prefixed("a_")})
	answers := func(names ...string) {
		t.Helper()
		for _, name := range names {
			if r, ok := s.Answer(t.Context(), pleat.Call("c", name, `{}`)); !ok {
				t.Errorf("%s is not answered: %v", name, r)
			}
		}
	}
	for i, prefix := range []string{"a_", "b_", "a_", ""} {
		s.SetHead("", prefixed(prefix))
		work(t, s, 8*i, 8, 4_000)
		if text := allText(view(t, s)); !strings.Contains(text, " "+prefix+`unfold("`) {
			t.Errorf("no stub names %sunfold:\n%s", prefix, text)
		}
		answers(prefix + "ledger")
	}
	answers("a_ledger", "b_ledger", "ledger")
	s.SetHead("", []pleat.Tool{{Name: "ledger", Description: "Keeps the books."}})
	if _, ok := s.Answer(t.Context(), pleat.Call("c", "ledger", `{}`)); ok {
		t.Error("the program's own tool is answered")
	}
	answers("b_ledger")
}
