//go:build unix

package agent

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/difftest"
)

// What a command wrote is read, also by a reader that was too slow for the deadline.
func TestDrain(t *testing.T) {
	r, w, err := os.Pipe()
	difftest.Must(t, err)
	defer r.Close()
	defer w.Close() // as by what left the group
	for _, want := range []string{string(bytes.Repeat([]byte("output\n"), 5_000)), ""} {
		if _, err := w.WriteString(want); err != nil {
			t.Fatal(err)
		}
		difftest.Must(t, r.SetReadDeadline(time.Now()))
		var out bytes.Buffer
		if drain(&out, r); out.String() != want {
			t.Errorf("%d of %d bytes were read", out.Len(), len(want))
		}
	}
}
