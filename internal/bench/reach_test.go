package bench

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/transcript"
)

// TestReach: a search by words can give what has a word of the query, unless a page full
// of others has the same words and more.
func TestReach(t *testing.T) {
	far := strings.Repeat("-\n", 3*window)
	session := func(others int) []transcript.Message {
		var b strings.Builder
		for i := range others {
			fmt.Fprintf(&b, "the %d lemon tree bears fruit\n%s", i, far)
		}
		b.WriteString("retryLimit bears 7734 apples\n" + far)
		return []transcript.Message{
			transcript.Assistant(transcript.Call("1", "read", `{"path":"orchard.txt"}`)),
			transcript.Results(transcript.Result("1", b.String())),
		}
	}
	target := func(query string) probe {
		return lineProbe(FutureUse, "7734", query, []string{"retryLimit bears 7734 apples"})
	}
	for _, c := range []struct {
		query  string
		others int
		want   bool
	}{
		{"apples in the basket", 0, true},
		{"pears in a basket", 0, false},          // no word of it is there
		{"", 0, false},                           // nothing can be asked
		{"limit", 0, true},                       // by a part of a name
		{"orchard", 0, true},                     // by what its result is a result of
		{"bears lemon", pagePlaces - 1, true},    // others fit, and there is room
		{"bears lemon", pagePlaces, false},       // others that have more fill the page
		{"bears apples lemon", pagePlaces, true}, // the others lack a word
		{"bears fruit apples", 3 * pagePlaces, true},
	} {
		if got := reachOf(session(c.others))().has(target(c.query)); got != c.want {
			t.Errorf("%q beside %d others: %v, want %v", c.query, c.others, got, c.want)
		}
	}
}
