package httpbody

import (
	"errors"
	"io"
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
