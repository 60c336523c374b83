package main

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
)

// newUpstream makes a model server that reads what Codex packs.
func newUpstream(o upstreamtest.Options) *upstreamtest.Server {
	o.Decoders = map[string]func(io.Reader) (io.ReadCloser, error){"zstd": unzstd}
	return upstreamtest.New(o)
}

// TestClientsDirect drives the real clients without a proxy: what they do by themselves.
func TestClientsDirect(t *testing.T) {
	dir := clientsFolder(t, false)
	for _, c := range upstreamtest.Clients {
		if !c.Whole || testing.Short() && !steady(c) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if !c.Installed(dir) {
				t.Skipf("%s is not installed in the folder", c.Name)
			}
			s := newUpstream(upstreamtest.Options{Calls: 3})
			server := httptest.NewServer(s)
			defer server.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			out, err := c.Run(ctx, upstreamtest.Drive{
				Dir: dir, Home: t.TempDir(), Base: server.URL, Window: 100_000,
				Prompt: "Work through the steps.",
			})
			if err != nil || !strings.Contains(out, "All 3 steps are done") {
				t.Errorf("%v: %q", err, out) // on one line, as .ci/clients shows only those
			}
			for i, x := range s.Log() {
				if len(x.Violations) > 0 || x.Status != 200 {
					t.Errorf("request %d: %+v", i, x)
				}
			}
		})
	}
}
