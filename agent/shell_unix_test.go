//go:build unix

package agent

import (
	"bytes"
	"os"
	"testing"
	"time"
)

// What a command wrote is read, also by a reader that was too slow for the deadline.
func TestDrain(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close() // as by what left the group
	for _, want := range []string{string(bytes.Repeat([]byte("output\n"), 5_000)), ""} {
		if _, err := w.WriteString(want); err != nil {
			t.Fatal(err)
		}
		if err := r.SetReadDeadline(time.Now()); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if drain(&out, r); out.String() != want {
			t.Errorf("%d of %d bytes were read", out.Len(), len(want))
		}
	}
}
