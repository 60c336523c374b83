package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// conversation is a session with what the proxy knows of it: which prefixes of the
// client's conversation it has seen, and where they lie in the transcript.
type conversation struct {
	key     store.SessionKey
	mode    mode
	indexed []indexKey // in the rewriter's index, oldest first; guarded by its lock
	// status is for those who may not wait: mu is held while models answer and stores write.
	status atomic.Pointer[SessionStatus]

	mu    sync.Mutex
	sess  *pleat.Session
	setup setup
	seen  uint64 // entries up to this one were looked at for marks
	marks map[transcript.Hash]mark
	// replies are the answers with hidden rounds, by the message they begin at.
	replies map[int]reply
	// client is the client's message for each message of the transcript that a mark
	// covers; negative: the client has none, it is of a hidden round.
	client  []int
	covered int  // client's messages that client covers
	tools   bool // its requests have tools
	last    time.Time
	hidden  map[int]transcript.Message // those of hidden rounds that the newest view shows
	written int                        // folds whose files are written
	warm    fold.WarmPrefix            // what the provider's cache has
}

// setup is what a session was opened with that a later request may change.
type setup struct {
	model string
	head  transcript.Hash
	child bool
}

// mode is how a session gets folded content back, fixed with its first request.
type mode struct {
	Recall RecallMode `json:"recall"`
	Prefix string     `json:"prefix,omitempty"` // before the names of our tools, where the client has tools of the same names
}

// mark is the data of a prefix entry: a request of the client, or an answer with hidden
// rounds. docs/format.md lists the fields; they are stored.
type mark struct {
	mode
	Hash    string  `json:"hash,omitempty"`   // of the client's messages
	Client  int     `json:"client,omitempty"` // their number
	At      int     `json:"at,omitempty"`     // length of the transcript then
	Tools   bool    `json:"tools,omitempty"`  // the request had tools
	Aliases []alias `json:"aliases,omitempty"`
	Reply   *reply  `json:"reply,omitempty"`

	seq uint64
}

// alias says that some messages of the client stand for others of the transcript: an
// answer whose hidden rounds the client has not seen.
type alias struct {
	Client int `json:"client"` // first message of the client
	Count  int `json:"count"`
	From   int `json:"from"` // messages of the transcript: from ≤ i < to
	To     int `json:"to"`
}

// reply is an answer with hidden rounds that the client has not sent back yet.
type reply struct {
	From  int    `json:"from"`
	To    int    `json:"to"`
	Words string `json:"words"` // hash of what the client saw of it
}

// publish makes the status what the session is now. The caller has the lock.
func (c *conversation) publish() {
	c.status.Store(&SessionStatus{
		Key: c.key, Model: c.setup.model, Recall: c.mode.Recall, Last: c.last, Messages: c.sess.Len(),
		Folds: len(c.sess.Folds()), Snapshot: c.sess.Snapshot(), Spent: c.sess.Spent(),
	})
}

// unlock ends a use of the session.
func (c *conversation) unlock() {
	c.publish()
	c.mu.Unlock()
}

// refresh takes in what other replicas wrote. Entries of our own, unless somebody else's
// came between them, need not be read again to know their marks.
func (c *conversation) refresh(ctx context.Context, store store.Store) error {
	if err := c.sess.Refresh(ctx); err != nil {
		return err
	}
	if c.sess.Last() == c.seen {
		return nil
	}
	if err := c.load(ctx, store); err != nil {
		return err
	}
	c.seen = c.sess.Last()
	return nil
}

// wrote says that all entries since one are ours and known: the session would have said
// that there is a conflict.
func (c *conversation) wrote(since uint64) {
	if c.seen == since {
		c.seen = c.sess.Last()
	}
}

// wroteOne says that one entry of ours was written, perhaps behind others.
func (c *conversation) wroteOne() {
	if c.sess.Last() == c.seen+1 {
		c.seen++
	}
}

// load reads the marks that were written since it last looked.
func (c *conversation) load(ctx context.Context, st store.Store) error {
	for e, err := range st.Scan(ctx, c.key, c.seen+1, store.EntryPrefix) {
		if err != nil {
			return err
		}
		var m mark
		if err := json.Unmarshal(e.Data, &m); err != nil {
			return fmt.Errorf("read mark %d of session %s: %w", e.Seq, c.key, err)
		}
		m.seq = e.Seq
		c.seen = e.Seq
		c.take(m, e.Time)
	}
	return nil
}

// take adds a mark.
func (c *conversation) take(m mark, at time.Time) {
	if m.Recall != "" {
		c.mode = m.mode
	}
	if m.Reply != nil {
		c.replies[m.Reply.From] = *m.Reply
		return
	}
	h, err := transcript.ParseHash(m.Hash)
	if err != nil {
		return
	}
	c.last, c.tools = at, c.tools || m.Tools
	c.marks[h] = m
	c.client, c.covered = extend(c.client, c.covered, m.Aliases, m.At)
}

