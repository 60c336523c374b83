package front

import (
	"cmp"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"

	"github.com/pleat-dev/pleat/proxy/internal/protocol"
)

// provider is one of those that a [Handler] forwards to.
type provider string

const (
	nobody      provider = ""
	byAnthropic provider = "anthropic"
	byOpenAI    provider = "openai"
	byGemini    provider = "gemini"
)

// upstream says where a request goes, nil if nowhere.
func (h *Handler) upstream(r *http.Request) *url.URL {
	o := &h.o
	return map[provider]*url.URL{byAnthropic: o.Anthropic, byOpenAI: o.OpenAI, byGemini: o.Gemini}[addressee(r)]
}

// addressee says whose a request is. A key that begins as only one provider's do goes to that
// one, whatever the path; two of different providers go nowhere. Any other key goes where the
// path says, unless it is in a header that is another provider's own. Where the path says
// nothing, headers decide; where they do not either, the request goes nowhere.
func addressee(r *http.Request) provider {
	bearer, _ := protocol.BearerOf(r.Header.Get("Authorization"))
	inQuery := r.URL.Query().Get("key")
	sure, where := nobody, nobody
	for _, k := range []struct {
		key   string
		where provider // whose header it is in
	}{
		{bearer, nobody},
		{inQuery, nobody},
		{r.Header.Get("Api-Key"), byOpenAI},
		{r.Header.Get("X-Goog-Api-Key"), byGemini},
		{r.Header.Get("X-Api-Key"), byAnthropic},
	} {
		by := issuer(k.key)
		if by != nobody && sure != nobody && by != sure {
			return nobody
		}
		sure = cmp.Or(by, sure)
		if k.key != "" {
			where = cmp.Or(k.where, where)
		}
	}
	if where == nobody && bearer == "" && inQuery != "" {
		where = byGemini
	}
	path := byPath(r.URL.Path)
	switch {
	case sure != nobody:
		return sure
	case path != nobody && where != nobody && path != where:
		return nobody
	case path != nobody || where != nobody:
		return cmp.Or(path, where)
	}
	return byRest(r, bearer)
}

// unaddressed says why a request goes nowhere, and what would change that.
func unaddressed(r *http.Request) string {
	const keys = "; Anthropic's key goes into the header x-api-key, OpenAI's into authorization: Bearer KEY, " +
		"Gemini's into x-goog-api-key"
	by, path := addressee(r), byPath(r.URL.Path)
	switch {
	case by != nobody:
		return "none is set up for " + string(by) + " (pleat proxy --upstream-" + string(by) + " URL)"
	case path != nobody:
		return "its path is " + string(path) + "'s, and its key is, or stands in the header of, another's" + keys
	}
	return "neither its path nor its key says whose it is" + keys
}

// issuer is the only provider whose keys begin like this one.
func issuer(key string) provider {
	for _, k := range []struct {
		prefix string
		by     provider
	}{
		{"sk-ant-", byAnthropic},
		{"sk-proj-", byOpenAI},
		{"sk-svcacct-", byOpenAI},
		{"sk-admin-", byOpenAI},
		{"AIza", byGemini},
		{"ya29.", byGemini},
	} {
		if strings.HasPrefix(key, k.prefix) {
			return k.by
		}
	}
	return nobody
}

// byPath is the provider whose wire has a path, with what belongs to it.
func byPath(path string) provider {
	_, isGemini := protocol.RouteGemini(path)
	path += "/"
	switch {
	case isGemini || strings.Contains(path, "/publishers/anthropic/"): // Google's cloud
		return byGemini
	case ofMessages.MatchString(path):
		return byAnthropic
	case strings.Contains(path, "/chat/completions/"), strings.Contains(path, "/responses/"):
		return byOpenAI
	}
	return nobody
}

// byRest is the provider of a request to any other path, whose key may be anybody's: servers
// that speak OpenAI's format take any.
func byRest(r *http.Request, bearer string) provider {
	switch {
	case r.Header.Get("Anthropic-Version") != "":
		return byAnthropic
	case bearer == "":
		return nobody
	case strings.Contains(r.URL.Path, "/v1beta/"):
		return byGemini
	case strings.HasPrefix(bearer, "sk-"), r.Header.Get("Chatgpt-Account-Id") != "",
		strings.Contains(r.URL.Path, "/v1/"):
		return byOpenAI
	}
	return nobody
}

var (
	versioned  = regexp.MustCompile(`/v[0-9][^/]*(/|$)`)
	ofMessages = regexp.MustCompile(`/v[0-9][^/]*/messages/`)
	version    = regexp.MustCompile(`^/v[0-9][^/]*/`)
)

// direct points a request to its upstream and leaves the rest unchanged. Where the upstream's
// address names a version, as in https://HOST/api/v4, that one counts, not the client's.
func (h *Handler) direct(p *httputil.ProxyRequest) {
	to := h.upstream(p.In)
	if at := version.FindString(p.Out.URL.Path); at != "" && versioned.MatchString(to.Path) {
		p.Out.URL.Path = p.Out.URL.Path[len(at)-1:]
		p.Out.URL.RawPath = strings.TrimPrefix(p.Out.URL.RawPath, at[:len(at)-1])
	}
	p.SetURL(to)
	p.Out.URL.RawQuery = p.In.URL.RawQuery
	p.Out.Header.Add(hops, h.id)
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v, ok := p.In.Header[name]; ok {
			p.Out.Header[name] = v
		}
	}
}
