// Package local tells requests of this machine and of a server's own pages from others, for
// servers that answer no one else.
package local

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Name reports whether a host, with or without a port, is a name or an address of this
// machine. A web page whose name was made to point here (DNS rebinding) sends its own.
func Name(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}

// From reports whether a request comes from this machine.
func From(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && from.Addr().Unmap().IsLoopback()
}

// SameOrigin refuses what a page of another origin makes a browser send, apart from a link
// that a person follows.
func SameOrigin(r *http.Request) bool {
	if o := r.Header.Get("Origin"); o != "" {
		u, err := url.Parse(o)
		return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return true
	}
	navigates := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return r.Method == http.MethodGet && navigates
}

// Forwarded reports whether a proxy says that it asks for somebody else.
func Forwarded(r *http.Request) bool {
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded-") || slices.Contains(forwarding, name) {
			return true
		}
	}
	return false
}

// forwarding are the headers that proxies add, besides those that begin with X-Forwarded-.
var forwarding = []string{"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip"}
