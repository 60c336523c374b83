package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// originals returns a request's new messages, with the rounds that the client did not see in answers that it
// puts at another place than they were given at, as after an edit or behind its own summary. A provider
// may refuse thinking before anything else than what followed it.
func (a archive) originals(
	ctx context.Context, s scope, req *request, p *place, own func(string) bool, size int,
) (news []transcript.Message, err error) {
	at := make(map[string]int) // by label
	for i := p.client; i < len(req.messages); {
		n := answers(req.messages[i:])
		told := i == p.mark.Client && p.said == ""
		if by := proof(req.messages[i:i+n], own); by != "" && !told {
			at[s.answerLabel(transcript.Hash{}, by)] = i
		}
		i += max(n, 1)
	}
	if len(at) == 0 {
		return req.messages[p.client:], nil
	}
	found, err := a.store.Find(ctx, s.tenant, store.EntryPrefix, slices.Collect(maps.Keys(at))...)
	if err != nil {
		return nil, fmt.Errorf("find answers: %w", err)
	}
	slices.SortFunc(found, func(a, b store.Found) int { return at[a.Entry.Label] - at[b.Entry.Label] })
	next := p.client
	for _, f := range found {
		i := at[f.Entry.Label]
		was := a.original(ctx, f, req)
		news = append(news, req.messages[next:i]...)
		if next = i; len(was) > 0 {
			n, from := answers(req.messages[i:]), size+len(news)
			p.aliases = append(p.aliases, alias{i, n, from, from + len(was)})
			news, next = append(news, was...), i+n
		}
	}
	return append(news, req.messages[next:]...), nil
}

// original reads an answer with hidden rounds; nil: it is gone.
func (a archive) original(ctx context.Context, f store.Found, req *request) (list []transcript.Message) {
	var m mark
	if json.Unmarshal(f.Entry.Data, &m) != nil || m.Reply == nil {
		return nil
	}
	s, err := a.open(ctx, f.Key, req)
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
