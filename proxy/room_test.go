package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/store"
)

// In all tests of this package the memory of a request that is over has nothing in it that
// anybody could take for content.
func init() {
	leastRoom = 1 << 10
	garble = func(b []byte) {
		for i := range b {
			b[i] = '!'
		}
	}
}

// What is kept of a request that was read after an earlier one does not lie in its body.
func TestApart(t *testing.T) {
	for _, on := range protocols {
		a := newAgent(on, "", "Begin.")
		a.say("It has \"escapes\" and \u00fcmlauts.")
		earlier := must(on.read(a.body())).earlier()
		a.say("One more.")
		a.say("And one more.")
		bodies := [][]byte{a.body()}
		if on == responses {
			bodies = append(bodies, []byte(`{"model":"m","input":"A text \"instead\" of a list."}`))
		}
		for _, body := range bodies {
			got, want := must(on.readAfter(earlier, body)), must(on.read(bytes.Clone(body)))
			system, tools := got.head()
			if garble(body); !got.apart || want.apart || got.model != want.model {
				t.Errorf("%s: apart is %v and %v; model %q, want %q", on.format, got.apart, want.apart,
					got.model, want.model)
			}
			if wantSystem, wantTools := want.head(); system != wantSystem || !reflect.DeepEqual(tools, wantTools) {
				t.Errorf("%s: system %q, tools %v", on.format, system, tools)
			}
			if !reflect.DeepEqual(got.messages, want.messages) {
				t.Errorf("%s: messages lie in the body:\n%v", on.format, got.messages)
			}
		}
	}
}

func TestRoomOf(t *testing.T) {
	of := make(map[any]int)
	for n := leastRoom; n < mostRoom; n += n/100 + 1 {
		size, free := roomOf(n)
		if size < n || size > n+n/4 {
			t.Errorf("a room for %d bytes has %d", n, size)
		}
		if other, known := of[free]; known && other != size {
			t.Errorf("rooms of %d and of %d bytes are in one place", size, other)
		}
		of[free] = size
		if again, _ := roomOf(size); again != size {
			t.Errorf("a room of %d bytes is given back as one of %d", size, again)
		}
	}
}

// The body of a request is not given back while a transport may read it, and not read after that.
func TestLease(t *testing.T) {
	body := []byte(strings.Repeat("x", leastRoom))
	l := newLease(append(newRoom(len(body)), body...))
	r := httptest.NewRequest("POST", "/", nil)
	l.send(r)
	again, err := r.GetBody()
	if err != nil {
		t.Fatal(err)
	}
	l.leave()
	r.Body.Close()
	r.Body.Close()
	if n, err := r.Body.Read(make([]byte, 10)); n != 0 || err != http.ErrBodyReadAfterClose {
		t.Errorf("%d bytes were read of a closed body: %v", n, err)
	}
	if got, err := io.ReadAll(again); err != nil || !bytes.Equal(got, body) {
		t.Errorf("%.20q, %v", got, err)
	}
	again.Close()
	if _, err := r.GetBody(); err == nil || l.users.Load() != 0 {
		t.Errorf("%d users; a body that was given back is read", l.users.Load())
	}
	if n, err := again.Read(make([]byte, 10)); n != 0 || err != io.EOF {
		t.Errorf("after the end: %d, %v", n, err)
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
	resp := refusal(r, http.StatusOK,
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
