package proxy

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
)

// What another replica writes to the session while the model answers breaks no answer off,
// and no hidden round is lost: neither by a mark, nor by a conversation that goes on from
// the same request.
func TestConflictInHiddenRound(t *testing.T) {
	for name, say := range map[string]string{"mark": "", "message": "And be quick."} {
		t.Run(name, func(t *testing.T) {
			eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
				if say != "" && on != protocol.Messages {
					t.Skip("the same on every wire")
				}
				script := upstreamtest.Options{Calls: 15, Bytes: 12_000, Limit: window, RecallAt: 12}
				up := upstreamtest.New(script)
				st := store.NewMemory()
				var a, other *agent
				var h *Handler
				var busy atomic.Bool
				meddle := func() {
					if say == "" {
						key := h.Sessions()[0].Key
						last := uint64(0)
						for e, err := range st.Scan(t.Context(), key, 1) {
							if err != nil {
								t.Error(err)
							}
							last = e.Seq
						}
						if _, err := st.Append(t.Context(), key, last,
							store.Entry{Kind: store.EntryPrefix, Data: []byte(`{"recall":"tools"}`)}); err != nil {
							t.Error(err)
						}
						return
					}
					b := *other
					b.history = append(a.history[:len(a.history):len(a.history)], other.history[0])
					if _, err := b.send(); err != nil {
						t.Error(err)
					}
				}
				at := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if busy.CompareAndSwap(false, true) {
						// Else the request itself is lost.
						_ = h.rw.Written(t.Context())
						meddle()
						busy.Store(false)
					}
					up.ServeHTTP(w, r)
				}))
				reports := newReports()
				var url string
				h, url = handlerAt(t, at, Options{Window: window, Store: st, Report: reports.add})
				a = newAgent(on, url, "Do all the steps.")
				other = newAgent(on,
					startAt(t, serve(t, upstreamtest.New(script)), Options{Window: window, Store: st}), say)
				a.streams, other.streams = streams, streams
				a.run(t)
				wellBehaved(t, up.Log())
				hidden := 0
				for i, r := range reports.wait(len(a.bodies)) {
					hidden += r.Hidden
					if r.Err != nil {
						t.Errorf("turn %d: %v", i, r.Err)
					}
				}
				if hidden == 0 {
					t.Error("no round was hidden")
				}
			})
		})
	}
}
