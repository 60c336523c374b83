package pleat

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
)

// lock is a channel-based mutex: waiters honour their context.
type lock struct {
	held    chan struct{}          // of capacity 1
	lending atomic.Pointer[string] // the goroutine that runs the program's code under the lock; nil: none
}

func (l *lock) Lock() { _ = l.wait(context.Background()) }

func (l *lock) Unlock() { <-l.held }

// wait takes the lock, unless the context ends while another call has it.
func (l *lock) wait(ctx context.Context) error {
	select {
	case l.held <- struct{}{}: // free: the caller checks its context where it uses it
		return nil
	default:
	}
	if g := l.lending.Load(); g != nil && *g == goroutine() {
		panic("Observe or a hook calls its session, which waits for it: do that when the call that led here is over")
	}
	select {
	case l.held <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lend runs the program's code under the lock, and makes its calls of the session panic instead of
// waiting for themselves.
func (l *lock) lend(call func()) {
	g := goroutine()
	l.lending.Store(&g)
	defer l.lending.Store(nil)
	call()
}

// goroutine names the goroutine that calls it, as stacks do.
func goroutine() string {
	buf := make([]byte, 64)
	name, _, _ := strings.Cut(string(buf[:runtime.Stack(buf, false)]), " [")
	return name
}

// wait takes the session's lock, unless the context ends while another call has it.
func (s *Session) wait(ctx context.Context) error {
	if err := s.mu.wait(ctx); err != nil {
		return fmt.Errorf("wait for other calls of session %s: %w", s.Key(), err)
	}
	return nil
}

// locked calls f with the session's lock.
func (s *Session) locked(ctx context.Context, f func() error) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	return f()
}

// within returns what f returns, called with the session's lock. To an error of f it adds what was being done.
func within[T any](ctx context.Context, s *Session, doing string, f func() (T, error)) (v T, err error) {
	err = s.locked(ctx, func() (err error) {
		if v, err = f(); err != nil {
			v, err = *new(T), fmt.Errorf("%s session %s: %w", doing, s.Key(), err)
		}
		return err
	})
	return v, err
}

// held returns what f returns, called with the session's lock.
func held[T any](s *Session, f func() T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f()
}
