package sessionlog

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
)

// source is a file that can be read at any place.
type source struct {
	r    io.ReaderAt
	size int64
}

// newSource makes r readable at any place. It begins at the current position of r.
func newSource(r io.Reader) (*source, error) {
	type seeker interface {
		io.ReaderAt
		io.Seeker
	}
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
			return &source{io.NewSectionReader(s, at, size), size}, nil
		}
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	return &source{bytes.NewReader(data), int64(len(data))}, nil
}

// line is one line of a source without its line feed.
type line struct {
	text []byte // valid until the next line is read; nil if the line is too long
	off  int64
	size int64
	num  int // from 1
}

// lines yields the lines that are not blank, up to an error.
func (s *source) lines() iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		size := int(min(s.size, readSize))
		lr := &lineReader{src: s, in: bufio.NewReaderSize(io.NewSectionReader(s.r, 0, s.size), size)}
		for {
			if ln, err := lr.next(); err == io.EOF || !yield(ln, err) || err != nil {
				return
			}
		}
	}
}

// lineReader reads lines. A line that does not fit its buffer is measured first and then
// read into memory of exactly its size, so that a file of huge lines needs the longest of
// them once, not several times over.
type lineReader struct {
	src  *source
	in   *bufio.Reader
	pos  int64 // offset of the next line
	num  int
	long []byte
}

const (
	readSize = 256 << 10
	longLine = 4 << 20 // memory for a line longer than this is not kept for the next one
)

// next returns the next line that is not blank, io.EOF behind the last.
func (lr *lineReader) next() (line, error) {
	for {
		text, err := lr.in.ReadSlice('\n')
		ln := line{off: lr.pos, size: int64(len(text))}
		for err == bufio.ErrBufferFull {
			text, err = lr.in.ReadSlice('\n')
			ln.size += int64(len(text))
		}
		switch {
		case err == io.EOF && ln.size == 0:
			return line{}, io.EOF
		case err != nil && err != io.EOF:
			return line{}, fmt.Errorf("read session at offset %d: %w", ln.off, err)
		}
		lr.num++
		lr.pos += ln.size
		ln.num = lr.num
		if err == nil {
			ln.size-- // the line feed
		}
		if ln.size > maxLine {
			return ln, nil
		}
		if ln.text = text[:min(int64(len(text)), ln.size)]; int64(len(ln.text)) < ln.size {
			if ln.text, err = lr.src.again(&lr.long, ln.off, ln.size); err != nil {
				return line{}, err
			}
		}
		if ln.num == 1 {
			ln.text = trimBOM(ln.text)
		}
		if len(bytes.TrimSpace(ln.text)) > 0 {
			return ln, nil
		}
	}
}

// again reads a stretch of the source into a buffer, which is made larger if need be.
func (s *source) again(buf *[]byte, off, size int64) ([]byte, error) {
	if c := int64(cap(*buf)); c < size || c > longLine && size < c/2 {
		*buf = nil // let go of the old one first
		*buf = make([]byte, size)
	}
	text := (*buf)[:size]
	return text, s.readAt(text, off)
}

func (s *source) readAt(b []byte, off int64) error {
	if n, err := s.r.ReadAt(b, off); n < len(b) {
		return fmt.Errorf("read session at offset %d: %w", off, err)
	}
	return nil
}
