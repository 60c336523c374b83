package dash

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
)

// Without a token the dashboard answers this machine alone, called by its own names, and no
// other web site.
func TestWhoIsAnswered(t *testing.T) {
	h := newDash(t, store.NewMemory(), "")
	for _, c := range []struct {
		name, host, from string
		headers          map[string]string
		want             int
	}{
		{"this machine", "127.0.0.1:4242", "127.0.0.1:1", nil, 200},
		{"localhost", "localhost:4242", "127.0.0.1:1", nil, 200},
		{"version 6", "[::1]:4242", "[::1]:1", nil, 200},
		{"version 6 without a port", "[::1]", "[::1]:1", nil, 200},
		{"mapped", "127.0.0.1", "[::ffff:127.0.0.1]:1", nil, 200},
		{"another machine", "127.0.0.1:4242", "192.0.2.7:1", nil, 403},
		{"another machine by its address", "192.0.2.1:4242", "192.0.2.7:1", nil, 403},
		{"rebound name", "evil.example:4242", "127.0.0.1:1", nil, 403},
		{"name that begins like ours", "localhost.evil.example", "127.0.0.1:1", nil, 403},
		{"no host", "", "127.0.0.1:1", nil, 403},
		{"own origin", "127.0.0.1:4242", "127.0.0.1:1", map[string]string{"Origin": "http://127.0.0.1:4242"}, 200},
		{"other origin", "127.0.0.1:4242", "127.0.0.1:1", map[string]string{"Origin": "http://evil.example"}, 403},
		{"other port", "127.0.0.1:4242", "127.0.0.1:1", map[string]string{"Origin": "http://127.0.0.1:3000"}, 403},
		{"no origin", "127.0.0.1:4242", "127.0.0.1:1", map[string]string{"Origin": "null"}, 403},
		{"through a proxy", "127.0.0.1:4242", "127.0.0.1:1", map[string]string{"X-Forwarded-For": "192.0.2.7"}, 403},
		{"typed", "127.0.0.1:4242", "127.0.0.1:1", map[string]string{"Sec-Fetch-Site": "none"}, 200},
		{
			"image of another site", "127.0.0.1:4242", "127.0.0.1:1",
			map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
			403,
		},
		{
			"frame of another site", "127.0.0.1:4242", "127.0.0.1:1",
			map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
			403,
		},
		{
			"link that was followed", "127.0.0.1:4242", "127.0.0.1:1",
			map[string]string{
				"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document",
			},
			200,
		},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host, r.RemoteAddr = c.host, c.from
		for k, v := range c.headers {
			r.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: status %d, want %d", c.name, w.Code, c.want)
		}
		policy := w.Header().Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") ||
			w.Header().Get("X-Frame-Options") != "DENY" ||
			w.Header().Get("Referrer-Policy") != "same-origin" {
			t.Errorf("%s: headers %v", c.name, w.Header())
		}
	}
}

