package proxy

import (
	"cmp"
	"encoding/base32"
	"net/http"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
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

// bearerOf returns the token of an Authorization header that has one.
func bearerOf(auth string) (token string, ok bool) {
	scheme, token, ok := strings.Cut(auth, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.TrimSpace(token), true
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
func (r *request) comesAgain() []transcript.Hash {
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

// leading returns how many system messages a request begins with.
func (r *request) leading() int {
	return countWhile(r.messages, func(m transcript.Message) bool {
		return m.Role() == transcript.RoleSystem || m.Role() == transcript.RoleDeveloper
	})
}
