package fold

import (
	"errors"
)

// ErrCannotFit: no legal view fits the budget. The error is a *CannotFitError.
var ErrCannotFit = errors.New("nothing that may be sent fits")
