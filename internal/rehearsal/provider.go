package rehearsal

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/model"
)

// Troubles are what a provider does that a program must be able to live with.
type Troubles struct {
	Limit int // a request of more tokens is refused as too long; 0: none is
	Mute  int // so many refusals say nothing about sizes
	Deny  int // so many requests for a digest are denied: the key is not valid
	Break int // so many answers with a digest break off
}

// Provider is the made-up server behind the rehearsal's model.
type Provider struct {
	Troubles

	mu  sync.Mutex
	saw Seen
}

// Seen is what a provider did.
type Seen struct {
	Refused int // requests that were too long
	Mute    int // those of them that were not told why
	Denied  int // requests for digests
	Broken  int // digests
	Digests int // that were written
	Passed  time.Duration
}

// Seen returns what the provider did so far.
func (p *Provider) Seen() Seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.saw
}

// Now is the time by the provider's clock.
func (p *Provider) Now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Add(p.saw.Passed)
}

// pass lets time go by.
func (p *Provider) pass(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.saw.Passed += d
}

// takes returns the error with which a request of so many tokens is refused; nil: it is answered.
func (p *Provider) takes(tokens int, digest bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.Limit > 0 && tokens > p.Limit:
		if p.saw.Refused++; p.saw.Refused <= p.Mute {
			p.saw.Mute++
			return &model.APIError{Kind: model.ErrorTooLong, Status: 413, Message: "prompt_too_long"}
		}
		return &model.APIError{
			Kind: model.ErrorTooLong, Status: 400, Used: tokens, Limit: p.Limit,
			Message: fmt.Sprintf("prompt is too long: %d tokens > %d maximum", tokens, p.Limit),
		}
	case digest && p.saw.Denied < p.Deny:
		p.saw.Denied++
		return &model.APIError{Kind: model.ErrorAuth, Status: 401, Message: "the key is not valid"}
	case digest && p.saw.Broken < p.Break:
		p.saw.Broken++
		return fmt.Errorf("the stream broke off: %w", io.ErrUnexpectedEOF)
	case digest:
		p.saw.Digests++
	}
	return nil
}
