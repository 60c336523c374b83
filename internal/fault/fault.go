// Package fault says whose fault an error is, where that decides what is done about it.
package fault

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Panic is what code of another program panicked with.
type Panic struct {
	Value any
	Stack []byte
}

// Error says in its first line with what, and behind it where.
func (p *Panic) Error() string { return fmt.Sprintf("panicked: %v\n\n%s", p.Value, p.Stack) }

// Caught calls what may be another program's code. A panic becomes a [*Panic].
func Caught(call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Panic{r, debug.Stack()}
		}
	}()
	return call()
}

// Options is the error of options that a program gave: trying again gives the same.
type Options struct{ Err error }

// Error says what is wrong with them.
func (e *Options) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong with them.
func (e *Options) Unwrap() error { return e.Err }

// Lever is the error of a lever that failed. Levers may be another program's.
type Lever struct {
	Name     string
	Panicked bool // then trying again gives the same
	Err      error
}

// Error names the lever. Where it panicked stands behind the first line.
func (e *Lever) Error() string {
	if e.Panicked {
		return fmt.Sprintf("lever %q %v", e.Name, e.Err)
	}
	return fmt.Sprintf("lever %q: %v", e.Name, e.Err)
}

// Unwrap returns what the lever said.
func (e *Lever) Unwrap() error { return e.Err }

// Of calls a method of a lever. Its error, or its panic, becomes a *Lever.
func Of(l interface{ Name() string }, call func() error) error {
	name := l.Name()
	if err := Caught(call); err != nil {
		return &Lever{name, errors.As(err, new(*Panic)), err}
	}
	return nil
}
