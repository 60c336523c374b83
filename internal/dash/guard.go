package dash

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/internal/local"
)

// policyHeader lets a page load what this server serves and nothing else: no script and no style
// in the page itself, no frame around it.
const policyHeader = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard decides who is answered.
type guard struct {
	key   []byte // random; makes what follows
	token string // empty: clients on this machine alone are answered
	wrong *wrongTokens
}

// wrongTokens bounds how fast tokens can be tried out, by each client: one does not lock out others.
type wrongTokens struct {
	mu    sync.Mutex
	n     map[netip.Prefix]int
	until time.Time // when all begin anew
}

const (
	maxWrong   = 10 // wrong tokens of a client
	wrongTime  = time.Minute
	maxClients = 10_000 // that are told apart; the rest count as one
)

// wait is how long no token of a client is taken; 0: it may be tried now, and counts as a wrong one.
func (t *wrongTokens) wait(r *http.Request, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.After(t.until) {
		t.n, t.until = make(map[netip.Prefix]int), now.Add(wrongTime)
	}
	from := t.client(r)
	if t.n[from]++; t.n[from] > maxWrong {
		return t.until.Sub(now)
	}
	return 0
}

// right takes back the count of a token that was right.
func (t *wrongTokens) right(r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n[t.client(r)]--
}

// client is the network that a request comes from: an address, or the many of IPv6 that one machine has.
func (t *wrongTokens) client(r *http.Request) netip.Prefix {
	at, _ := netip.ParseAddrPort(r.RemoteAddr) // the zero address if it is none
	from, _ := at.Addr().Unmap().WithZone("").Prefix(min(at.Addr().Unmap().BitLen(), 64))
	if _, known := t.n[from]; !known && len(t.n) >= maxClients {
		return netip.Prefix{}
	}
	return from
}

func newGuard(token string) guard {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return guard{key, token, new(wrongTokens)}
}

// sign makes a value that only this process can make.
func (g guard) sign(what string) string {
	m := hmac.New(sha256.New, g.key)
	m.Write([]byte(what))
	return hex.EncodeToString(m.Sum(nil))
}

// form is the value that a form must send back: a page of another origin cannot read it.
func (g guard) form() string { return g.sign("form") }

const cookieName = "pleat-dash"

// headers sets what every answer has.
func headers(h http.Header) {
	h.Set("Content-Security-Policy", policyHeader)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers send forms without their origin
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// refuse returns why a request is not answered; empty: it is.
func (g guard) refuse(r *http.Request) string {
	switch {
	case g.token == "" && (!local.From(r) || local.Forwarded(r)):
		return "Without a token the dashboard answers this machine alone."
	case g.token == "" && !local.Name(r.Host):
		return "The dashboard is called by an address of this machine or localhost, not by another name."
	case !local.SameOrigin(r):
		return "Another web site sent this request."
	case r.Method == http.MethodPost && !hmac.Equal([]byte(r.PostFormValue("form")), []byte(g.form())):
		return "The form is out of date. Load its page again."
	}
	return ""
}

// known reports whether the client has shown the token, if there is one.
func (g guard) known(r *http.Request) bool {
	if g.token == "" {
		return true
	}
	c, err := r.Cookie(cookieName)
	return err == nil && hmac.Equal([]byte(c.Value), []byte(g.sign("cookie")))
}

// logIn checks the token of a form and remembers the client.
func (g guard) logIn(w http.ResponseWriter, r *http.Request) bool {
	a, b := sha256.Sum256([]byte(r.PostFormValue("token"))), sha256.Sum256([]byte(g.token))
	if g.token == "" || !hmac.Equal(a[:], b[:]) {
		return false
	}
	g.wrong.right(r)
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: g.sign("cookie"), Path: "/",
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	return true
}
