package fold

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
)

// TestStubText says of a run that it went well where the stub has room for it, and takes
// none of its room from what was run.
func TestStubText(t *testing.T) {
	words := func(s string) int { return len(strings.Fields(s)) }
	long := strings.TrimSpace(strings.Repeat("x ", 44)) // 44 words, 87 bytes
	tests := []struct {
		name string
		stub stub
		want string
	}{
		{
			"read",
			stub{tool: "read_file", args: "a.go", lines: 2, bytes: 1204},
			"[folded: read_file a.go, 2 lines, 1,204 bytes. Done and seen]",
		},
		{
			"run",
			stub{tool: "bash", args: "go test", ok: true, lines: 1, bytes: 3, handle: "h", recall: UnfoldCall},
			`[folded: bash go test, 1 line, 3 bytes. It ended: ok. Done and seen; do not repeat it to see it: unfold("h")]`,
		},
		{
			"failed",
			stub{tool: "bash", args: "go test", outcome: "exit 1", lines: 1, bytes: 3},
			"[folded: bash go test, 1 line, 3 bytes. It ended: exit 1. Done and seen]",
		},
		{
			"stale",
			stub{tool: "bash", args: "go test", ok: true, note: "Call 4 made it stale", lines: 1, bytes: 3},
			"[folded: bash go test, 1 line, 3 bytes. It ended: ok. Call 4 made it stale. Done and seen]",
		},
		{
			"the call has the arguments",
			stub{tool: "bash", args: long, ok: true, lines: 1, bytes: 3, handle: "h", recall: UnfoldCall},
			"[folded: bash " + long[:57] +
				`…, 1 line, 3 bytes. It ended: ok. Done and seen; do not repeat it to see it: unfold("h")]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.stub.text(words)
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if n := words(got); n > StubTokens {
				t.Errorf("%d tokens", n)
			}
		})
	}
}

func TestWentWell(t *testing.T) {
	run := func(o toolcall.Outcome, filtered bool) ledger.Entry {
		return ledger.Entry{
			CallFacts:   toolcall.CallFacts{Kind: toolcall.CallRun, Filtered: filtered},
			ResultFacts: toolcall.ResultFacts{Outcome: o},
		}
	}
	read := run(toolcall.Succeeded, false)
	read.Kind = toolcall.CallRead
	for _, tt := range []struct {
		name string
		call ledger.Entry
		want bool
	}{
		{"run", run(toolcall.Succeeded, false), true},
		{"failed", run(toolcall.Failed, false), false},
		{"filtered: the exit code is the filter's", run(toolcall.Succeeded, true), false},
		{"read", read, false},
	} {
		if got := wentWell(tt.call); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

func TestStubNamesTheFile(t *testing.T) {
	for _, tt := range []struct {
		args string
		n    int
		want string
	}{
		{"/src/a.go", 20, "/src/a.go"},
		{"/Users/ann/Work/project/cmd/cli/strategy/common_test.go", 40, "…/cmd/cli/strategy/common_test.go"},
		{
			"/Users/ann/Work/project/strategy/common_test.go offset=300 limit=80", 60,
			"…/Work/project/strategy/common_test.go offset=300 limit=80",
		},
		{"/Users/ann/Work/project/strategy/common_test.go offset=300 limit=80", 30, "…/common_test.go offset=3…"},
		{"npx vitest run src/report/latticeCampaign.test.ts", 30, "npx vitest run src/report/l…"},
		{"/a/bb/an-extraordinarily-long-file-name-that-has-no-end.go", 30, "…/an-extraordinarily-long…"},
		{"/a/b/c", 4, ""},
	} {
		if got := text.ClipPath(tt.args, tt.n); got != tt.want || len(got) > tt.n {
			t.Errorf("%q in %d bytes: %q, want %q", tt.args, tt.n, got, tt.want)
		}
	}
}
