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

var errTooLarge = errors.New("the request is larger than the proxy takes")

// readAll reads at most limit bytes. size is how many to expect, if that is known.
func readAll(r io.Reader, size, limit int64) ([]byte, error) {
	var buf bytes.Buffer
	if size > 0 && size <= limit {
		buf.Grow(int(min(size, 16<<20)) + bytes.MinRead) // anybody can announce a large size
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

// setBody gives a reply a body that was made here.
func setBody(resp *http.Response, body []byte) {
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.Header.Set("Content-Length", fmt.Sprint(len(body)))
	resp.TransferEncoding = nil
}
