package httpbody

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// drops is a body of which a few bytes come and then nothing.
type drops struct{ left int }

func (d *drops) Read(p []byte) (int, error) {
	if d.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n := min(d.left, len(p), 4096)
	d.left -= n
	return n, nil
}

// A buffer grows with what comes, whatever was announced; and all requests under way
// together have a bound.
func TestMemoryOfBodies(t *testing.T) {
	const limit = 256 << 20
	for _, tt := range []struct {
		size int64
		come int
		most int64
	}{
		{16 << 20, 6, 64 << 10},
		{16 << 20, 100 << 10, 64 * 100 << 10},
		{100 << 10, 90 << 10, 101 << 10},
		{0, 90 << 10, 180 << 10},
	} {
		var took int64
		_, err := ReadAll(&drops{tt.come}, tt.size, limit, func(n int64) bool { took += n; return true })
		if err == nil || took > tt.most {
			t.Errorf("%d of %d bytes came: %d were taken (%v)", tt.come, tt.size, took, err)
		}
	}
	if _, err := ReadAll(&drops{1}, limit+1, limit,
		func(int64) bool { t.Error("memory is taken"); return false }); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

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
	l := NewLease(append(newRoom(len(body)), body...))
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