// With a token nobody reads anything before typing it in, from wherever.
func TestTokenIsAsked(t *testing.T) {
	st := store.NewMemory()
	s := fill(t, st, "made up", 8, 8000, "words that are shown")
	const token = "0123456789abcdef0123"
	h, from := newDash(t, st, token), "192.0.2.7:1"
	ask := func(method, path, form, cookie string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://pleat.example"+path, strings.NewReader(form))
		if r.RemoteAddr = from; method == http.MethodPost {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		if cookie != "" {
			r.Header.Set("Cookie", cookie)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for _, page := range append(everyPage(s), "/dash/live", "/dash/script.js", "/dash/bytes") {
		for _, cookie := range []string{"", cookieName + "=", cookieName + "=" + token, cookieName + "=0000"} {
			w := ask("GET", page, "", cookie)
			if w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "words that are shown") {
				t.Errorf("%s with %q: status %d", page, cookie, w.Code)
			}
		}
	}
	form := "form=" + h.guard.form()
	for _, wrong := range []string{form, form + "&token=", form + "&token=0123", "token=" + token} {
		if w := ask("POST", "/dash/login", wrong, ""); w.Code == http.StatusSeeOther ||
			w.Header().Get("Set-Cookie") != "" {
			t.Errorf("%q logs in", wrong)
		}
	}
	for range 20 {
		if w := ask("POST", "/dash/login", form+"&token=old", ""); w.Code == http.StatusTooManyRequests {
			t.Fatal("the same wrong token, sent again and again, locks its client out")
		}
	}
	tried := 0
	for ask("POST", "/dash/login", form+"&token=wrong"+strconv.Itoa(tried), "").Code != http.StatusTooManyRequests {
		if tried++; tried > 20 {
			t.Fatal("tokens can be tried out without end")
		}
	}
	if w := ask("POST", "/dash/login", form+"&token="+token, ""); w.Header().Get("Retry-After") == "" {
		t.Errorf("status %d at once after too many wrong ones", w.Code)
	}
	from = "[2001:db8::1]:1"
	if w := ask("POST", "/dash/login", form+"&token="+token, ""); w.Code != http.StatusSeeOther {
		t.Errorf("status %d for another client than who tried too many", w.Code)
	}
	from = "192.0.2.7:2"
	if w := ask("POST", "/dash/login", form+"&token="+token, ""); w.Code != http.StatusTooManyRequests {
		t.Errorf("status %d for the same client on another port", w.Code)
	}
	h.guard.tried.Now = func() time.Time { return time.Now().Add(2 * time.Minute) }
	w := ask("POST", "/dash/login", form+"&token="+token, "")
	cookie := w.Header().Get("Set-Cookie")
	if w.Code != http.StatusSeeOther || !strings.Contains(cookie, "HttpOnly") ||
		!strings.Contains(cookie, "SameSite=Strict") ||
		strings.Contains(cookie, token) {
		t.Fatalf("status %d, cookie %q", w.Code, cookie)
	}
	cookie, _, _ = strings.Cut(cookie, ";")
	if w := ask("GET", "/dash/session?s=made+up", "", cookie); w.Code != 200 {
		t.Errorf("with the cookie: status %d", w.Code)
	}
	other := newDash(t, st, token)
	h = other
	if w := ask("GET", "/", "", cookie); w.Code != http.StatusUnauthorized {
		t.Errorf("a cookie of another process works")
	}
}

// Exact bytes, with what pages leave out, go only to a form of this site; nothing else
// takes a POST.
func TestBytesNeedAForm(t *testing.T) {
	st := store.NewMemory()
	s := fill(t, st, "made up", 8, 8000, "with "+secret)
	h := newDash(t, st, "")
	fold := s.Report().Folds[0]
	u, err := s.Unfold(t.Context(), recall.UnfoldRequest{Handle: fold.Handle})
	must(t, err)
	post := func(path string, form url.Values, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "http://127.0.0.1:4242"+path, strings.NewReader(form.Encode()))
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	form := url.Values{"s": {"made up"}, "handle": {fold.Handle}}
	for _, key := range []string{"", "0000", h.guard.sign("cookie")} {
		form.Set("form", key)
		if w := post("/dash/bytes", form); w.Code != http.StatusForbidden ||
			strings.Contains(w.Body.String(), "sk-ant-api03-AAAA") {
			t.Errorf("form %q: status %d", key, w.Code)
		}
	}
	form.Set("form", h.guard.form())
	if w := post("/dash/bytes", form, "Origin", "http://evil.example"); w.Code != http.StatusForbidden {
		t.Errorf("another site: status %d", w.Code)
	}
	if w := get(h, "/dash/bytes?"+form.Encode()); w.Code != http.StatusNotFound {
		t.Errorf("GET: status %d", w.Code)
	}
	w := post("/dash/bytes", form)
	if w.Code != 200 || w.Body.String() != u.Whole || !strings.Contains(w.Body.String(), "sk-ant-api03-AAAA") {
		t.Errorf("status %d, %d bytes, want %d", w.Code, w.Body.Len(), len(u.Whole))
	}
	if d := w.Header().Get("Content-Disposition"); !strings.HasPrefix(d, "attachment") ||
		w.Header().Get("Content-Type") != "application/octet-stream" {
		t.Errorf("headers %v", w.Header())
	}
	for _, page := range everyPage(s) {
		if w := post(page, form); w.Code != http.StatusNotFound && w.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: status %d", page, w.Code)
		}
	}
}

// Looking at pages writes nothing to a session.
func TestPagesWriteNothing(t *testing.T) {
	st := store.NewMemory()
	s := fill(t, st, "made up", 12, 8000, "words")
	h := newDash(t, st, "")
	before := inside.Of(s).LastSeq()
	for _, page := range everyPage(s) {
		get(h, page)
	}
	n := 0
	for range st.Scan(t.Context(), s.Key(), before+1) {
		n++
	}
	for info, err := range st.Sessions(t.Context(), "") {
		if must(t, err); info.Key != s.Key() {
			t.Errorf("a new session %s", info.Key)
		}
	}
	if n != 0 {
		t.Errorf("%d new entries", n)
	}
}
