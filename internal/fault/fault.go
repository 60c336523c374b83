// Package fault says whose fault an error is, where that decides what is done about it.
package fault

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
)

// Panic is what code of another program panicked with.
type Panic struct {
	Value any
	calls []string // the places, the innermost first
	stack []byte
}

// Error says with what, and where.
func (p *Panic) Error() string {
	return fmt.Sprintf("panicked: %v (%s)", p.Value, strings.Join(p.calls, ", "))
}

// Stack is the whole stack at the panic, as [debug.Stack] formats it.
func (p *Panic) Stack() []byte { return p.stack }

// Log is what a log says of an error: also where a panic came from.
func Log(err error) []any {
	if p := (*Panic)(nil); errors.As(err, &p) {
		return []any{"err", err, "stack", string(p.stack)}
	}
	return []any{"err", err}
}

// Caught calls what may be another program's code. A panic becomes a [*Panic].
func Caught(call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Panic{r, calls(), debug.Stack()}
		}
	}()
	return call()
}

// mostCalls is how many places a panic names.
const mostCalls = 4

// calls lists the places where code panicked, the innermost first.
func calls() (list []string) {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)]) // not this one and its caller
	for len(list) < mostCalls {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") {
			list = append(list, fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line))
		}
		if !more {
			break
		}
	}
	return list
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

// Error names the lever.
func (e *Lever) Error() string {
	if e.Panicked {
		return fmt.Sprintf("lever %q %v", e.Name, e.Err)
	}
	return fmt.Sprintf("lever %q: %v", e.Name, e.Err)
}

// Unwrap returns what the lever said.
func (e *Lever) Unwrap() error { return e.Err }

// Hook is the error of a hook that a program gave.
type Hook struct{ Err error }

// Error says what the hook said.
func (e *Hook) Error() string { return fmt.Sprintf("hook before epoch: %v", e.Err) }

// Unwrap returns what the hook said.
func (e *Hook) Unwrap() error { return e.Err }

// Of calls a method of a lever. Its error, or its panic, becomes a *Lever.
func Of(l interface{ Name() string }, call func() error) error {
	name := ""
	err := Caught(func() error { name = l.Name(); return call() })
	if err == nil {
		return nil
	}
	if name == "" { // it may be that which panicked
		name = fmt.Sprintf("%T", l)
	}
	return &Lever{name, errors.As(err, new(*Panic)), err}
}

// IsNil reports whether what a program gave is nil, or a pointer or a function that is.
func IsNil(v any) bool {
	r := reflect.ValueOf(v)
	return v == nil || (r.Kind() == reflect.Pointer || r.Kind() == reflect.Func) && r.IsNil()
}
