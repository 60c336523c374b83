package proxy

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
)

var tokensIn = regexp.MustCompile(`"(input_tokens|prompt_tokens|promptTokenCount)":([0-9]+)`)

// counting is a provider that counts more tokens than we do, now and then.
type counting struct {
	to http.Handler
	n  int
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := httptest.NewRecorder()
	c.to.ServeHTTP(rec, r)
	factor := 10
	if c.n++; c.n%7 < 2 {
		factor = 22
	}
	w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
	w.WriteHeader(rec.Code)
	_, _ = w.Write(tokensIn.ReplaceAllFunc(rec.Body.Bytes(), func(m []byte) []byte {
		part := tokensIn.FindSubmatch(m)
		n, _ := strconv.Atoi(string(part[2]))
		return fmt.Appendf(nil, `"%s":%d`, part[1], n*factor/10)
	}))
}

// A request that comes again goes out as before, whatever its answer taught about the
// provider's count, and however long the client waited.
func TestSameRequestAgain(t *testing.T) {
	eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
		up := &capture{to: &counting{to: upstreamtest.New(upstreamtest.Options{Calls: 30, Bytes: 3_000})}}
		began, waited := time.Now(), new(atomic.Int64)
		clock := func() time.Time { return began.Add(time.Duration(waited.Load())) }
		a := newAgent(on, start(t, up, Options{Window: window, Now: clock}), "Do all the steps.")
		a.streams = streams
		for turn := 0; ; turn++ {
			before := len(up.all())
			b := *a
			b.ask(t)
			waited.Add(int64(time.Hour))
			more, err := a.step()
			must(t, err)
			waited.Add(int64(time.Second))
			if list := up.all(); !bytes.Equal(list[before], list[before+1]) {
				t.Errorf("turn %d: %d bytes, and then %d", turn, len(list[before]), len(list[before+1]))
			}
			if !more {
				return
			}
		}
	})
}
