package proxy

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// errUnread says that a client's request broke off.
var errUnread = errors.New("read request")

var errTooLarge = errors.New("the request is larger than the proxy takes")

// errMemory says that what is under way takes all the memory that it may.
var errMemory = errors.New("the proxy has no memory left")

// readAll reads at most limit bytes. Size is how many to expect, if that is known. Anybody can
// announce a large size, so the buffer grows with what comes: to at most 64 times as much.
// Take is asked for more memory before it grows. With errTooLarge and errMemory it returns what it
// has read.
func readAll(r io.Reader, size, limit int64, take func(n int64) bool) ([]byte, error) {
	return readInto(func(n int) []byte { return make([]byte, 0, n) }, r, size, limit, take)
}

// readInto is readAll with memory of another kind, which may be a quarter more than is asked for.
func readInto(
	room func(n int) []byte, r io.Reader, size, limit int64, take func(n int64) bool,
) (buf []byte, err error) {
	if size > limit {
		return nil, errTooLarge
	}
	for {
		if len(buf) == cap(buf) {
			have := int64(len(buf))
			more := max(have, 64<<10)
			if rest := size + 1 - have; size > 0 && rest > 0 { // one byte more finds the end
				more = min(max(63*have, 64<<10), rest)
			}
			more = min(more, limit+1-have)
			if !take(more) {
				return buf, errMemory
			}
			small := buf
			buf = append(room(int(have+more)), small...)
			leaveRoom(small)
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return buf, errTooLarge
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return nil, err
		}
	}
}

// A Decoder undoes an HTTP content encoding. The proxy limits how much it reads from it.
type Decoder func(packed io.Reader) (io.ReadCloser, error)

func gunzip(packed io.Reader) (io.ReadCloser, error) { return gzip.NewReader(packed) }

var errEncoding = errors.New("no decoder for content encoding")

// decoder undoes the content encoding of a body. With errEncoding nothing was read.
func (o *Options) decoder(encoding string, body io.ReadCloser) (io.ReadCloser, error) {
	name := strings.ToLower(encoding)
	if name == "" || name == "identity" {
		return body, nil
	}
	decode, ok := o.Decoders[name]
	if !ok {
		have := strings.Join(slices.Sorted(maps.Keys(o.Decoders)), ", ")
		return nil, fmt.Errorf("%w %q (Options.Decoders has %s)", errEncoding, encoding, have)
	}
	r, err := decode(body)
	if err != nil {
		return nil, fmt.Errorf("decompress %s: %w", encoding, err)
	}
	return closers{r, body}, nil
}

// maxRatio is how many times as large as it came a request may become: text that people and
// programs write does not shrink to a hundredth.
const maxRatio = 100

// decompress undoes the content encoding of a request.
func (o *Options) decompress(encoding string, body []byte, take func(n int64) bool) ([]byte, error) {
	if encoding == "" {
		return body, nil
	}
	r, err := o.decoder(encoding, io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	plain, err := readAll(r, 0, min(o.MaxBody, maxRatio*int64(len(body))+1<<20), take)
	if err != nil {
		return nil, fmt.Errorf("decompress %s: %w", encoding, err)
	}
	return plain, nil
}

type closers struct {
	io.ReadCloser
	from io.Closer
}

func (c closers) Close() error { return errors.Join(c.ReadCloser.Close(), c.from.Close()) }

// plainReply undoes the content encoding of a reply that has to be read here.
func (o *Options) plainReply(resp *http.Response) error {
	r, err := o.decoder(resp.Header.Get("Content-Encoding"), resp.Body)
	if err != nil {
		return fmt.Errorf("read reply: %w", err)
	}
	if r != resp.Body {
		resp.Body, resp.ContentLength = r, -1
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
	}
	return nil
}

// packed reports whether a reply is in an encoding that cannot be undone here.
func (o *Options) packed(h http.Header) bool {
	_, err := o.decoder(h.Get("Content-Encoding"), http.NoBody)
	return errors.Is(err, errEncoding)
}

// setBody gives a reply a body that was made here.
func setBody(resp *http.Response, body []byte) {
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.Header.Set("Content-Length", fmt.Sprint(len(body)))
	resp.TransferEncoding = nil
}