// extend continues the map from transcript to client up to message at.
func extend(client []int, covered int, aliases []alias, at int) ([]int, int) {
	for len(client) < at {
		if len(aliases) > 0 && len(client) >= aliases[0].From {
			a := aliases[0]
			aliases = aliases[1:]
			for len(client) < a.To {
				client = append(client, -1)
			}
			covered = a.Client + a.Count
			continue
		}
		client = append(client, covered)
		covered++
	}
	return client, covered
}

// place is where a request stands in a conversation's session.
type place struct {
	mark    mark // the longest prefix that was a request
	client  int  // the client's messages before this one are in the transcript
	at      int  // and take it up to here
	aliases []alias
}

// find matches a request with the transcript. It is errMoved if the session has gone
// another way since the prefix they share: then the conversation needs one of its own.
func (c *conversation) find(ctx context.Context, m *memo, req *request, prefixes []transcript.Hash) (p place, err error) {
	for n := len(prefixes); n > 0; n-- {
		if got, known := c.marks[prefixes[n-1]]; known && got.Client == n {
			p = place{mark: got, client: n, at: got.At}
			break
		}
	}
	size := c.sess.Len()
	for p.at < size {
		if r, hidden := c.replies[p.at]; hidden {
			n := answerLen(req.messages[p.client:])
			if n == 0 || words(req.messages[p.client:p.client+n], c.mode.own) != r.Words {
				return p, errMoved
			}
			p.aliases = append(p.aliases, alias{p.client, n, r.From, r.To})
			p.client, p.at = p.client+n, r.To
			continue
		}
		if p.client == len(req.messages) {
			return p, errMoved
		}
		if err := c.same(ctx, m, req, p); err != nil {
			return p, err
		}
		p.client, p.at = p.client+1, p.at+1
	}
	return p, nil
}

// same is errMoved if the next message of the client is not the next of the transcript.
func (c *conversation) same(ctx context.Context, m *memo, req *request, p place) error {
	have, err := c.message(ctx, p.at)
	if err != nil {
		return err
	}
	got := req.messages[p.client]
	if p.client < req.leading() && have.Role() == got.Role() {
		return nil // leading system messages count by their role
	}
	if m.hash(req.on, have.Raw()) != m.hash(req.on, got.Raw()) {
		return errMoved
	}
	return nil
}

// message reads a message of the transcript.
func (c *conversation) message(ctx context.Context, i int) (transcript.Message, error) {
	list, err := c.sess.Resolve(ctx, transcript.View{Messages: []transcript.ViewMessage{{Source: i}}})
	if err != nil {
		return transcript.Message{}, err
	}
	return list[0], nil
}

// answerLen is the number of messages that a conversation begins with that are of one
// answer of the model.
func answerLen(list []transcript.Message) int {
	n := 0
	for n < len(list) && list[n].Role() == transcript.RoleAssistant {
		n++
	}
	return n
}

// words is the hash of what an answer says, whatever form its client gives it: its text
// without space, and its calls, without ours.
func words(list []transcript.Message, own func(name string) bool) string {
	var text []byte
	for _, m := range list {
		if m.Role() != transcript.RoleAssistant {
			continue
		}
		for _, b := range m.Blocks().All() {
			switch b := b.(type) {
			case transcript.Text:
				for _, r := range b.Text.String() {
					if r > ' ' && r != '\u00a0' {
						text = append(text, string(r)...)
					}
				}
			case transcript.ToolCall:
				if !own(b.Name) {
					text = append(append(append(text, 0), b.ID...), 0)
				}
			}
		}
	}
	return transcript.HashOf(text).String()
}

// view turns a view of the transcript into one of the request's messages: those that
// the client does not have stand in it as they are.
func (c *conversation) view(ctx context.Context, v transcript.View, req *request, client []int) (transcript.View, error) {
	out := transcript.View{Messages: make([]transcript.ViewMessage, len(v.Messages)), DropThinking: v.DropThinking}
	hidden := make(map[int]transcript.Message)
	for i, vm := range v.Messages {
		out.Messages[i] = vm
		switch {
		case vm.Source < 0:
		case client[vm.Source] >= 0:
			out.Messages[i].Source = client[vm.Source]
		default:
			m, known := c.hidden[vm.Source]
			if !known {
				var err error
				if m, err = c.message(ctx, vm.Source); err != nil {
					return transcript.View{}, fmt.Errorf("read hidden message %d: %w", vm.Source, err)
				}
			}
			hidden[vm.Source] = m
			m, err := req.on.edited(m, vm.Edits)
			if err != nil {
				return transcript.View{}, fmt.Errorf("write hidden message %d: %w", vm.Source, err)
			}
			out.Messages[i] = transcript.ViewMessage{Source: -1, Made: m}
		}
	}
	c.hidden = hidden
	return out, nil
}
