package exchange

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/store"
)

// What cannot be written is no matter of waiting, and clients are told what is.
func TestReason(t *testing.T) {
	for err, want := range map[error]string{
		store.ErrReadOnly: "start the proxy again", store.ErrFull: "free space", store.ErrCorrupt: "pleat store verify",
		errors.New("timeout"): "try again later",
	} {
		passes := err != store.ErrReadOnly && err != store.ErrCorrupt
		if why, again := reason(fmt.Errorf("append: %w", err)); !strings.Contains(why, want) || again != passes {
			t.Errorf("%v: %q, %t", err, why, again)
		}
	}
}
