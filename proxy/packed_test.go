package proxy

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/proxy/internal/protocol"
)

// A reply in an encoding that nobody asked for is passed on as it is.
func TestReplyInAnotherEncoding(t *testing.T) {
	const packed = "\x0b\x02\x80not really brotli\x03"
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Encoding", "br")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, packed)
	})
	a := newAgent(protocol.Messages, start(t, up, Options{}), "Hello.")
	req, _ := http.NewRequest(http.MethodPost, a.url+a.path(), strings.NewReader(string(a.body())))
	req.Header.Set("Accept-Encoding", "br")
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != packed ||
		resp.Header.Get("Content-Encoding") != "br" {
		t.Errorf("the client got %d %q %v: %v", resp.StatusCode, got, resp.Header, err)
	}
}
