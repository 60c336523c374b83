package pleat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// A call with a signature is not folded by itself, however large it is: the signature is for the
// arguments. It goes with its round, also where rounds collapse.
func TestSignedCalls(t *testing.T) {
	for _, large := range []bool{true, false} {
		s := pleattest.Open(t, store.NewMemory(), &pleat.Options{Budget: fold.Budget{Window: 4_000}, Tokens: counter})
		mustAppend(t, s, transcript.User("start"))
		var collapsed bool
		for i := range 14 {
			call := transcript.Call(fmt.Sprint("c", i), "read_file", fmt.Sprintf(`{"file_path":"/w/%d.go"}`, i))
			if large {
				content := strings.Repeat(fmt.Sprintf("line %d of a long file. ", i), 400)
				call = transcript.Call(call.ID, "write_file", `{"file_path":"/w/a.go","content":"`+content+`"}`)
			}
			call.Signed = true
			mustAppend(t, s, transcript.Assistant(call))
			mustAppend(t, s, transcript.Results(transcript.Result(call.ID, strings.Repeat("ok. ", 100))))
			v, err := s.View(t.Context(), pleat.Turn{})
			must(t, err)
			for _, m := range v.Messages {
				if m.Source%2 == 1 && len(m.Edits) > 0 {
					t.Fatalf("message %d is shown with %v", m.Source+1, m.Edits)
				}
			}
			for _, f := range s.Folds() {
				collapsed = collapsed || f.Lever == "collapse"
			}
		}
		if !large && !collapsed {
			t.Error("no rounds were collapsed")
		}
	}
}
