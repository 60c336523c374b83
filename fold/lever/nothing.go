package lever

import (
	"context"

	"github.com/pleat-dev/pleat/fold"
)

// Nothing folds nothing. It is for policies that want exactly that.
type Nothing struct{}

// Name returns "nothing".
func (Nothing) Name() string { return "nothing" }

// Pull does nothing.
func (Nothing) Pull(context.Context, *fold.Draft) error { return nil }
