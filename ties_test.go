package pleat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/openai"
)

// TestTies folds conversations with messages that a provider takes only together: Messages shows of each turn all
// or none of them, and an item whose reasoning is hidden without its id. In what a turn says, N is its number and
// TEXT is long.
func TestTies(t *testing.T) {
	const (
		rs   = `{"id":"rs_N","type":"reasoning","summary":[],"encrypted_content":"TEXT"}`
		says = `{"id":"msg_N","type":"message","role":"assistant","content":[{"type":"output_text","text":"TEXT"}]}`
		ref  = `{"type":"item_reference","id":"rs_N"}`
		call = `{"type":"tool_use","id":"toolu_N_K","name":"bash","input":{},"caller":{"tool_id":"srv_N"}}`
		done = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_N_K","content":"TEXT"}]}`
	)
	both := func(a, b string) [][2]string { return [][2]string{{a, b}, {b, a}} }
	hosted := func(id, item string) ([]string, [][2]string) {
		named := strings.Replace(item, "{", `{"id":"`+id+`_N",`, 1)
		return []string{rs, named, says}, [][2]string{{`"` + id + `_N"`, `"rs_N"`}}
	}
	message, messages := hosted("msg", `{"type":"message","role":"assistant","content":"TEXT"}`)
	code, codes := hosted("ci", `{"type":"code_interpreter_call","code":"x","outputs":[{"type":"logs","logs":"TEXT"}]}`)
	screen, screens := hosted("cu", `{"type":"computer_call","call_id":"cN","action":{"type":"screenshot"}}`)
	screen = slices.Insert(screen, 2, `{"type":"computer_call_output","call_id":"cN","output":{"image_url":"data:,"}}`)
	for _, tt := range []struct {
		name  string
		turn  []string
		needs [][2]string // what is shown only with what
	}{
		{"message", message[:2], messages},
		{"code interpreter", code, codes},
		{"computer", screen, screens},
		{"approval", []string{
			`{"id":"mcpr_N","type":"mcp_approval_request","name":"look","arguments":"TEXT"}`,
			`{"type":"mcp_approval_response","approval_request_id":"mcpr_N","approve":true}`, says,
		}, both(`"id":"mcpr_N"`, `_request_id":"mcpr_N"`)},
		{"tool search", []string{
			`{"type":"tool_search_call","call_id":"sN","arguments":{"q":"TEXT"}}`,
			`{"type":"tool_search_output","call_id":"sN","tools":[]}`, says,
		}, both(`search_call","call_id":"sN"`, `search_output","call_id":"sN"`)},
		{"program", []string{
			rs, `{"id":"pr_N","type":"program","call_id":"pN","code":"TEXT"}`,
			`{"type":"function_call","call_id":"fN","name":"f","arguments":"{}"}`,
			`{"type":"function_call_output","call_id":"fN","output":"TEXT"}`,
			`{"id":"po_N","type":"program_output","call_id":"pN","result":"TEXT"}`, says,
		}, append(both(`"program","call_id":"pN"`, `"program_output","call_id":"pN"`), [2]string{`"pr_N"`, `"rs_N"`})},
		{"references", []string{
			ref, `{"type":"item_reference","id":"ctc_N"}`,
			`{"type":"custom_tool_call_output","call_id":"cN","output":"TEXT"}`,
			`{"type":"item_reference","id":"msg_N"}`,
		}, append(both(`"ctc_N"`, `"cN"`), both(`"rs_N"`, `"ctc_N"`)...)},
		{"programmatic", []string{
			`{"role":"assistant","content":[{"type":"text","text":"TEXT"},{"type":"server_tool_use","id":"srv_N",` +
				`"name":"code_execution","input":{}},` + strings.ReplaceAll(call, "K", "1") + `]}`,
			strings.ReplaceAll(done, "K", "1"),
			`{"role":"assistant","content":[` + strings.ReplaceAll(call, "K", "2") + `]}`,
			strings.ReplaceAll(done, "K", "2"),
			`{"role":"assistant","content":[{"type":"code_execution_tool_result","tool_use_id":"srv_N",` +
				`"content":{}},{"type":"text","text":"TEXT"}]}`,
		}, both(`"id":"srv_N"`, `"tool_use_id":"srv_N"`)},
		{"functions", []string{
			`{"role":"assistant","content":"I look. TEXT","function_call":{"name":"lookN","arguments":"{}"}}`,
			`{"role":"function","name":"lookN","content":"TEXT"}`,
			`{"role":"assistant","content":"That was it. TEXT"}`,
		}, both(`"name":"lookN","arguments"`, `"function_call_lookN"`)},
	} {
		for _, p := range append(policy.All(), policy.Pays(policy.Default())) {
			t.Run(tt.name+"/"+p.Name, func(t *testing.T) {
				w := openai.Responses(model.Model{ID: "gpt-5.5"})
				switch tt.name {
				case "programmatic":
					w = anthropic.Messages(model.Model{ID: "claude-opus-4-8"})
				case "functions":
					w = openai.Chat(model.Model{ID: "gpt-4o"})
				}
				s := open(t, store.NewMemory(), &pleat.Options{
					Wire: w, Policy: p, Budget: fold.Budget{Window: 5_000}, Tokens: counter,
				})
				for i := range 40 {
					add := func(raw string) {
						long := strings.Repeat("word ", 10+i*37%120)
						m, err := w.Codec([]byte(strings.NewReplacer("N", fmt.Sprint(i), "TEXT", long).Replace(raw)))
						must(t, err)
						mustAppend(t, s, m)
					}
					add(`{"role":"user","content":"Go on, TEXT"}`)
					if i > 0 {
						together(t, s, i, tt.needs)
					}
					for _, raw := range tt.turn {
						add(raw)
					}
				}
				if len(s.Folds()) == 0 && p.Name != "none" {
					t.Error("nothing was folded")
				}
			})
		}
	}
}

// together fails for what Messages shows without what it needs, in the turns before one.
func together(t *testing.T, s *pleat.Session, turns int, needs [][2]string) {
	t.Helper()
	msgs, err := s.Messages(t.Context())
	must(t, err)
	var all strings.Builder
	for _, m := range msgs {
		all.WriteString(m.Raw())
		for _, b := range m.Blocks().All() {
			all.WriteString(transcript.RawOf(b))
			if r, ok := b.(transcript.ToolResult); ok {
				all.WriteString(`"` + r.CallID + `"`)
			}
		}
	}
	for i := range turns {
		for _, n := range needs {
			shows := func(k int) bool { return strings.Contains(all.String(), strings.ReplaceAll(n[k], "N", fmt.Sprint(i))) }
			if shows(0) && !shows(1) {
				t.Fatalf("after %d turns %s of turn %d is shown without %s", turns, n[0], i, n[1])
			}
		}
	}
}
