//go:build unix

package term

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
)

// The end of the context ends a command that writes to a pipe which nobody opens, or nobody reads.
func TestWriteToPipeEnds(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	difftest.Must(t, syscall.Mkfifo(pipe, 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&Console{}).WriteTo(ctx, pipe, hello); !errors.Is(err, context.Canceled) {
		t.Errorf("not opened: %v", err)
	}
	reader, err := syscall.Open(pipe, syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
	difftest.Must(t, err)
	defer syscall.Close(reader)
	ctx, cancel = context.WithCancel(t.Context())
	err = WriteNewFile(ctx, pipe, true, func(w io.Writer) error {
		cancel()
		for { // it is full soon
			if _, err := w.Write(make([]byte, 16<<10)); err != nil {
				return err
			}
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("not read: %v", err)
	}
}
