// Package lineage says which session a request belongs to. A [Caller] is who sends it. A [Track] is what
// the marks of a session say; it finds the [Place] of a request in the session, or reports that the
// session went another way. An [Archive] finds stored sessions: by a prefix of the conversation, by an
// answer, or because a client has compacted them. The [Cache] saves decoding again what was sent before.
//
// Nothing here needs a server or opens a session. Programs that hand over their history use Session.Sync
// instead, which package match of the engine decides.
package lineage

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// ErrDiverged says that a session went another way than a request: the conversation needs
// another session.
var ErrDiverged = errors.New("the session went another way")

// Place is where a request stands in a session.
type Place struct {
	Mark    Mark             // the longest prefix that was a request
	Seq     uint64           // entry up to which they share all: the mark, or the newest answer with hidden rounds
	Client  int              // the client's messages before this one are in the transcript
	At      int              // and end here
	said    string           // hash of the client's next answer, if it is not known to be this session's
	Holder  store.SessionKey // another session, which has that answer with hidden rounds
	Aliases []Alias
	Open    bool      // the request came before, and its answer did not end
	Back    conv.Back //  what was said to the newest answer, and the request no longer has; At is without it
}

// sessionMessages are those of a session.
type sessionMessages interface {
	Len() int
	Message(ctx context.Context, i int) (transcript.Message, error)
}

// Find matches a request with the messages of the session. It returns ErrDiverged if the session
// has gone another way since the prefix they share. With resume, hidden rounds of an answer to the
// same request that did not end belong to it.
func (t *Track) Find(ctx context.Context, have sessionMessages, req *protocol.Request, resume bool) (Place, error) {
	p, err := t.follow(ctx, have, req, resume)
	if n := Answers(req.Messages[p.Client:]); n > 0 && p.Client == p.Mark.Client {
		said := SaidHash(req.Messages[p.Client:p.Client+n], t.Mode.Own)
		if p.At != t.Newest.At || said != t.Newest.Said {
			p.said = said
		}
	}
	return p, err
}

func (t *Track) follow(
	ctx context.Context, have sessionMessages, req *protocol.Request, resume bool,
) (p Place, err error) {
	for n := len(req.Prefixes); n > 0; n-- {
		if got, known := t.Requests[req.Prefixes[n-1]]; known && got.Client == n {
			p = Place{Mark: got, Seq: got.Seq, Client: n, At: got.At}
			break
		}
	}
	size := have.Len()
	end, cut := size, -1 // of the newest words, and the client's message that is one of the session cut
	for p.At < size {
		if r, hidden := t.replies[p.At]; hidden {
			back := p.Back.Count
			if back == 0 {
				end = p.At
			}
			rest := req.Messages[p.Client:]
			n := Answers(rest)
			if r.Open && len(rest) == 0 && resume {
				p.Aliases = append(p.Aliases, Alias{p.Client, 0, r.From, r.To})
				p.At, p.Open = r.To, true
				continue
			}
			if n == 0 || SaidHash(rest[:n], t.Mode.Own) != r.Said {
				return p, ErrDiverged
			}
			p.Aliases = append(p.Aliases, Alias{p.Client, n, r.From - back, r.To - back})
			p.Client, p.At, p.Seq = p.Client+n, r.To, r.seq
			continue
		}
		if p.Client == len(req.Messages) || p.Back.Count > 0 {
			return p, ErrDiverged
		}
		m, err := have.Message(ctx, p.At)
		if err != nil {
			return p, err
		}
		same, cleared := sameMessage(m, req, p.Client)
		_, short := conv.Cut(m, req.Messages[p.Client])
		if !same && !short {
			if p.Back.Count = t.loose(ctx, have, p.At); p.Back.Count == 0 || !IsAnswer(req.Messages[p.Client]) {
				return p, ErrDiverged
			}
			end, p.Back.From = p.At, p.At
			p.At += p.Back.Count
			continue
		}
		if end, cut = size, -1; short && !same {
			cut = p.Client
		} else if cleared {
			p.Aliases = append(p.Aliases, Alias{p.Client, 1, p.At, p.At + 1})
		}
		p.Client, p.At = p.Client+1, p.At+1
	}
	if p.At -= p.Back.Count; cut >= 0 && cut+1 < len(req.Messages) && IsAnswer(req.Messages[cut+1]) {
		p.Back.From, p.Back.Again = end, &req.Messages[cut]
	}
	return p, nil
}

