package local

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

// Tokens checks the token that clients send, and bounds how fast each client can try some out: one does not
// lock out others. The same wrong token counts once, so that a client with an old one does not lock out those
// beside it. It is for servers of one user: behind a balancer, which is one client, anybody could lock out all.
// The zero value is ready.
type Tokens struct {
	Now func() time.Time // nil: the clock

	mu    sync.Mutex
	wrong map[netip.Prefix]map[[sha256.Size]byte]bool
	until time.Time // when all begin anew
}

const (
	maxWrong   = 10 // wrong tokens of a client
	wrongTime  = time.Minute
	maxClients = 10_000 // that are told apart; the rest count as one
)

// Check reports whether a token is the one that is wanted, which is not empty. After too many wrong ones of its
// client none is, and wait says for how long.
func (t *Tokens) Check(r *http.Request, token, wanted string) (ok bool, wait time.Duration) {
	given, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(wanted))
	ok = wanted != "" && subtle.ConstantTimeCompare(given[:], want[:]) == 1
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.Now != nil {
		now = t.Now()
	}
	if now.After(t.until) {
		t.wrong, t.until = make(map[netip.Prefix]map[[sha256.Size]byte]bool), now.Add(wrongTime)
	}
	from := t.client(r)
	switch tried := t.wrong[from]; {
	case len(tried) >= maxWrong:
		return false, t.until.Sub(now)
	case ok || token == "":
	case tried == nil:
		t.wrong[from] = map[[sha256.Size]byte]bool{given: true}
	default:
		tried[given] = true
	}
	return ok, 0
}

// client is the network that a request comes from: an address, or the many of IPv6 that one machine has.
func (t *Tokens) client(r *http.Request) netip.Prefix {
	at, _ := netip.ParseAddrPort(r.RemoteAddr) // the zero address if it is none
	from, _ := at.Addr().Unmap().WithZone("").Prefix(min(at.Addr().Unmap().BitLen(), 64))
	if _, known := t.wrong[from]; !known && len(t.wrong) >= maxClients {
		return netip.Prefix{}
	}
	return from
}

// TooMany is what a client is told that tried too many wrong tokens. It sets how long to wait.
func TooMany(h http.Header, wait time.Duration) string {
	h.Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
	return "Too many wrong tokens. Try again in a minute."
}
