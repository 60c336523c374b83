package mcp

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pleat-dev/pleat/internal/local"
)

// NewHandler serves a server over streamable HTTP. With a token every request needs it, as
// a bearer token. Without one only requests to this machine by its own names are answered:
// a web page that has another name lead here is refused, and so is a proxy that asks for
// others. Requests that a page of another origin makes are refused in any case.
func NewHandler(srv *sdk.Server, token string) http.Handler {
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv },
		&sdk.StreamableHTTPOptions{SessionTimeout: time.Hour, DisableLocalhostProtection: token != ""})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case token != "" && !hasToken(r, token):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a bearer token is required", http.StatusUnauthorized)
		case token == "" && !local.Name(r.Host):
			http.Error(w, "requests must name this machine: localhost or its address", http.StatusForbidden)
		case token == "" && local.Forwarded(r):
			http.Error(w, "a proxy asks for somebody else; that needs a token", http.StatusForbidden)
		case !local.SameOrigin(r):
			http.Error(w, "requests of other origins are refused", http.StatusForbidden)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// hasToken compares in a time that does not depend on the token.
func hasToken(r *http.Request, token string) bool {
	got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(token))
	return ok && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
