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
	by := func(of func(*http.Request, []byte) string, body []byte, header ...string) string {
		r, _ := http.NewRequest(http.MethodPost, "http://x/v1/messages", nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		return of(r, body)
	}
	const one, two, jwt = "Bearer sk-ant-oat01-one", "Bearer sk-ant-oat01-two", "Bearer eyJ.a.b"
	const auth, key, account = "Authorization", "X-Api-Key", "Chatgpt-Account-Id"
	for name, tt := range map[string]struct {
		all  []string // of different people
		same []string // of one
	}{
		"what is checked": {[]string{
			by(Principal, nil), by(Principal, nil, key, "one"), by(Principal, nil, key, "two"),
			by(Principal, nil, auth, "Bearer sk-one"), by(Principal, nil, auth, "Basic abc"),
			by(Principal, claude("acc"), auth, one), by(Principal, claude("acc"), auth, two),
			by(Principal, nil, auth, jwt, account, "7"), by(Principal, nil, auth, jwt+"b", account, "7"),
			by(Principal, nil, auth, one, key, "none"), by(Principal, nil, auth, two, key, "none"),
		}, []string{
			by(Principal, claude("acc"), auth, one), by(Principal, claude("other"), auth, one),
			by(Principal, nil, auth, one, account, "7"), by(Principal, nil, key, "sk-ant-oat01-one"),
			by(Principal, nil, auth, one, key, "sk-ant-oat01-one"),
		}},
		"one person's": {[]string{
			by(ByAccount, nil), by(ByAccount, claude("acc"), auth, one), by(ByAccount, claude("other"), auth, one),
			by(ByAccount, claude(""), auth, one), by(ByAccount, nil, auth, jwt, account, "7"),
			by(ByAccount, claude("acc"), key, "one"), by(ByAccount, claude("acc"), auth, one, key, "two"),
		}, []string{by(ByAccount, claude("acc"), auth, one), by(ByAccount, claude("acc"), auth, two)}},
		"a login of ChatGPT": {nil, []string{
			by(ByAccount, nil, auth, jwt, account, "7"), by(ByAccount, nil, auth, jwt+"b", account, "7"),
		}},
		"keys are not renewed": {nil, []string{
			by(ByAccount, claude("acc"), key, "one"), by(ByAccount, claude("other"), key, "one"),
		}},
	} {
		for i, p := range tt.all {
			if slices.Index(tt.all, p) != i {
				t.Errorf("%s: %d: %s is somebody else's", name, i, p)
			}
			if strings.Contains(p, "one") || strings.Contains(p, "acc-") {
				t.Errorf("%s: %s shows a credential", name, p)
			}
		}
		if len(slices.Compact(slices.Clone(tt.same))) != 1 {
			t.Errorf("%s: not one: %q", name, tt.same)
		}
	}
	if got := by(Principal, nil); got != "local" {
		t.Errorf("without credentials it is %s", got)
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
