package pleat

import (
	"context"
	"fmt"
)

// lock is a mutex, of capacity 1, that one can stop waiting for.
type lock chan struct{}

func (l lock) Lock()   { l <- struct{}{} }
func (l lock) Unlock() { <-l }

// wait takes the session's lock, unless the context ends while another call has it.
func (s *Session) wait(ctx context.Context) error {
	select {
	case s.mu <- struct{}{}: // free: whether the context has ended is for those to say who use it
		return nil
	default:
	}
	select {
	case s.mu <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for other calls of session %s: %w", s.key, ctx.Err())
	}
}
