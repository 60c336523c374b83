package sessionlog

import (
	"bytes"
	"io"
	"slices"
	"testing"
)

// OpenAs opens data as a format that it may not have.
func OpenAs(data []byte, name Format, opts Options) *Log {
	src, _ := newSource(bytes.NewReader(data))
	l := &Log{src: src, opts: opts, count: 1}
	l.format = formats[slices.IndexFunc(formats, func(f *format) bool { return f.name == name })]
	if l.format.document != nil {
		l.doc, _ = l.readDocument()
		l.docAt = 1
		if l.choose() != nil {
			l.doc = value{}
		}
	}
	return l
}

// SetMaxLine changes the longest line that is read for the time of a test.
func SetMaxLine(t *testing.T, n int64) {
	was := maxLine
	maxLine = n
	t.Cleanup(func() { maxLine = was })
}

// LineFormats are the formats that stream.
var LineFormats = []Format{ClaudeCode, Codex, "copilot-cli", Pi}

// Detect returns the format of r.
func Detect(r io.Reader) (Format, error) {
	l, err := Open(r, nil)
	if err != nil {
		return "", err
	}
	return l.format.name, nil
}
