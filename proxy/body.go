package proxy

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// errTooLarge: a request's body is larger than Options.MaxBody.
var errTooLarge = errors.New("the request is larger than the proxy takes")

// readAll reads at most limit bytes. size is what to expect, if it is known.
func readAll(r io.Reader, size, limit int64) ([]byte, error) {
	var buf bytes.Buffer
	if size > 0 && size <= limit {
		buf.Grow(int(min(size, 16<<20)) + bytes.MinRead) // a promise is not believed beyond that
	}
	n, err := buf.ReadFrom(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, errTooLarge
	}
	return buf.Bytes(), nil
}

// decompress undoes a content encoding. ok is false if it is not one we know.
func decompress(encoding string, body []byte, limit int64) (plain []byte, ok bool, err error) {
	if encoding == "" || encoding == "identity" {
		return body, true, nil
	}
	r, err := decoder(encoding, io.NopCloser(bytes.NewReader(body)))
	if r == nil {
		return nil, false, err
	}
	defer r.Close()
	plain, err = readAll(r, int64(len(body))*4, limit)
	if err != nil {
		return nil, true, fmt.Errorf("decompress %s: %w", encoding, err)
	}
	return plain, true, nil
}

// decoder reads a compressed body; nil if the encoding is not one we know.
func decoder(encoding string, body io.ReadCloser) (io.ReadCloser, error) {
	switch strings.ToLower(encoding) {
	case "gzip", "x-gzip":
		r, err := gzip.NewReader(body)
		if err != nil {
			return nil, fmt.Errorf("decompress gzip: %w", err)
		}
		return closers{r, body}, nil
	case "zstd":
		r, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
		if err != nil {
			return nil, fmt.Errorf("decompress zstd: %w", err)
		}
		return closers{r.IOReadCloser(), body}, nil
	}
	return nil, nil
}

// closers closes a reader and what it reads from.
type closers struct {
	io.ReadCloser
	from io.Closer
}

func (c closers) Close() error { return errors.Join(c.ReadCloser.Close(), c.from.Close()) }

// plainReply undoes the content encoding of a reply that has to be read here.
func plainReply(resp *http.Response) error {
	encoding := resp.Header.Get("Content-Encoding")
	if encoding == "" || encoding == "identity" {
		return nil
	}
	r, err := decoder(encoding, resp.Body)
	if err != nil {
		return err
	}
	if r == nil {
		return fmt.Errorf("read reply: content encoding %q is not known", encoding)
	}
	resp.Body, resp.ContentLength = r, -1
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	return nil
}

// setBody gives a reply a body that was made here.
func setBody(resp *http.Response, body []byte) {
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.Header.Set("Content-Length", fmt.Sprint(len(body)))
	resp.TransferEncoding = nil
}
