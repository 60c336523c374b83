package library_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/sessionlog"
)

// Old results are masked when the window is full, not before; the newest stay, handles work,
// and the next request has the same masks.
func TestMasks(t *testing.T) {
	h := newHome(t)
	session := func(calls int) string {
		var b strings.Builder
		b.WriteString(`{"info":{"id":"s","directory":"/p"},"messages":[` +
			`{"info":{"id":"u","role":"user"},"parts":[{"type":"text","text":"Read them all."}]}`)
		for i := range calls {
			fmt.Fprintf(&b, `,{"info":{"id":"m%[1]d","role":"assistant"},"parts":[{"type":"tool","callID":"c%[1]d","tool":"bash",`+
				`"state":{"status":"completed","input":{"command":"cat f%[1]d"},"output":"%[2]s"}}]}`, i,
				strings.Repeat(fmt.Sprintf("line of %d\\n", i), 1000))
		}
		return b.String() + "]}"
	}
	masks := func(calls, window int) map[string]string {
		info, err := h.At(sessionlog.OpenCode, h.put("x/s.json", session(calls), day))
		h.must(err)
		got, err := h.Masks(t.Context(), info, window, 1_000)
		h.must(err)
		for id, stub := range got {
			_, handle, _ := strings.Cut(stub, `unfold("`)
			u, err := h.Unfold(t.Context(), info.ID, recall.UnfoldRequest{Handle: handle[:min(8, len(handle))]})
			if err != nil || !strings.Contains(u.Whole, "line of "+id[1:]) || !strings.Contains(stub, info.ID) {
				t.Errorf("%s: %q: %v", id, stub, err)
			}
		}
		return got
	}
	if got := masks(8, 200_000); len(got) != 0 {
		t.Errorf("there is room, but masks: %v", got)
	}
	full := masks(8, 25_000)
	if full["c0"] == "" || full["c7"] != "" {
		t.Errorf("the oldest is not masked, or the newest is: %v", full)
	}
	for id, stub := range full {
		if again := masks(9, 25_000)[id]; again != stub {
			t.Errorf("%s was %q and is %q", id, stub, again)
		}
	}
}
