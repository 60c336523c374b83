package recall_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
)

func TestRecallTakesSloppyArguments(t *testing.T) {
	s := recallSession(t)
	h := handleOf(t, s, 2)
	for _, c := range []struct{ tool, input, want string }{
		{"unfold", `{"handle":"` + h + `","lines":"7"}`, "7\tentry 7 of the list\n"},
		{"unfold", `{"handle":"` + h + `","lines":7}`, "7\tentry 7 of the list\n"},
		{"unfold", `{"handle":"` + h + `","lines":[7,8]}`, "8\tentry 8 of the list\n"},
		{"unfold", `{"handle":"` + h + `","lines":"L7:L8"}`, "8\tentry 8 of the list\n"},
		{"unfold", `{"handle":"` + h + `","pattern":"entry 39\\d","raw":null}`, "10 lines match"},
		{"unfold", `"` + h + `"`, "1\tentry 1 of the list\n"},
		{"unfold", h, "1\tentry 1 of the list\n"},
		{"search", `{"queries":"upload limit"}`, "uploadSizeLimit"},
		{"search", `{"query":"upload limit","hits":"1"}`, ": 1 hit, best first"},
		{"search", `{"queries":"[\"zanzibar\",\"workers\"]"}`, "zanzibar-77"},
		{"search", `["upload limit"]`, "uploadSizeLimit"},
		{"ledger", ``, "4 tool calls"},
		{"ledger", `{"kind":"edit","effects":"true"}`, "#4 edit config/server.toml"},
		{"ledger", `{"path":"config/server.toml","outcome":["ok"]}`, "#1 read"},
		{"ledger", `{"text":"absent"}`, "no such call among 4"},
		{"note", `{"key":"plan","text":"measure first"}`, "plan: measure first"},
		{"pin", `{"text":"Never touch legacy/."}`, "kept"},
		{"compact", `{"focus":"upload"}`, "compact"},
	} {
		text, isError, handled := inside.Of(s).Answer(t.Context(), c.tool, c.input)
		if isError || !handled || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: error %v, handled %v:\n%s", c.tool, c.input, isError, handled, text)
		}
	}
	for _, c := range []struct{ tool, input, want string }{
		{"unfold", `{}`, "a handle is needed"},
		{"unfold", `{"handle":"` + h + `","lines":"x"}`, "is no range"},
		{"unfold", `{"handle":"` + h + `","lines":"900-"}`, "it has 400 lines"},
		{"unfold", `{"handle":"` + h + `","pattern":"("}`, "pattern"},
		{"unfold", `{"handle":"` + h + `","line":"7"}`, `it has no argument "line", but handle, lines, pattern`},
		{"search", `{}`, "queries are needed"},
		{"search", `{"queries":["upload limit"],"limit":3}`, `it has no argument "limit"`},
		{"ledger", `{"file":"config/server.toml"}`, `it has no argument "file"`},
		{"note", `{"name":"plan","text":"x"}`, `it has no argument "name"`},
		{"pin", `{"text":"Never touch legacy/.","delete":true}`, `it has no argument "delete"`},
		{"compact", `{"on":"upload"}`, `it has no argument "on"`},
		{"ledger", `{"kind":"magic"}`, "want one of"},
		{"pin", `{"text":"unknown","remove":true}`, "not found"},
	} {
		text, isError, handled := inside.Of(s).Answer(t.Context(), c.tool, c.input)
		if !isError || !handled || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: error %v, handled %v:\n%s", c.tool, c.input, isError, handled, text)
		}
	}
	if _, _, handled := inside.Of(s).Answer(t.Context(), "bash", `{}`); handled {
		t.Error("bash is no recall tool")
	}
}

