package agent

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// maxSpill bounds the file of an endless output: what comes later is counted and dropped.
const maxSpill = 1 << 30

// output collects a command's output in bounded memory. Up to max bytes are kept; of
// longer output, the beginning and the end are kept, and all of it, up to maxSpill bytes,
// goes to a file.
type output struct {
	max    int
	stream func(text string)
	create func() (*os.File, error)

	mu      sync.Mutex
	head    []byte
	tail    []byte // after head, once there is a file
	file    *os.File
	fileErr error
	size    int64
	line    []byte // not streamed yet
	secret  bool   // within a private key: not streamed
}

// Write implements io.Writer. It never fails: a full disk must not kill the command.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.size += int64(len(p))
	o.show(p)
	if o.file == nil && o.fileErr == nil {
		if o.head = append(o.head, p...); len(o.head) > o.max {
			o.open()
		}
		return len(p), nil
	}
	if o.file != nil && o.size <= maxSpill && o.fileErr == nil {
		_, o.fileErr = o.file.Write(p)
	}
	if o.tail = append(o.tail, p...); len(o.tail) > 2*o.max {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-o.max/2:]...)
	}
	return len(p), nil
}

// open moves to a file, because the memory is used up.
func (o *output) open() {
	if o.file, o.fileErr = o.create(); o.fileErr == nil {
		_, o.fileErr = o.file.Write(o.head)
	}
	o.tail = append(o.tail, o.head[o.max/2:]...)
	o.head = slices.Clip(o.head[:o.max/2])
}

// show streams whole lines: redaction would miss a secret that is cut in two.
func (o *output) show(p []byte) {
	o.line = append(o.line, p...)
	end := bytes.LastIndexByte(o.line, '\n') + 1
	if end == 0 && len(o.line) > 16<<10 {
		end = len(o.line)
	}
	if end == 0 {
		return
	}
	for l := range strings.Lines(string(o.line[:end])) {
		key := strings.Contains(l, "PRIVATE KEY")
		begins := key && strings.Contains(l, "-----BEGIN")
		if !o.secret || begins {
			o.stream(l)
		}
		o.secret = (o.secret || begins) && !(key && strings.Contains(l, "-----END"))
	}
	o.line = append(o.line[:0], o.line[end:]...)
}

func (o *output) finish() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.line) > 0 && !o.secret {
		o.stream(string(o.line))
		o.line = nil
	}
	if o.file == nil && o.fileErr == nil {
		return strings.ToValidUTF8(string(o.head), "\uFFFD")
	}
	where := "could not be kept"
	if o.file != nil {
		where = "is in " + o.file.Name()
		if o.size > maxSpill {
			where += fmt.Sprintf(", up to %d bytes", maxSpill)
		}
		o.fileErr = cmp.Or(o.fileErr, o.file.Close())
	}
	if o.fileErr != nil {
		where += " (" + o.fileErr.Error() + ")"
	}
	tail := o.tail[max(len(o.tail)-o.max/2, 0):]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	text := fmt.Sprintf("%s\n[%d bytes of output; %d bytes in the middle are left out here; all of it %s]\n%s",
		o.head, o.size, o.size-int64(len(o.head))-int64(len(tail)), where, tail)
	return strings.ToValidUTF8(text, "\uFFFD")
}
