package proxy

import (
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/pleat-dev/pleat/proxy/internal/protocol"
)

// Reasoning stands before the call that it led to, though the client has not seen that one, also where the
// client changes what it said before, or begins anew with a summary of that.
func TestReasoningBeforeItsOwnCall(t *testing.T) {
	for name, change := range map[string]func(history []string) []string{
		"goes on": func(h []string) []string { return h },
		"edits":   func(h []string) []string { return append([]string{said("user", "Do half of the steps.")}, h[1:]...) },
		"compacts": func(h []string) []string {
			return append([]string{
				said("user", "Do the steps."), said("assistant", "A summary."), said("user", "Go on."),
			}, h[1:]...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var last []string
			n := 0
			up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				req, err := protocol.Responses.Read(body)
				if err != nil {
					t.Error(err)
				}
				last = nil
				for _, m := range req.Messages {
					last = append(last, get([]byte(m.Raw()), "id").Text()+get([]byte(m.Raw()), "call_id").Text())
				}
				output := `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}`
				if n++; n == 1 {
					output = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"secret"},` +
						`{"type":"function_call","call_id":"own","name":"ledger","arguments":"{}"},` +
						`{"type":"function_call","call_id":"theirs","name":"bash","arguments":"{}"}`
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"id":"r","object":"response","status":"completed","output":[` + output + `]}`))
			})
			a := newAgent(protocol.Responses, start(t, up, Options{Window: window}), "Do all the steps.")
			a.streams = false
			a.turn(t)
			a.history = change(a.history)
			for range 2 {
				a.ask(t)
				want := []string{"rs_1", "own", "theirs", "own", "theirs"}
				if got := slices.DeleteFunc(last, func(id string) bool { return id == "" }); !slices.Equal(got, want) {
					t.Errorf("the view has the items %s, not %s", got, want)
				}
				a.history = append(a.history, said("assistant", "Done."), said("user", "Again."))
			}
		})
	}
}
