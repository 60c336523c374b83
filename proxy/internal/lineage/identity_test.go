package lineage

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/transcript"
)

func TestPrincipal(t *testing.T) {
	claude := func(account string) []byte {
		return fmt.Appendf(nil,
			`{"messages":[],"metadata":{"user_id":"{\"device_id\":\"d\",\"account_uuid\":\"%s\",\"session_id\":\"s\"}"}}`,
			account)
	}
	of := func(body []byte, header ...string) string {
		r, _ := http.NewRequest(http.MethodPost, "http://x/v1/messages", nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		return Principal(r, body)
	}
	same := [][2]string{
		{
			of(claude("acc"), "Authorization", "Bearer sk-ant-oat01-one"),
			of(claude("acc"), "Authorization", "Bearer sk-ant-oat01-two"),
		},
		{
			of(nil, "Authorization", "Bearer eyJ.a.b", "Chatgpt-Account-Id", "7"),
			of(nil, "Authorization", "Bearer eyJ.c.d", "Chatgpt-Account-Id", "7"),
		},
		{of(nil), "local"},
	}
	for i, p := range same {
		if p[0] != p[1] {
			t.Errorf("%d: %s and %s should be one", i, p[0], p[1])
		}
	}
	all := []string{
		of(nil), of(nil, "X-Api-Key", "one"), of(nil, "X-Api-Key", "two"), of(nil, "Authorization",
			"Bearer sk-one"), of(nil, "Authorization", "Basic abc"),
		of(claude("acc"), "Authorization", "Bearer sk-ant-oat01-one"), of(claude("other"), "Authorization",
			"Bearer sk-ant-oat01-one"),
		of(claude(""), "Authorization", "Bearer sk-ant-oat01-one"), of(nil, "Authorization", "Bearer eyJ.a.b",
			"Chatgpt-Account-Id", "7"),
	}
	for i, p := range all {
		if slices.Index(all, p) != i {
			t.Errorf("%d: %s is somebody else's", i, p)
		}
		if strings.Contains(p, "one") || strings.Contains(p, "acc-") {
			t.Errorf("%s shows a credential", p)
		}
	}
	// An account is only believed beside a token that is renewed.
	if of(claude("acc"), "X-Api-Key", "one") != of(claude("other"), "X-Api-Key", "one") {
		t.Error("a key's principal depends on what the client says")
	}
}

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
