package filestate

import (
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

func TestShown(t *testing.T) {
	for _, tt := range difftest.Table[struct {
		Name, Tool, Input, Result string
		Want                      File
		OK                        bool
	}](t, "testdata/shown.json") {
		t.Run(tt.Name, func(t *testing.T) {
			call := transcript.ToolCall{ID: "1", Name: tt.Tool, Input: transcript.Plain(tt.Input)}
			facts := toolcall.DescribeCall(call)
			if len(facts.Paths) != 1 {
				t.Fatalf("paths: %v", facts.Paths)
			}
			got, ok := shownBy(&facts, tt.Result)
			if ok != tt.OK || ok && got != tt.Want {
				t.Errorf("got %+v, %v; want %+v, %v", got, ok, tt.Want, tt.OK)
			}
		})
	}
}
