package sessionlog_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/sessionlog"
)

// endless is a file that is made while it is read: lines of equal length, so that any
// offset can be asked for.
type endless struct {
	line  func(i int) string
	lines int
	width int64
	pos   int64
}

func newEndless(lines int, line func(i int) string) *endless {
	return &endless{line: line, lines: lines, width: int64(len(line(0)))}
}

func (e *endless) Seek(off int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
		e.pos = off
	case io.SeekCurrent:
		e.pos += off
	case io.SeekEnd:
		e.pos = int64(e.lines)*e.width + off
	}
	return e.pos, nil
}

func (e *endless) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		i := off / e.width
		if i >= int64(e.lines) {
			return n, io.EOF
		}
		m := copy(p[n:], e.line(int(i))[off%e.width:])
		n += m
		off += int64(m)
	}
	return n, nil
}

func (e *endless) Read(p []byte) (int, error) {
	n, err := e.ReadAt(p, e.pos)
	e.pos += int64(n)
	return n, err
}

// Memory does not grow with the size of the file: not at all for a list of lines, by the
// index for a tree.
func TestStreaming(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 400 MB")
	}
	const width = 20 << 10
	pad := strings.Repeat("x", width)
	for _, tt := range []struct {
		name    string
		perLine uint64
		line    func(i int) string
	}{
		{"codex", 0, func(i int) string {
			return fmt.Sprintf(`{"timestamp":"2026-01-02T03:04:05Z","type":"response_item","payload":{"type":"message","role":"user","content":"%08d%s"}}`+"\n", i, pad)
		}},
		{"claude-code", 512, func(i int) string {
			return fmt.Sprintf(`{"parentUuid":"%036d","type":"user","message":{"role":"user","content":"%s"},`+
				`"uuid":"%036d"}`+"\n", i, pad, i+1)
		}},
		{"pi", 512, func(i int) string {
			return fmt.Sprintf(`{"type":"message","id":"%036d","parentId":"%036d",`+
				`"message":{"role":"user","content":"%s"}}`+"\n", i+1, i, pad)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const lines = 7000
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			before := m.HeapAlloc
			log, err := sessionlog.Open(newEndless(lines, tt.line), nil)
			must(t, err)
			n, peak := 0, uint64(0)
			for _, err := range log.Records() {
				must(t, err)
				if n++; n%500 == 0 {
					runtime.GC()
					runtime.ReadMemStats(&m)
					peak = max(peak, m.HeapAlloc-min(before, m.HeapAlloc))
				}
			}
			t.Logf("%d MB in %d records, at most %d kB in use, %d bytes a line", lines*width>>20, n,
				peak>>10, peak/lines)
			if limit := 2<<20 + tt.perLine*lines; n != lines || peak > limit {
				t.Errorf("%d records, %d bytes in use; want %d, at most %d", n, peak, lines, limit)
			}
		})
	}
}
