package dash

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
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
	tried *local.Tokens
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

// logIn checks the token of a form and remembers the client. If it tried too many, wait is how long none is taken.
func (g guard) logIn(w http.ResponseWriter, r *http.Request) (ok bool, wait time.Duration) {
	if ok, wait = g.tried.Check(r, r.PostFormValue("token"), g.token); ok {
		http.SetCookie(w, &http.Cookie{
			Name: cookieName, Value: g.sign("cookie"), Path: "/",
			HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
		})
	}
	return ok, wait
}
