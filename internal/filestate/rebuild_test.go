package filestate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/calltest"
	"github.com/pleat-dev/pleat/ledger"
)

type step calltest.Step

func edit(old, now string) step {
	in, _ := json.Marshal(map[string]string{"file_path": "/app/x.go", "old_string": old, "new_string": now})
	return step{"Edit", string(in), "The file /app/x.go has been updated successfully."}
}

var whole = step{"Read", `{"file_path":"/app/x.go"}`, "     1→a\n     2→b\n     3→c\n     4→"}

func filesOf[S ~struct{ Tool, Input, Answer string }](steps ...S) *Files {
	t, spoken := calltest.Transcript(steps...)
	return Of(t, ledger.Of(t), spoken)
}

func TestRebuild(t *testing.T) {
	for _, tt := range calltest.Cases(t, "testdata/rebuild.txt") {
		t.Run(tt.Name, func(t *testing.T) {
			fs := filesOf(tt.Steps...)
			ids := fs.Find("app/x.go")
			if len(ids) != 1 {
				t.Fatalf("%d files", len(ids))
			}
			if got := strings.TrimSuffix(show(fs.At(ids[0], 0)), "\n"); got != tt.Want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.Want)
			}
		})
	}
}

func TestRebuildEarlier(t *testing.T) {
	fs := filesOf(whole, edit("b", "x"), edit("x", "y"))
	id := fs.Find("x.go")[0]
	for call, want := range []string{
		"1 a\n2 y\n3 c\nof 3\n", "1 a\n2 b\n3 c\nof 3\n", "1 a\n2 x\n3 c\nof 3\n", "1 a\n2 y\n3 c\nof 3\n",
	} {
		if got := show(fs.At(id, call)); got != want {
			t.Errorf("after call %d:\n%s", call, got)
		}
	}
}