func TestLedgerTextPages(t *testing.T) {
	s := pleattest.Open(t, store.NewMemory(), &pleat.Options{Tokens: counter})
	pleattest.Read(t, s, 0, 120, 400)
	seen, to := 0, 0
	for range 50 {
		text := inside.Of(s).LedgerText(ledger.Filter{To: to}, 600)
		if n := counter.CountText(text); n > 650 {
			t.Fatalf("%d tokens", n)
		}
		seen += strings.Count(text, "\n#")
		m := regexp.MustCompile(`before these: ledger\(to=(\d+)\)`).FindStringSubmatch(text)
		if m == nil {
			break
		}
		fmt.Sscanf(m[1], "%d", &to)
	}
	if seen != 120 {
		t.Errorf("the pages list %d calls, want 120", seen)
	}
}

// TestRecallToolsAreCheap: the tools are part of every request.
func TestRecallToolsAreCheap(t *testing.T) {
	exact := tokens.NewTokenizer(model.Model{}, &tokens.Options{Counter: tokens.O200k()})
	if n := exact.CountTools(recall.Tools()); n > 458 {
		t.Errorf("the recall tools take %d tokens", n)
	}
}

func TestRecallToolsAreValid(t *testing.T) {
	for _, tool := range recall.Tools() {
		var schema map[string]any
		if err := json.Unmarshal([]byte(tool.Schema), &schema); err != nil || schema["type"] != "object" ||
			tool.Description == "" {
			t.Errorf("%s: %v", tool.Name, err)
		}
	}
}

// FuzzRecall: whatever a model writes, it gets an answer, and no page is over its budget.
func FuzzRecall(f *testing.F) {
	s := recallSession(f)
	h := handleOf(f, s, 3)
	f.Add("unfold", `{"handle":"`+h+`","lines":"1","column":4000}`)
	f.Add("unfold", `{"handle":"`+h+`","pattern":"needle|dolor"}`)
	f.Add("unfold", `{"handle":"`+h+`","lines":"10-5000"}`)
	f.Add("search", `{"queries":["lorem zanzibar",""]}`)
	f.Add("ledger", `{"from":"2","kind":["read",7]}`)
	f.Fuzz(func(t *testing.T, tool, input string) {
		if tool != "unfold" && tool != "search" && tool != "ledger" {
			t.Skip()
		}
		text, _, handled := inside.Of(s).Answer(context.Background(), tool, input)
		if !handled || text == "" {
			t.Fatalf("%s %q: no answer", tool, input)
		}
		if n := counter.CountText(text); n > 5_000+counter.CountText(input)*4 {
			t.Fatalf("%s %q: %d tokens", tool, input, n)
		}
	})
}

// The budget may change while the model asks.
func TestRecallWhileBudgetChanges(t *testing.T) {
	s := pleattest.Open(t, store.NewMemory(), nil)
	pleattest.Read(t, s, 0, 4, 4_000)
	var both sync.WaitGroup
	both.Go(func() {
		for i := range 100 {
			s.SetBudget(fold.Budget{Window: 10_000 + i})
		}
	})
	both.Go(func() {
		for range 100 {
			inside.Of(s).Answer(t.Context(), recall.ToolLedger, "{}")
		}
	})
	both.Wait()
}

// What a definition offers is an argument of its tool.
func TestRecallTakesItsOwnArguments(t *testing.T) {
	s := recallSession(t)
	for _, tool := range append(recall.Tools(), recall.SnipTool()) {
		var schema struct {
			Properties map[string]any `json:"properties"`
		}
		if err := json.Unmarshal([]byte(tool.Schema), &schema); err != nil || len(schema.Properties) == 0 {
			t.Fatalf("%s: %v, %d properties", tool.Name, err, len(schema.Properties))
		}
		for name := range schema.Properties {
			text, _, handled := inside.Of(s).Answer(t.Context(), tool.Name, `{"`+name+`":null}`)
			if !handled || strings.Contains(text, "has no argument") {
				t.Errorf("%s with %s: %s", tool.Name, name, text)
			}
		}
	}
}
