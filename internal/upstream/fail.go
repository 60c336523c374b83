package upstream

import (
	"bytes"
	"net/http"
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
