package proxy

import (
	"cmp"
	"encoding/base32"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// principal names whom a request speaks for, so that different people never share a
// session: by the hash of the API key; behind a bearer token that is renewed now and then,
// by the account that the client names; "local" without any credential. The name does not
// reveal the key.
func principal(r *http.Request, body []byte) string {
	auth := r.Header.Get("Authorization")
	token, bearer := bearerOf(auth)
	key := cmp.Or(first(r.Header, "X-Api-Key", "Api-Key", "X-Goog-Api-Key"), token, auth, r.URL.Query().Get("key"))
	switch {
	case key == "":
		return "local"
	case bearer && key == token && renewed(token):
		// Claude Code names its account in the body.
		user := jsonspan.Value(jsonspan.Value(body).Get("metadata", "user_id").Text())
		if id := cmp.Or(r.Header.Get("Chatgpt-Account-Id"), user.Get("account_uuid").Text()); id != "" {
			return "account-" + short(id)
		}
	}
	return "key-" + short(key)
}

// renewed reports whether a bearer token is one of those that a login hands out and
// renews, rather than a key.
func renewed(token string) bool {
	return strings.HasPrefix(token, "sk-ant-oat") || strings.HasPrefix(token, "eyJ") && strings.Count(token, ".") == 2
}

func first(h http.Header, names ...string) string {
	for _, n := range names {
		if v := h.Get(n); v != "" {
			return v
		}
	}
	return ""
}

// hint returns the client's own name for its conversation, if it sends one. Clients use
// one name for several conversations, so it never decides; it tells which session a client
// had before it compacted by itself.
func hint(h http.Header) (id string, child bool) {
	id = first(h, "X-Claude-Code-Session-Id", "Thread-Id", "X-Session-Id", "Session-Id", "Session_id")
	if agent := h.Get("X-Claude-Code-Agent-Id"); agent != "" {
		return id + "/" + agent, true
	}
	return id, h.Get("X-Parent-Session-Id") != ""
}

var base = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// short is a name derived from a text: 80 bits of its hash.
func short(text string) string {
	h := transcript.HashOf("pleat proxy\x00" + text)
	return base.EncodeToString(h[:10])
}

// family is the part of a session's name that its forks share.
func family(session string) string {
	name, _, _ := strings.Cut(session, "-")
	return name
}

// caller is who sends a request, as far as it matters for finding its session.
type caller struct {
	scope scope
	hint  string // the client's name for the conversation; see hint
	child bool   // a subagent
}

// scope is where a conversation is looked for: among those of a principal, on one wire, to
// one upstream.
type scope struct {
	tenant   string
	upstream string
	format   transcript.Format
}

// label is the name under which a prefix of a conversation is found in the store.
func (s scope) label(prefix transcript.Hash) string {
	return transcript.HashOf(s.upstream + "\x00" + string(s.format) + "\x00" + string(prefix[:])).String()
}

// newSession names the session of a conversation that is new.
func (s scope) newSession(r *request) store.SessionKey {
	return store.SessionKey{Tenant: s.tenant, Session: short(s.label(r.prefixes[len(r.prefixes)-1]))}
}

// fork names a fork of a session: by where it parts from it, after the entry upTo and before the
// client's next message, so that all replicas choose the same.
func (s scope) fork(of store.SessionKey, upTo uint64, p place, r *request) store.SessionKey {
	next := "again"
	if p.mark.Client < len(r.prefixes) {
		next = s.label(r.prefixes[p.mark.Client])
	}
	name := family(of.Session) + "-" + short(fmt.Sprint(of.Session, upTo, next))
	return store.SessionKey{Tenant: of.Tenant, Session: name}
}

// answerLabel is the name under which an answer with hidden rounds is found: by its request
// and by what the client saw of it.
func (s scope) answerLabel(prefix transcript.Hash, said string) string {
	return s.label(transcript.HashOf(string(prefix[:]) + said))
}

// maxTransient is how many blocks a client may leave out when it sends a message again.
const maxTransient = 3

// comesAgain returns the hashes of a request as it may come again in the next one: as it is,
// and without its last blocks, since some clients add blocks of text to their newest message
// and leave them out when they send it again. The first message is taken as it is, because
// nothing before it says whose it is.
func comesAgain(r *request) []transcript.Hash {
	last := len(r.messages) - 1
	out := []transcript.Hash{r.prefixes[last]}
	if last == 0 {
		return out
	}
	m := r.messages[last]
	blocks := m.Blocks()
	var drop []transcript.BlockEdit
	for b := blocks.Len() - 1; b > 0 && len(drop) < maxTransient && blocks.At(b).Kind() == transcript.KindText; b-- {
		drop = slices.Insert(drop, 0, transcript.BlockEdit{Block: b, Drop: true})
		less, err := r.on.edited(m, drop)
		if err != nil {
			break
		}
		out = append(out, transcript.Chain(r.prefixes[last-1], []transcript.Hash{r.on.hash([]byte(less.Raw()))})...)
	}
	return out
}