// loose returns how many messages from one on are the newest words to the model's answer: it has said nothing since but
// what the client has not sent back.
func (t *Track) loose(ctx context.Context, have sessionMessages, from int) (n int) {
	for i := from; i < have.Len(); i++ {
		if _, hidden := t.replies[i]; hidden {
			break
		}
		m, err := have.Message(ctx, i)
		if err != nil || IsAnswer(m) || m.Blocks().Has(transcript.KindToolResult) {
			return 0
		}
		n++
	}
	return n
}

// sameMessage reports whether message i of a request is one of the session, and whether the client
// has cleared results in it.
func sameMessage(have transcript.Message, req *protocol.Request, i int) (same, cleared bool) {
	got := req.Messages[i]
	switch {
	case i < req.Leading() && have.Role() == got.Role(): // leading system messages count by their role
		return true, false
	case have.Raw() == got.Raw() || req.Protocol.Hash(transcript.StringBytes(have.Raw())) == req.Hashes[i]:
		return true, false
	}
	cleared = conv.Cleared(have, got)
	return cleared, cleared
}

// LastExchange is the newest request of a conversation and its answer.
type LastExchange struct {
	Client int                    // messages of the request
	At     int                    // length of the transcript then
	Said   string                 // hash of the answer, empty if it has not ended
	Own    func(name string) bool // of the tools, those of pleat
}

// LeadsTo reports whether a request follows at once on the answer: nothing else was answered
// since.
func (e LastExchange) LeadsTo(req *protocol.Request) bool {
	if e.Said == "" || e.Client > len(req.Messages) {
		return false
	}
	rest := req.Messages[e.Client:]
	n := Answers(rest)
	return SaidHash(rest[:n], e.Own) == e.Said && !slices.ContainsFunc(rest[n:], IsAnswer)
}

func IsAnswer(m transcript.Message) bool { return m.Role() == transcript.RoleAssistant }

// Answers returns how many messages at the start of a list are answers.
func Answers(list []transcript.Message) int {
	if i := slices.IndexFunc(list, func(m transcript.Message) bool { return !IsAnswer(m) }); i >= 0 {
		return i
	}
	return len(list)
}

// LastAnswer returns how many messages of a list come before what follows its last answer.
func LastAnswer(list []transcript.Message) int {
	for i, m := range slices.Backward(list) {
		if IsAnswer(m) {
			return i + 1
		}
	}
	return 0
}

// Answered reports whether a request has an answer of the model in it, so that it is not
// the first of its conversation.
func Answered(req *protocol.Request) bool { return slices.ContainsFunc(req.Messages, IsAnswer) }

// SaidHash is the hash of what an answer says, whatever form its client gives it: its text
// without space, and its calls, without ours.
func SaidHash(list []transcript.Message, own func(name string) bool) string {
	sum := sha256.New()
	space := func(r rune) bool { return r <= ' ' || r == '\u00a0' }
	for _, m := range list {
		if m.Role() != transcript.RoleAssistant {
			continue
		}
		for _, b := range m.Blocks().All() {
			switch b := b.(type) {
			case transcript.Text:
				for word := range strings.FieldsFuncSeq(b.Text.String(), space) {
					_, _ = sum.Write(transcript.StringBytes(word)) // a hash takes everything
				}
			case transcript.ToolCall:
				if !own(b.Name) {
					_, _ = sum.Write([]byte("\x00" + callID(b) + "\x00"))
				}
			}
		}
	}
	return transcript.Hash(sum.Sum(nil)).String()
}

// callID is what a call is known by. One without an id of its own, whose name stands for it, is known
// by what it is called with, however that is written.
func callID(c transcript.ToolCall) string {
	if c.ID != c.Name {
		return c.ID
	}
	input := c.Input.String()
	var v any
	if json.Unmarshal([]byte(input), &v) == nil {
		if plain, err := json.Marshal(v); err == nil {
			input = string(plain)
		}
	}
	return c.Name + input
}

// Proof is what an answer is known by wherever a client puts it: what it says and its thinking, whose
// signature nobody else can have. It is empty if there is no thinking, or nothing else.
func Proof(list []transcript.Message, own func(name string) bool) string {
	for _, m := range list {
		for _, b := range m.Blocks().All() {
			if th, ok := b.(transcript.Thinking); ok && th.Signature != "" {
				return th.Signature + SaidHash(list, own)
			}
		}
	}
	return ""
}

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
			p.Aliases = append(p.Aliases, Alias{i, n, from, from + len(was)})
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
