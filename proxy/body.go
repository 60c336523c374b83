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

// A Decoder reads what an HTTP content encoding packed. The proxy limits how much it reads.
type Decoder func(packed io.Reader) (io.ReadCloser, error)

func gunzip(packed io.Reader) (io.ReadCloser, error) { return gzip.NewReader(packed) }

// errEncoding: there is no decoder for a content encoding.
var errEncoding = errors.New("no decoder for content encoding")

// decoder reads a body in a content encoding. With errEncoding nothing was read of it.
func (o *Options) decoder(encoding string, body io.ReadCloser) (io.ReadCloser, error) {
	name := strings.ToLower(encoding)
	if name == "" || name == "identity" {
		return body, nil
	}
	decode, ok := o.Decoders[name]
	if !ok {
		return nil, fmt.Errorf("%w %q (Options.Decoders has %s)", errEncoding, encoding, strings.Join(slices.Sorted(maps.Keys(o.Decoders)), ", "))
	}
	r, err := decode(body)
	if err != nil {
		return nil, fmt.Errorf("decompress %s: %w", encoding, err)
	}
	return closers{r, body}, nil
}

// decompress undoes the content encoding of a request.
func (o *Options) decompress(encoding string, body []byte) ([]byte, error) {
	if encoding == "" {
		return body, nil
	}
	r, err := o.decoder(encoding, io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	plain, err := readAll(r, int64(len(body))*4, o.MaxBody)
	if err != nil {
		return nil, fmt.Errorf("decompress %s: %w", encoding, err)
	}
	return plain, nil
}

// closers closes a reader and what it reads from.
type closers struct {
	io.ReadCloser
	from io.Closer
}

func (c closers) Close() error { return errors.Join(c.ReadCloser.Close(), c.from.Close()) }

// plainReply undoes the content encoding of a reply that has to be read here.
func (o *Options) plainReply(resp *http.Response) error {
	encoding := resp.Header.Get("Content-Encoding")
	r, err := o.decoder(encoding, resp.Body)
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

// setBody gives a reply a body that was made here.
func setBody(resp *http.Response, body []byte) {
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.Header.Set("Content-Length", fmt.Sprint(len(body)))
	resp.TransferEncoding = nil
}
