package jsonspan

import (
	"errors"
	"fmt"
)

var (
	// ErrDepth reports containers nested deeper than [Limits].Depth.
	ErrDepth = errors.New("JSON nested too deep")
	// ErrSize reports a text longer than [Limits].Size.
	ErrSize = errors.New("JSON text too large")
	// ErrOrder reports a Cursor method called where it makes no sense, such
	// as NextKey inside an array. It is a mistake of the caller, not of the
	// text.
	ErrOrder = errors.New("cursor method called out of order")
)

// A SyntaxError reports a text that is not JSON.
type SyntaxError struct {
	Offset int    // of the first byte that cannot be
	Msg    string // what was expected there
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at offset %d: %s", e.Offset, e.Msg)
}

// A KindError reports a value of another kind than the caller asked for. The
// text may be perfectly valid JSON; it does not have the expected shape.
type KindError struct {
	Offset    int // of the value
	Want, Got Kind
}

func (e *KindError) Error() string {
	return fmt.Sprintf("JSON value at offset %d is %v, want %v", e.Offset, e.Got, e.Want)
}
