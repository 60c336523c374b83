package lineage

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Originals returns a request's new messages, with the rounds that the client did not see in answers that it
// puts at another place than they were given at, as after an edit or after its own summary. A provider
// may refuse thinking before anything else than what followed it.
func (a Archive) Originals(
	ctx context.Context, s Scope, req *protocol.Request, p *Place, own func(string) bool, size int,
) (news []transcript.Message, err error) {
	at := make(map[string]int) // by label
	for i := p.Client; i < len(req.Messages); {
		n := Answers(req.Messages[i:])
		told := i == p.Mark.Client && p.said == ""
		if by := Proof(req.Messages[i:i+n], own); by != "" && !told {
			at[s.AnswerLabel(transcript.Hash{}, by)] = i
		}
		i += max(n, 1)
	}
	if len(at) == 0 {
		return req.Messages[p.Client:], nil
	}
	found, err := a.Store.Find(ctx, s.Tenant, store.EntryPrefix, slices.Collect(maps.Keys(at))...)
	if err != nil {
		return nil, fmt.Errorf("find answers: %w", err)
	}
	slices.SortFunc(found, func(a, b store.Found) int { return at[a.Entry.Label] - at[b.Entry.Label] })
	next := p.Client
	for _, f := range found {
		i := at[f.Entry.Label]
		was := a.original(ctx, f, req)
		news = append(news, req.Messages[next:i]...)
		if next = i; len(was) > 0 {
			n, from := Answers(req.Messages[i:]), size+len(news)
			p.Aliases = append(p.Aliases, alias{i, n, from, from + len(was)})
			news, next = append(news, was...), i+n
		}
	}
	return append(news, req.Messages[next:]...), nil
}

// original reads an answer with hidden rounds, nil if it is gone.
func (a Archive) original(ctx context.Context, f store.Found, req *protocol.Request) (list []transcript.Message) {
	var m Mark
	if json.Unmarshal(f.Entry.Data, &m) != nil || m.Reply == nil {
		return nil
	}
	s, err := a.Open(ctx, f.Key, req)
	if err != nil {
		return nil
	}
	defer s.Close()
	for i := m.Reply.From; i < m.Reply.To; i++ {
		one, err := s.Message(ctx, i)
		if err != nil {
			return nil
		}
		list = append(list, one)
	}
	return list
}
