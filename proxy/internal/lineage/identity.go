package lineage

import (
	"cmp"
	"encoding/base32"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Principal names whom a request speaks for, so that different people never share a session: by the hash
// of its credentials, which the provider checks; "local" without any. The name does not reveal them.
// All of them count, because the provider may check any one, and others may be the same for everybody.
func Principal(r *http.Request, _ []byte) string {
	auth := r.Header.Get("Authorization")
	token, _ := protocol.BearerOf(auth)
	var keys []string
	for _, key := range []string{
		r.Header.Get("X-Api-Key"), r.Header.Get("Api-Key"), r.Header.Get("X-Goog-Api-Key"),
		cmp.Or(token, auth), r.URL.Query().Get("key"),
	} {
		if key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return "local"
	}
	return "key-" + Short(strings.Join(keys, "\x00"))
}

// ByAccount is the principal where one person alone sends requests. A login renews its bearer token every
// few hours, so such a request speaks for the account that its client names, which nobody checks.
func ByAccount(r *http.Request, body []byte) string {
	by := Principal(r, body)
	if token, _ := protocol.BearerOf(r.Header.Get("Authorization")); renewed(token) && by == "key-"+Short(token) {
		// Claude Code names its account in the body.
		user := jsonspan.Value(jsonspan.Value(body).Get("metadata", "user_id").Text())
		if id := cmp.Or(r.Header.Get("Chatgpt-Account-Id"), user.Get("account_uuid").Text()); id != "" {
			return "account-" + Short(id)
		}
	}
	return by
}

// renewed reports whether a bearer token is one of those that a login hands out and
// renews, rather than a key.
func renewed(token string) bool {
	return strings.HasPrefix(token, "sk-ant-oat") || strings.HasPrefix(token, "eyJ") && strings.Count(token, ".") == 2
}

// Hint returns the client's own name for its conversation, if it sends one. Clients use
// one name for several conversations, so it never decides; it tells which session a client
// had before it compacted by itself.
func Hint(h http.Header) (id string, child bool) {
	id = cmp.Or(h.Get("X-Claude-Code-Session-Id"), h.Get("Thread-Id"), h.Get("X-Session-Id"), h.Get("Session-Id"),
		h.Get("Session_id"))
	if agent := h.Get("X-Claude-Code-Agent-Id"); agent != "" {
		return id + "/" + agent, true
	}
	return id, h.Get("X-Parent-Session-Id") != ""
}

var base = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// Short is a name derived from a text: 80 bits of its hash.
func Short(text string) string {
	h := transcript.HashOf("pleat proxy\x00" + text)
	return base.EncodeToString(h[:10])
}

// Family is the part of a session's name that its forks share.
func Family(session string) string {
	name, _, _ := strings.Cut(session, "-")
	return name
}

// Caller is who sends a request, as far as it matters for finding its session.
type Caller struct {
	Scope Scope
	Hint  string // the client's own name for the conversation; it never picks the session, only what it continues
	Child bool   // a subagent
}

// Scope is where a conversation is looked for: among those of a principal, on one wire, to
// one upstream.
type Scope struct {
	Tenant   string
	Upstream string
	Format   transcript.Format
}

// Label is the name under which a prefix of a conversation is found in the store.
func (s Scope) Label(prefix transcript.Hash) string {
	return transcript.HashOf(s.Upstream + "\x00" + string(s.Format) + "\x00" + string(prefix[:])).String()
}

// NewSession names the session of a conversation that is new.
func (s Scope) NewSession(r *protocol.Request) store.SessionKey {
	return store.SessionKey{Tenant: s.Tenant, Session: Short(s.Label(r.Prefixes[len(r.Prefixes)-1]))}
}

// Fork names a fork of a session: by where it parts from it, after the entry upTo and before the
// client's next message, so that all replicas choose the same.
func (s Scope) Fork(of store.SessionKey, upTo uint64, p Place, r *protocol.Request) store.SessionKey {
	next := "again"
	if p.Mark.Client < len(r.Prefixes) {
		next = s.Label(r.Prefixes[p.Mark.Client])
	}
	name := Family(of.Session) + "-" + Short(fmt.Sprint(of.Session, upTo, next))
	return store.SessionKey{Tenant: of.Tenant, Session: name}
}

// AnswerLabel is the name under which an answer with hidden rounds is found: by its request
// and by what the client saw of it.
func (s Scope) AnswerLabel(prefix transcript.Hash, said string) string {
	return s.Label(transcript.HashOf(string(prefix[:]) + said))
}

// FirstLabel is the name under which a conversation is found by its model's first answer, if its client changes
// what came before that.
func (s Scope) FirstLabel(said string) string {
	return s.AnswerLabel(transcript.Hash{}, "first\x00"+said)
}

// FirstAnswer is the hash of the first answer in a request, empty if it has none.
func FirstAnswer(r *protocol.Request) string {
	i := slices.IndexFunc(r.Messages, IsAnswer)
	if i < 0 {
		return ""
	}
	return SaidHash(r.Messages[i:i+Answers(r.Messages[i:])], func(string) bool { return false })
}
