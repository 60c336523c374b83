package upstreamtest

import (
	"crypto/sha256"
	"slices"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	form "github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
)

// Bill is what the server has charged. It is made by arithmetic of its own, from what the
// server has said in its replies.
type Bill struct {
	Requests int
	model.Usage
	USD float64
}

// Bill returns the bill so far.
func (s *Server) Bill() Bill {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, p := s.bill, s.o.Price
	b.USD = (float64(b.Input)*p.Input + float64(b.CacheRead)*p.CacheRead + float64(b.CacheWrite)*p.CacheWrite +
		float64(b.Output)*p.Output) / 1_000_000
	return b
}

// charge puts an answer on the bill, and divides its prompt into what the cache had and what
// it has from now on. The caller holds the lock.
func (s *Server) charge(a *answer, req *request) {
	have, all := s.cached(req)
	read := a.prompt * have / all
	switch {
	case s.o.Price.CacheRead == 0:
		a.input = a.prompt
	case s.o.Price.CacheWrite > 0:
		a.read, a.written = read, a.prompt-read
	default:
		a.read, a.input = read, a.prompt-read
	}
	s.bill.Requests++
	s.bill.Input += a.input
	s.bill.CacheRead += a.read
	s.bill.CacheWrite += a.written
	s.bill.Output += output(*a)
}

// cached remembers a prompt and returns how many bytes of it begin an earlier one: its
// tools, its system prompt and then its messages, each whole.
func (s *Server) cached(req *request) (have, all int) {
	var parts []string
	for _, t := range req.tools {
		parts = append(parts, t.Raw)
	}
	parts = append(parts, string(jsonspan.Value(req.body).Get("system")))
	for _, m := range req.messages {
		parts = append(parts, string(form.AppendNormal(nil, []byte(m.Raw()))))
	}
	var sum [32]byte
	all = 1
	for _, p := range parts {
		sum = sha256.Sum256(append(slices.Clone(sum[:]), p...))
		all += len(p)
		if s.seen[sum] {
			have = all
		}
		s.seen[sum] = true
	}
	return have, all
}
