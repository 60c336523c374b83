package proxy_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
)

// A handler stands between clients and a provider. What needs no folding goes through byte for
// byte; here the provider is a server that repeats the request.
func ExampleNewHandler() {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.Copy(w, r.Body)
	}))
	defer provider.Close()
	upstream, err := url.Parse(provider.URL)
	if err != nil {
		log.Fatal(err)
	}
	h, err := proxy.NewHandler(&proxy.Options{Store: store.NewMemory(), Anthropic: upstream})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	front := httptest.NewServer(h)
	defer front.Close()
	const body = `{"model": "m", "max_tokens":9, "messages": [{"role":"user","content":"Hello."}]}`
	resp, err := http.Post(front.URL+"/v1/messages", "application/json", strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	fmt.Println(err, string(got) == body)
	// Output: <nil> true
}
