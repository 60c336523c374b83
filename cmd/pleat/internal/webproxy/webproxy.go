// Package webproxy knows of the web proxy through which firms let programs reach other machines.
// HTTP_PROXY and HTTPS_PROXY name it; NO_PROXY lists what is reached directly. Programs differ in whether they
// read a name in upper or in lower case first. Agents reach pleat without TLS: a web proxy in between would see
// their prompts and keys.
package webproxy

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// names are the variables of the environment that say which.
var names = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}

// Environ are the settings of an environment, as NAME=value.
func Environ(getenv func(string) string) (list []string) {
	for _, name := range names {
		if value := getenv(name); value != "" {
			list = append(list, name+"="+value)
		}
	}
	return list
}

// For says which addresses are reached through a web proxy, whose user and password it leaves out.
func For(addresses ...string) (lines []string) {
	for _, a := range addresses {
		u, err := url.Parse(a)
		if err != nil || u.Host == "" {
			continue
		}
		if via, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err == nil && via != nil {
			lines = append(lines, u.Host+" is reached through "+via.Scheme+"://"+via.Host)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// NoProxy returns both spellings of NO_PROXY, with this machine added to what the environment lists.
func NoProxy(getenv func(string) string) []string {
	upper, lower := getenv("NO_PROXY"), getenv("no_proxy")
	return []string{
		"NO_PROXY=" + withLoopback(cmp.Or(upper, lower)), "no_proxy=" + withLoopback(cmp.Or(lower, upper)),
	}
}

func withLoopback(list string) string {
	hosts := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	for _, h := range []string{"127.0.0.1", "localhost", "::1"} {
		if !slices.Contains(hosts, h) && !slices.Contains(hosts, "*") {
			hosts = append(hosts, h)
		}
	}
	return strings.Join(hosts, ",")
}

// Exposed returns the command that keeps what agents send to this machine away from the web proxy of the
// environment; "" if there is none or it does not get that.
func Exposed(getenv func(string) string) string {
	via := cmp.Or(getenv("HTTP_PROXY"), getenv("http_proxy"), getenv("HTTPS_PROXY"), getenv("https_proxy"),
		getenv("ALL_PROXY"), getenv("all_proxy")) // Claude Code and Gemini CLI use any for all
	upper, lower := getenv("NO_PROXY"), getenv("no_proxy")
	open := func(list string) bool { return !strings.Contains(list, "127.0.0.1") && list != "*" }
	if via == "" || !open(cmp.Or(upper, lower)) && !open(cmp.Or(lower, upper)) {
		return ""
	}
	return "export " + strings.Join(NoProxy(getenv), " ")
}
