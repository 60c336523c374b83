package local

import (
	"net/http/httptest"
	"testing"
)

func TestName(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:80": true, "127.0.0.1": true, "127.1.2.3:8080": true, "[::1]:80": true,
		"::1":                      true,
		"[::ffff:127.0.0.1]:80":    true,
		"":                         false,
		"example.com":              false,
		"localhost.example.com:80": false,
		"10.0.0.1":                 false,
		"[::2]:80":                 false,
	} {
		if got := Name(host); got != want {
			t.Errorf("Name(%q) = %t", host, got)
		}
	}
}

func TestFrom(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:5": true, "[::1]:5": true, "[::ffff:127.0.0.1]:5": true,
		"10.0.0.1:5": false, "localhost:5": false, "": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = addr
		if got := From(r); got != want {
			t.Errorf("From a client at %q = %t", addr, got)
		}
	}
}

func TestForwarded(t *testing.T) {
	for name, want := range map[string]bool{
		"Forwarded": true, "X-Forwarded-For": true, "X-Forwarded-Proto": true, "x-real-ip": true, "Via": true,
		"X-Client-IP": true, "CF-Connecting-IP": true, "True-Client-IP": true,
		"Accept": false, "X-Pleat-Token": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set(name, "192.0.2.7")
		if got := Forwarded(r); got != want {
			t.Errorf("Forwarded with %s = %t", name, got)
		}
	}
}

func TestSameOrigin(t *testing.T) {
	for _, c := range []struct {
		name, method                 string
		origin, site, mode, resource string
		want                         bool
	}{
		{name: "no browser", method: "POST", want: true},
		{name: "own page", method: "POST", origin: "http://127.0.0.1:80", site: "same-origin", want: true},
		{name: "own page, without an origin", method: "POST", site: "same-origin", want: true},
		{name: "typed address", method: "GET", site: "none", want: true},
		{name: "followed link", method: "GET", site: "cross-site", mode: "navigate", resource: "document", want: true},
		{name: "other page", method: "POST", origin: "http://evil.example", site: "cross-site"},
		{name: "no page", method: "POST", origin: "null"},
		{name: "other page's form", method: "POST", site: "cross-site", mode: "navigate", resource: "document"},
		{name: "other page's frame", method: "GET", site: "cross-site", mode: "navigate", resource: "iframe"},
		{name: "other page's script", method: "GET", site: "same-site", mode: "no-cors", resource: "script"},
	} {
		r := httptest.NewRequest(c.method, "http://127.0.0.1:80/", nil)
		for name, value := range map[string]string{
			"Origin": c.origin, "Sec-Fetch-Site": c.site, "Sec-Fetch-Mode": c.mode, "Sec-Fetch-Dest": c.resource,
		} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if got := SameOrigin(r); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}
