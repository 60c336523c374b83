package sessionlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// source is a file that can be read at any place.
type source struct {
	r     io.ReaderAt
	size  int64
	close func() error
}

// smallInput is kept in memory when it cannot seek; more goes to a temporary file.
const smallInput = 4 << 20

// newSource makes r readable at any place. It begins at the current position of r.
func newSource(r io.Reader) (*source, error) {
	type seeker interface {
		io.ReaderAt
		io.Seeker
	}
	nop := func() error { return nil }
	if s, ok := r.(seeker); ok {
		if at, err := s.Seek(0, io.SeekCurrent); err == nil {
			end, err := s.Seek(0, io.SeekEnd)
			if err != nil {
				return nil, fmt.Errorf("find size of session file: %w", err)
			}
			if _, err := s.Seek(at, io.SeekStart); err != nil {
				return nil, fmt.Errorf("rewind session file: %w", err)
			}
			size := max(end-at, 0)
			return &source{io.NewSectionReader(s, at, size), size, nop}, nil
		}
	}
	head, err := io.ReadAll(io.LimitReader(r, smallInput))
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	if len(head) < smallInput {
		return &source{bytes.NewReader(head), int64(len(head)), nop}, nil
	}
	return spool(io.MultiReader(bytes.NewReader(head), r))
}

func spool(r io.Reader) (*source, error) {
	f, err := os.CreateTemp("", "pleat-session-*")
	if err != nil {
		return nil, fmt.Errorf("spool session: %w", err)
	}
	remove := func() error { return errors.Join(f.Close(), os.Remove(f.Name())) }
	size, err := io.Copy(f, r)
	if err != nil {
		return nil, fmt.Errorf("spool session: %w", errors.Join(err, remove()))
	}
	return &source{f, size, remove}, nil
}

// line is one line of a source without its line feed.
type line struct {
	text []byte // valid until the next line is read; nil if the line is too long
	off  int64
	size int64
	num  int // from 1
}

// lineReader yields lines. A line that does not fit its buffer is measured first and then
// read into memory of exactly its size, so that a file of huge lines needs the longest of
// them once, not several times over.
type lineReader struct {
	src  *source
	max  int64
	buf  []byte
	from int64 // offset of buf
	fill int   // bytes in buf
	pos  int64 // offset of the next line
	num  int
	long []byte
}

const (
	readSize = 256 << 10
	longLine = 4 << 20 // memory for a line longer than this is not kept for the next one
)

func newLineReader(src *source, maxLine int64) *lineReader {
	return &lineReader{src: src, max: maxLine, buf: make([]byte, min(readSize, src.size))}
}

// next returns the next line that is not blank, io.EOF behind the last.
func (lr *lineReader) next() (line, error) {
	for {
		if lr.pos >= lr.src.size {
			return line{}, io.EOF
		}
		lr.num++
		ln := line{off: lr.pos, num: lr.num}
		end, err := lr.find(lr.pos)
		if err != nil {
			return line{}, err
		}
		ln.size = end - ln.off
		lr.pos = end + 1
		if ln.size > lr.max {
			return ln, nil
		}
		if ln.text, err = lr.text(ln.off, ln.size); err != nil {
			return line{}, err
		}
		if ln.num == 1 {
			ln.text = trimBOM(ln.text)
		}
		if len(bytes.TrimSpace(ln.text)) > 0 {
			return ln, nil
		}
	}
}

// find returns the offset of the first line feed from off on, or the size of the source.
func (lr *lineReader) find(off int64) (int64, error) {
	for off < lr.src.size {
		if off < lr.from || off >= lr.from+int64(lr.fill) {
			n, err := lr.src.r.ReadAt(lr.buf, off)
			if n == 0 && err != nil {
				return 0, fmt.Errorf("read session at offset %d: %w", off, err)
			}
			lr.from, lr.fill = off, n
		}
		part := lr.buf[off-lr.from : lr.fill]
		if i := bytes.IndexByte(part, '\n'); i >= 0 {
			return off + int64(i), nil
		}
		off += int64(len(part))
	}
	return lr.src.size, nil
}

func (lr *lineReader) text(off, size int64) ([]byte, error) {
	if off >= lr.from && off+size <= lr.from+int64(lr.fill) {
		if cap(lr.long) > longLine {
			lr.long = nil
		}
		return lr.buf[off-lr.from:][:size], nil
	}
	if c := int64(cap(lr.long)); c < size || c > longLine && size < c/2 {
		lr.long = nil // let go of the old one first
		lr.long = make([]byte, size)
	}
	lr.long = lr.long[:size]
	return lr.long, lr.src.readAt(lr.long, off)
}

// readAt fills b.
func (s *source) readAt(b []byte, off int64) error {
	if n, err := s.r.ReadAt(b, off); n < len(b) {
		return fmt.Errorf("read session at offset %d: %w", off, err)
	}
	return nil
}
