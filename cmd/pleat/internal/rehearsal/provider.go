package rehearsal

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
)

// Troubles are what a provider does that a program must be able to live with.
type Troubles struct {
	Limit int // a request of more tokens is refused as too long; 0: none is
	Again int // so many requests that follow a refused one are refused too, whatever their size
	Mute  int // so many refusals say nothing about sizes
	Short int // so many requests for a digest are refused as too long
	Deny  int // so many requests for a digest are denied: the key is not valid
	Break int // so many answers with a digest break off
	// Behind is how far its clock is behind at first, where time goes by: no session is from tomorrow.
	Behind time.Duration
}

// Provider is the made-up server behind the rehearsal's model.
type Provider struct {
	Troubles

	mu     sync.Mutex
	saw    Seen
	before []string // the messages of the newest request, which its cache has
}

// Seen is what a provider did.
type Seen struct {
	Refused int // requests that were too long
	Mute    int // those of them that were not told why
	Short   int // requests for digests that were too long
	Denied  int // requests for digests
	Broken  int // digests
	Digests int // that were written
	Asked   []Asked
	Passed  time.Duration
}

// Asked is a request for a digest.
type Asked struct {
	Chars     int // of what is to be summarized, with the words around it
	MaxTokens int
	ZeroTemp  bool
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
	return time.Now().Add(p.saw.Passed - p.Behind)
}

func (p *Provider) pass(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.saw.Passed += d
	p.before = nil // the cache is cold
}

// cached returns how many tokens of a request its cache has: those of the messages with which the
// one before it began, too.
func (p *Provider) cached(req model.Request, count *tokens.Tokenizer) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var now []string
	same := 0
	for i, m := range req.Messages {
		data, _ := json.Marshal(m) // what was read can be written
		now = append(now, string(data))
		if same == i && i < len(p.before) && p.before[i] == now[i] {
			same++
		}
	}
	p.before = now
	if req.Messages = req.Messages[:same]; same == 0 {
		return 0
	}
	return count.CountRequest(req)
}

// takes returns the error with which a request of so many tokens is refused; nil: it is answered.
func (p *Provider) takes(tokens int, digest *model.Request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.saw
	if digest != nil {
		s.Asked = append(s.Asked, asked(digest))
	}
	switch {
	case p.Limit > 0 && tokens > p.Limit, digest == nil && s.Refused > 0 && s.Refused <= p.Again:
		if s.Refused++; s.Refused <= p.Mute {
			s.Mute++
			return &model.APIError{Kind: model.ErrorTooLong, Status: 413, Message: "prompt_too_long"}
		}
		return &model.APIError{
			Kind: model.ErrorTooLong, Status: 400, Used: tokens, Limit: p.Limit,
			Message: fmt.Sprintf("prompt is too long: %d tokens > %d maximum", tokens, p.Limit),
		}
	case digest == nil:
	case s.Short < p.Short:
		s.Short++
		return &model.APIError{Kind: model.ErrorTooLong, Status: 413, Message: "prompt_too_long"}
	case s.Denied < p.Deny:
		s.Denied++
		return &model.APIError{Kind: model.ErrorAuth, Status: 401, Message: "the key is not valid"}
	case s.Broken < p.Break:
		s.Broken++
		return fmt.Errorf("the stream broke off: %w", io.ErrUnexpectedEOF)
	default:
		s.Digests++
	}
	return nil
}

func asked(r *model.Request) Asked {
	a := Asked{MaxTokens: r.MaxTokens, ZeroTemp: r.Temperature != nil && *r.Temperature == 0}
	for _, m := range r.Messages {
		a.Chars += utf8.RuneCountInString(m.Text())
	}
	return a
}
