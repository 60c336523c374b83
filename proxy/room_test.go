package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/proxy/internal/httpbody"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
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

// What is kept of a request that was read after an earlier one does not lie in its body.
func TestApart(t *testing.T) {
	for _, on := range protocol.Protocols {
		a := newAgent(on, "", "Begin.")
		a.say("It has \"escapes\" and \u00fcmlauts.")
		earlier := must(on.Read(a.body())).Earlier()
		a.say("One more.")
		a.say("And one more.")
		bodies := [][]byte{a.body()}
		if on == protocol.Responses {
			bodies = append(bodies, []byte(`{"model":"m","input":"A text \"instead\" of a list."}`))
		}
		for _, body := range bodies {
			got, want := must(on.ReadAfter(earlier, body)), must(on.Read(bytes.Clone(body)))
			system, tools := got.Head()
			if httpbody.Garble(body); !got.Apart || want.Apart || got.Model != want.Model {
				t.Errorf("%s: apart is %v and %v; model %q, want %q", on.Format, got.Apart, want.Apart,
					got.Model, want.Model)
			}
			if wantSystem, wantTools := want.Head(); system != wantSystem || !reflect.DeepEqual(tools, wantTools) {
				t.Errorf("%s: system %q, tools %v", on.Format, system, tools)
			}
			if !reflect.DeepEqual(got.Messages, want.Messages) {
				t.Errorf("%s: messages lie in the body:\n%v", on.Format, got.Messages)
			}
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
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if got := <-up.bodies; got != body {
			t.Fatalf("request %d became %.300q", i, got)
		}
	}
}
