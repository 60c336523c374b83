package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// errDiverged says that a session went another way than a request: the conversation needs
// another session.
var errDiverged = errors.New("the session went another way")

// place is where a request stands in a session.
type place struct {
	mark    mark             // the longest prefix that was a request
	seq     uint64           // entry up to which they share all: the mark, or the newest answer with hidden rounds
	client  int              // the client's messages before this one are in the transcript
	at      int              // and end here
	said    string           // hash of the client's next answer, if it is not known to be this session's
	holder  store.SessionKey // another session, which has that answer with hidden rounds
	aliases []alias
	open    bool // the request came before, and its answer did not end
}

// sessionMessages are those of a session.
type sessionMessages interface {
	Len() int
	Message(ctx context.Context, i int) (transcript.Message, error)
}

// find matches a request with the messages of the session. It returns errDiverged if the session
// has gone another way since the prefix they share. With resume, hidden rounds of an answer to the
// same request that did not end belong to it.
func (t *track) find(ctx context.Context, have sessionMessages, req *request, resume bool) (place, error) {
	p, err := t.follow(ctx, have, req, resume)
	if n := answers(req.messages[p.client:]); n > 0 && p.client == p.mark.Client {
		said := saidHash(req.messages[p.client:p.client+n], t.mode.own)
		if p.at != t.answer.From || said != t.answer.Said {
			p.said = said
		}
	}
	return p, err
}

func (t *track) follow(
	ctx context.Context, have sessionMessages, req *request, resume bool,
) (p place, err error) {
	for n := len(req.prefixes); n > 0; n-- {
		if got, known := t.requests[req.prefixes[n-1]]; known && got.Client == n {
			p = place{mark: got, seq: got.seq, client: n, at: got.At}
			break
		}
	}
	size := have.Len()
	for p.at < size {
		if r, hidden := t.replies[p.at]; hidden {
			rest := req.messages[p.client:]
			n := answers(rest)
			if r.Open && len(rest) == 0 && resume {
				p.aliases = append(p.aliases, alias{p.client, 0, r.From, r.To})
				p.at, p.open = r.To, true
				continue
			}
			if n == 0 || saidHash(rest[:n], t.mode.own) != r.Said {
				return p, errDiverged
			}
			p.aliases = append(p.aliases, alias{p.client, n, r.From, r.To})
			p.client, p.at, p.seq = p.client+n, r.To, r.seq
			continue
		}
		if p.client == len(req.messages) {
			return p, errDiverged
		}
		m, err := have.Message(ctx, p.at)
		if err != nil {
			return p, err
		}
		same, cleared := sameMessage(m, req, p.client)
		if !same {
			return p, errDiverged
		}
		if cleared {
			p.aliases = append(p.aliases, alias{p.client, 1, p.at, p.at + 1})
		}
		p.client, p.at = p.client+1, p.at+1
	}
	return p, nil
}

// sameMessage reports whether message i of a request is one of the session, and whether the client
// has cleared results in it.
func sameMessage(have transcript.Message, req *request, i int) (same, cleared bool) {
	got := req.messages[i]
	switch {
	case i < req.leading() && have.Role() == got.Role(): // leading system messages count by their role
		return true, false
	case have.Raw() == got.Raw() || req.on.hash(transcript.StringBytes(have.Raw())) == req.hashes[i]:
		return true, false
	}
	cleared = conv.Cleared(have, got)
	return cleared, cleared
}

// exchanged is the newest request of a conversation and its answer.
type exchanged struct {
	client int                    // messages of the request
	said   string                 // hash of the answer, empty if it has not ended
	own    func(name string) bool // of the tools, those of pleat
}

// leadsTo reports whether a request follows at once on the answer: nothing else was answered
// since.
func (e exchanged) leadsTo(req *request) bool {
	if e.said == "" || e.client > len(req.messages) {
		return false
	}
	rest := req.messages[e.client:]
	n := answers(rest)
	return saidHash(rest[:n], e.own) == e.said && !slices.ContainsFunc(rest[n:], isAnswer)
}

func isAnswer(m transcript.Message) bool { return m.Role() == transcript.RoleAssistant }

// answers returns how many messages at the start of a list are answers.
func answers(list []transcript.Message) int {
	for i, m := range list {
		if !isAnswer(m) {
			return i
		}
	}
	return len(list)
}

// answered reports whether a request has an answer of the model in it, so that it is not
// the first of its conversation.
func answered(req *request) bool { return slices.ContainsFunc(req.messages, isAnswer) }

// saidHash is the hash of what an answer says, whatever form its client gives it: its text
// without space, and its calls, without ours.
func saidHash(list []transcript.Message, own func(name string) bool) string {
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

// proof is what an answer is known by wherever a client puts it: what it says and its thinking, whose
// signature nobody else can have. It is empty if there is no thinking, or nothing else.
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
