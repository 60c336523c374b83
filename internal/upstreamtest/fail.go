package upstreamtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// silence is how long the server says nothing before it is gone.
const silence = 3 * time.Second

// statusOf is the status of a reply that fails in some way. 0: there is none, or the rest of
// it is missing.
func statusOf(fail string) int {
	switch fail {
	case "", "stream":
		return http.StatusOK
	case "unbound":
		return http.StatusBadRequest
	}
	status, _ := strconv.Atoi(fail)
	return status
}

// keepSilent says nothing for a while, and is gone.
func keepSilent(r *http.Request) {
	timer := time.NewTimer(silence)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
	panic(http.ErrAbortHandler)
}

// cutting breaks a reply off: behind the event that has a text, or in the middle of it.
type cutting struct {
	http.ResponseWriter
	text   string
	stream bool
}

func (c *cutting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *cutting) Write(b []byte) (int, error) {
	i := bytes.Index(b, []byte(c.text))
	if i < 0 {
		return c.ResponseWriter.Write(b)
	}
	if !c.stream {
		b = b[:i+len(c.text)/2]
	}
	_, _ = c.ResponseWriter.Write(b) // the client is gone: nobody is left to tell
	_ = http.NewResponseController(c.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

// otherPaths are those that a proxy passes on untouched.
var otherPaths = []string{"/v1/embeddings", "/v1/files", "/v1/messages/batches"}

// answerUnread answers before the request is read, as fast servers do.
func (s *Server) answerUnread(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.log = append(s.log, Exchange{Wire: r.URL.Path, Side: true, Status: http.StatusOK})
	s.mu.Unlock()
	_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/1 can
	w.Header().Set("Content-Type", "application/json")
	text, _ := json.Marshal(object{"id": "other", "data": []object{{"embedding": make([]float64, 200)}}})
	_, _ = w.Write(text[:10])
	_ = http.NewResponseController(w).Flush()
	_, _ = io.Copy(io.Discard, r.Body)
	_, _ = w.Write(text[10:])
}

// packing compresses with Brotli, in the format's simplest way: as it is.
type packing struct {
	http.ResponseWriter
	begun bool
}

func pack(w http.ResponseWriter) *packing {
	w.Header().Set("Content-Encoding", "br")
	return &packing{ResponseWriter: w}
}

func (p *packing) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *packing) Write(b []byte) (int, error) {
	for part := range slices.Chunk(b, 1<<16) {
		head := uint32(len(part)-1)<<3 | 1<<19 // not the last block, its length in 16 bits, stored
		if !p.begun {
			head <<= 1 // behind the bit for a window of 64 KB
			p.begun = true
		}
		block := append([]byte{byte(head), byte(head >> 8), byte(head >> 16)}, part...)
		if _, err := p.ResponseWriter.Write(block); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// end writes the empty last block.
func (p *packing) end() { _, _ = p.ResponseWriter.Write([]byte{3}) }
