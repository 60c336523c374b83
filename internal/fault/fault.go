// Package fault says whose fault an error is, where that decides what is done about it.
package fault

import (
	"fmt"
	"runtime/debug"
)

// Lever is the error of a lever that failed. Levers may be another program's.
type Lever struct {
	Name     string
	Panicked bool // then trying again gives the same
	Err      error
}

// Error names the lever. Where it panicked stands behind the first line.
func (e *Lever) Error() string {
	if e.Panicked {
		return fmt.Sprintf("lever %q panicked: %v", e.Name, e.Err)
	}
	return fmt.Sprintf("lever %q: %v", e.Name, e.Err)
}

// Unwrap returns what the lever said.
func (e *Lever) Unwrap() error { return e.Err }

// Of calls a method of a lever. Its error, or its panic, becomes a *Lever.
func Of(l interface{ Name() string }, call func() error) (err error) {
	name := l.Name()
	defer func() {
		if r := recover(); r != nil {
			err = &Lever{name, true, fmt.Errorf("%v\n\n%s", r, debug.Stack())}
		}
	}()
	if err := call(); err != nil {
		return &Lever{name, false, err}
	}
	return nil
}
