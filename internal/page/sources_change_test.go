package page

import (
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

func TestChangeParts(t *testing.T) {
	tests := []struct {
		tool, name, input string
		want              map[string]string
	}{
		{
			"edit",
			"edit",
			`{"path":"a.go","old_string":"one\ntwo","new_string":"one\ntwo\nthree"}`,
			map[string]string{"a.go": "three\n"},
		},
		{
			"edit",
			"edits",
			`{"path":"a.go","edits":[{"oldText":"x","newText":"x\ny"},{"oldText":"p","newText":"q"}]}`,
			map[string]string{"a.go": "y\nq\n"},
		},
		{"write", "write", `{"file_path":"a.go","content":"all\nof it\n"}`, map[string]string{"a.go": "all\nof it\n"}},
		{
			"apply_patch", "patch",
			"*** Begin Patch\n*** Update File: a.go\n@@\n-old\n+new\n same\n*** Add File: b.go\n+package b\n*** End Patch\n",
			map[string]string{"a.go": "new\n", "b.go": "package b\n"},
		},
		{
			"apply_patch",
			"patch in JSON",
			`{"input":"*** Begin Patch\n*** Update File: a.go\n+new\n*** End Patch"}`,
			map[string]string{"a.go": "new\n"},
		},
		{"edit", "nothing", `{"path":"a.go"}`, map[string]string{}},
		{"write", "damaged", `{"path":"a.go","content":"x`, map[string]string{}},
	}
	for _, tt := range tests {
		e := ledger.Entry{
			CallFacts: toolcall.CallFacts{
				Kind:  toolcall.CallEdit,
				Paths: []toolcall.PathChange{{Path: "a.go", Change: toolcall.CallEdit}},
			},
		}
		got := map[string]string{}
		for _, p := range changeParts(&e, transcript.Call("c", tt.tool, tt.input)) {
			if p.kind == fromChange {
				got[p.label] += p.text
			}
		}
		if d := difftest.Values(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}
