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

// proof is what an answer is known by wherever a client puts it: what it says and its thinking, whose
// signature nobody else can have. Empty: it has no thinking, or there is nothing else in it.
func proof(list []transcript.Message, own func(name string) bool) string {
	for _, m := range list {
		for _, b := range m.Blocks().All() {
			if th, ok := b.(transcript.Thinking); ok && th.Signature != "" {
				return th.Signature + saidHash(list, own)
			}
		}
	}
	return ""
}

// originals returns a request's new messages, with the rounds that the client did not see in answers that it
// puts at another place than they were given at, as after an edit or behind its own summary. A provider
// may refuse thinking before anything else than what followed it.
func (rw *rewriter) originals(
	ctx context.Context, c *conversation, req *request, p *position, s scope,
) (news []transcript.Message, err error) {
	at := make(map[string]int) // by label
	for i := p.client; i < len(req.messages); {
		n := answers(req.messages[i:])
		told := i == p.mark.Client && p.said == ""
		if by := proof(req.messages[i:i+n], c.mode.own); by != "" && !told {
			at[s.answerLabel(transcript.Hash{}, by)] = i
		}
		i += max(n, 1)
	}
	if len(at) == 0 {
		return req.messages[p.client:], nil
	}
	found, err := rw.o.Store.Find(ctx, s.tenant, store.EntryPrefix, slices.Collect(maps.Keys(at))...)
	if err != nil {
		return nil, fmt.Errorf("find answers: %w", err)
	}
	slices.SortFunc(found, func(a, b store.Found) int { return at[a.Entry.Label] - at[b.Entry.Label] })
	next := p.client
	for _, f := range found {
		i := at[f.Entry.Label]
		was := rw.original(ctx, f, req)
		news = append(news, req.messages[next:i]...)
		if next = i; len(was) > 0 {
			n, from := answers(req.messages[i:]), c.sess.Len()+len(news)
			p.aliases = append(p.aliases, alias{i, n, from, from + len(was)})
			news, next = append(news, was...), i+n
		}
	}
	return append(news, req.messages[next:]...), nil
}

// original reads an answer with hidden rounds; nil: it is gone.
func (rw *rewriter) original(ctx context.Context, f store.Found, req *request) (list []transcript.Message) {
	var m mark
	if json.Unmarshal(f.Entry.Data, &m) != nil || m.Reply == nil {
		return nil
	}
	s, err := rw.reopen(ctx, f.Key, req, "")
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
