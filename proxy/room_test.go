package proxy

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/proxy/internal/httpbody"
	"github.com/pleat-dev/pleat/store"
)

// In all tests of this package the memory of a request that is over has nothing in it that
// anybody could take for content.
func init() {
	httpbody.LeastRoom = 1 << 10
	httpbody.Garble = func(b []byte) {
		for i := range b {
			b[i] = '!'
		}
	}
}

// slow is a transport that answers first and reads the request when its answer was read.
type slow struct{ bodies chan string }

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	done := func() error {
		body, _ := io.ReadAll(r.Body)
		s.bodies <- string(body)
		return r.Body.Close()
	}
	resp := respond(r, http.StatusOK,
		[]byte(`{"type":"message","role":"assistant","content":[{"type":"text","text":"Yes."}]}`))
	resp.Body = &onClose{resp.Body, done}
	return resp, nil
}

type onClose struct {
	io.ReadCloser
	then func() error
}

func (c *onClose) Close() error {
	defer c.then()
	return c.ReadCloser.Close()
}

// Whatever memory requests get, the upstream gets their bytes, even if it reads late.
func TestRoomsOfRequests(t *testing.T) {
	up := slow{make(chan string, 1)}
	tr := transportOf(t, &Options{Store: store.NewMemory(), Transport: up})
	defer tr.Close()
	text := ""
	for i := range 20 {
		text += fmt.Sprintf(`{"role":"user","content":"message %d %s"},`, i, strings.Repeat("x", 300))
		body := `{"model":"m","messages":[` + strings.TrimSuffix(text, ",") + `]}`
		r, _ := http.NewRequest("POST", "http://up.invalid/v1/messages", strings.NewReader(body))
		resp, err := tr.RoundTrip(r)
		must(t, err)
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if got := <-up.bodies; got != body {
			t.Fatalf("request %d became %.300q", i, got)
		}
	}
}
