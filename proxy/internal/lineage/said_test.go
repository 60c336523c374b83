package lineage

import (
	"testing"

	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/transcript"
)

// Only what follows at once on an answer of this replica goes on without the store: after
// anybody else's answer there may be hidden rounds and folds that are not known here.
func TestFollowsAtOnce(t *testing.T) {
	user, answer := transcript.User, func(s string) transcript.Message { return transcript.Assistant(transcript.Say(s)) }
	none := func(string) bool { return false }
	newest := LastExchange{Client: 1, Said: SaidHash([]transcript.Message{answer("ours")}, none), Own: none}
	for name, tt := range map[string]struct {
		newest LastExchange
		sent   []transcript.Message
		want   bool
	}{
		"our answer":            {newest, []transcript.Message{user("a"), answer("ours"), user("b")}, true},
		"two messages after it": {newest, []transcript.Message{user("a"), answer("ours"), user("b"), user("c")}, true},
		"another's answer":      {newest, []transcript.Message{user("a"), answer("theirs"), user("b")}, false},
		"another's answer behind": {
			newest, []transcript.Message{user("a"), answer("ours"), user("b"), answer("theirs"), user("c")}, false,
		},
		"the same request again": {newest, []transcript.Message{user("a")}, false},
		"fewer messages":         {newest, nil, false},
		"an answer under way": {
			LastExchange{Client: 1}, []transcript.Message{user("a"), answer("ours"), user("b")}, false,
		},
	} {
		if got := tt.newest.LeadsTo(&protocol.Request{Messages: tt.sent}); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Calls without ids are told apart by what they are called with.
func TestSaidWithoutIDs(t *testing.T) {
	hash := func(id, input string) string {
		return SaidHash([]transcript.Message{transcript.Assistant(transcript.Call(id, "bash", input))},
			func(string) bool { return false })
	}
	same := hash("bash", `{"a":1,"b":"x"}`)
	if same != hash("bash", `{ "b": "x", "a": 1 }`) || same == hash("bash", `{"a":2,"b":"x"}`) {
		t.Error("calls without ids are not known by what they are called with")
	}
	if hash("c1", `{"a":1}`) != hash("c1", `{"a":2}`) || hash("c1", `{}`) == hash("c2", `{}`) {
		t.Error("calls with ids are not known by them")
	}
}
