package dash

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/store"
)

// A dashboard that is closed while it adds sessions up has nothing to warn of.
func TestCloseIsQuiet(t *testing.T) {
	var told bytes.Buffer
	st := store.NewMemory()
	lib := library.New(library.Options{Store: st})
	defer lib.Close()
	h, err := New(Options{Library: lib, Store: st, Logger: slog.New(slog.NewTextHandler(&told, nil))})
	must(t, err)
	must(t, h.Close())
	h.adding = make(chan struct{})
	h.makeSums()
	if told.Len() > 0 || h.adding != nil {
		t.Errorf("it says %s", told.String())
	}
}
