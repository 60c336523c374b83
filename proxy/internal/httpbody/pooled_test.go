package httpbody

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func init() {
	LeastRoom = 1 << 10
	Garble = func(b []byte) {
		for i := range b {
			b[i] = '!'
		}
	}
}

func TestRoomOf(t *testing.T) {
	of := make(map[any]int)
	for n := LeastRoom; n < mostRoom; n += n/100 + 1 {
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
	body := []byte(strings.Repeat("x", LeastRoom))
	l := NewLease(append(NewRoom(len(body)), body...))
	r := httptest.NewRequest("POST", "/", nil)
	l.Send(r)
	again, err := r.GetBody()
	if err != nil {
		t.Fatal(err)
	}
	l.Leave()
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

// What a request unpacks to is bounded by what came.
func TestBombIsRefusedEarly(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, _ = w.Write(make([]byte, 64<<20))
	w.Close()
	decoders := Decoders{"gzip": func(packed io.Reader) (io.ReadCloser, error) { return gzip.NewReader(packed) }}
	took := int64(0)
	_, err := decoders.Decompress("gzip", bomb.Bytes(), 256<<20, func(n int64) bool { took += n; return true })
	if err == nil || took > 200*int64(bomb.Len()) {
		t.Errorf("%d bytes were taken for %d: %v", took, bomb.Len(), err)
	}
}
