package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/behind"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// conversation is a session with what the proxy knows about it: which prefixes of the
// client's conversation it has seen, and where they are in the transcript.
type conversation struct {
	key     store.SessionKey
	behind  *behind.Store
	indexed []indexKey // in the rewriter's index, oldest first; guarded by its lock
	newest  exchanged  // guarded by it, too
	// status can be read without waiting: mu is held while models answer and stores write.
	status atomic.Pointer[SessionStatus]
	weight atomic.Int64  // about how many bytes it takes; negative: it is no longer in memory
	sum    *atomic.Int64 // of all weights; nil: it is not in memory yet

	mu      sync.Mutex
	sess    *pleat.Session
	setup   setup
	mode    mode
	before  store.SessionKey // the session that the client's own compaction ended; zero: none
	pages   string           // of what that had, for a new session; empty: none
	drop    bool             // the provider refused thinking of it, and may drop such from then on
	renamed bool             // stubs of the session may have other names for our tools than those in use
	seen    uint64           // entries up to this one were looked at for marks
	marks   map[transcript.Hash]mark
	// replies are the answers with hidden rounds, by the message they begin at.
	replies map[int]reply
	past    bool  // as it was at an earlier request: nothing can be stored
	told    reply // the last answer without hidden rounds, and where it belongs
	alone   int   // answers since another replica wrote to the session
	// client is the client's message for each message of the transcript that a mark
	// covers; negative: the client has none, because it is of a hidden round, or no longer has it whole.
	client  []int
	covered int  // client's messages that client covers
	tools   bool // its requests have tools
	last    time.Time
	hidden  map[int]transcript.Message // those that only the session has and the newest view shows
	written int                        // folds whose files are written
	warm    fold.WarmPrefix            // what the provider's cache has
	cache   model.CacheRule            // of its model
	ours    int                        // tokens of our tools
	sizes   []int                      // tokens of the client's messages before each of the transcript
}

// setup is what a session was opened with that a later request may change.
type setup struct {
	model  string
	manual bool // thinking of a fixed size
	silent bool // of a kind that the provider cannot be asked to drop
	system string
	tools  []model.Tool
	mode   mode
}

// mode is how a session gets folded content back. Only the prefix may change after its
// first request.
type mode struct {
	Recall RecallMode `json:"recall"`
	Prefix string     `json:"prefix,omitempty"` // of our tools' names, where the client has tools of the same names
	Snip   bool       `json:"snip,omitempty"`   // the tool snip is among them: the policy snips
}

// mark is the data of a prefix entry: a request of the client, or an answer with hidden
// rounds. They are stored: fields may be added, names and meanings stay.
type mark struct {
	mode
	Hash    string  `json:"hash,omitempty"`   // of the client's messages
	Client  int     `json:"client,omitempty"` // their number
	At      int     `json:"at,omitempty"`     // length of the transcript then
	Tools   bool    `json:"tools,omitempty"`  // the request had tools
	Aliases []alias `json:"aliases,omitempty"`
	Reply   *reply  `json:"reply,omitempty"`
	Before  string  `json:"before,omitempty"` // session that the client's own compaction ended
	Drop    bool    `json:"drop,omitempty"`   // thinking was refused; it may be dropped from here on

	seq uint64
}

func (m mark) encode() []byte {
	data, _ := json.Marshal(m) // strings and numbers cannot fail
	return data
}

// alias says that some messages of the client stand for others in the transcript: an answer whose
// hidden rounds the client has not seen, or a message with results that it has cleared.
type alias struct {
	Client int `json:"client"` // first message of the client
	Count  int `json:"count"`
	From   int `json:"from"` // messages of the transcript: from ≤ i < to
	To     int `json:"to"`
}

// reply is an answer with hidden rounds that the client has not sent back yet.
type reply struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Said string `json:"words,omitempty"` // hash of what the client saw of it
	Open bool   `json:"open,omitempty"`  // it is not complete: the request may come again

	seq uint64
}

// publish updates the status. The caller holds the lock.
func (c *conversation) publish() {
	now, old := int64(c.sess.Weight()+perMessage*len(c.marks)), c.weight.Load()
	if old >= 0 && c.weight.CompareAndSwap(old, now) && c.sum != nil { // else it was dropped
		c.sum.Add(now - old)
	}
	c.status.Store(&SessionStatus{
		Key: c.key, Model: c.setup.model, Recall: c.mode.Recall, Last: c.last, Messages: c.sess.Len(),
		Folds: len(c.sess.Folds()), Snapshot: c.sess.Snapshot(), Spent: c.sess.Spent(),
	})
}

// idleMemory is how many bytes of messages a session keeps between requests: the client sends
// everything again anyway. While it is in use it keeps more, because the view of a new epoch
// is checked as a whole.
const idleMemory = 4 << 20

func (c *conversation) unlock() {
	c.sess.Shrink(idleMemory)
	c.publish()
	c.mu.Unlock()
}

// refresh takes in what other replicas wrote. Our own entries, unless somebody else's
// came between them, need not be read again to know their marks.
func (c *conversation) refresh(ctx context.Context) error {
	if ahead, err := c.behind.Ahead(); ahead || err != nil {
		return err
	}
	last := c.sess.Last()
	err := c.sess.Refresh(ctx)
	if c.sess.Last() != last {
		c.alone = 0
	}
	if err == nil && c.sess.Last() != c.seen {
		if err = c.load(ctx, c.sess.Last()); err == nil {
			c.seen = c.sess.Last()
		}
	}
	return err
}

// wrote notes that all entries after one are ours and known: otherwise the session would
// have reported a conflict.
func (c *conversation) wrote(since uint64) {
	if c.seen == since {
		c.seen = c.sess.Last()
	}
}

// wroteOne notes that one entry of ours was written, perhaps behind others.
func (c *conversation) wroteOne() {
	if c.sess.Last() == c.seen+1 {
		c.seen++
	}
}

// load reads the marks that were written since the last time, up to an entry.
func (c *conversation) load(ctx context.Context, upTo uint64) error {
	for e, err := range c.behind.Scan(ctx, c.key, c.seen+1, store.EntryPrefix) {
		if err != nil {
			return err
		}
		if e.Seq > upTo { // of messages that the session has not read
			return nil
		}
		var m mark
		if err := json.Unmarshal(e.Data, &m); err != nil {
			return fmt.Errorf("read mark %d of session %s: %w", e.Seq, c.key, err)
		}
		m.seq, c.seen = e.Seq, e.Seq
		c.take(m, e.Time)
	}
	return nil
}

// record stores a mark, after the messages that are new, and adds it.
func (c *conversation) record(
	ctx context.Context, labels []string, m *mark, at time.Time, news ...transcript.Message,
) error {
	last := c.sess.Last()
	seq, err := c.sess.MarkAs(ctx, labels, m.encode(), news...)
	if err != nil {
		return err
	}
	m.seq = seq
	c.wrote(last)
	c.take(*m, at)
	return nil
}

func (c *conversation) take(m mark, at time.Time) {
	if m.Recall != "" {
		c.rename(m.mode)
	}
	c.drop = c.drop || m.Drop
	if m.Reply != nil {
		r := *m.Reply
		r.seq = m.seq
		c.replies[r.From] = r
		return
	}
	h, err := transcript.ParseHash(m.Hash)
	if err != nil {
		return
	}
	c.last, c.tools, c.before = at, c.tools || m.Tools, m.lineage(c.key.Tenant)
	c.marks[h] = m
	if len(m.Aliases) > 0 {
		c.sizes = nil
	}
	c.client, c.covered = extend(c.client, c.covered, m.Aliases, m.At)
}

// rename changes the mode. Of two prefixes the longer is the newer one.
func (c *conversation) rename(m mode) {
	if len(m.Prefix) >= len(c.mode.Prefix) {
		c.renamed = c.renamed || c.mode.Recall != "" && c.mode != m
		c.mode = m
	}
}

// extend continues the map from transcript to client up to message at.
func extend(client []int, covered int, aliases []alias, at int) ([]int, int) {
	plain := func(to int) {
		for ; len(client) < to; covered++ {
			client = append(client, covered)
		}
	}
	for _, a := range aliases {
		plain(a.From)
		if a.To > len(client) {
			covered = a.Client + a.Count
		}
		client = append(client, make([]int, max(a.To-len(client), 0))...)
		for i := a.From; i < a.To; i++ { // those before the end were whole in an earlier request
			client[i] = -1
		}
	}
	plain(at)
	return client, covered
}

type position struct {
	mark    mark             // the longest prefix that was a request
	seq     uint64           // entry up to which they share all: the mark, or the newest answer with hidden rounds
	client  int              // the client's messages before this one are in the transcript
	at      int              // and end here
	said    string           // hash of the client's next answer, if it is not known to be this session's
	holder  store.SessionKey // another session, which has that answer with hidden rounds
	aliases []alias
	open    bool // the request came before, and its answer did not end
}

// find matches a request with the transcript. It returns errMoved if the session has gone
// another way since the prefix they share: then the conversation needs its own session. With
// resume, hidden rounds of an answer to the same request that did not end belong to it.
func (c *conversation) find(ctx context.Context, req *request, resume bool) (position, error) {
	p, err := c.follow(ctx, req, resume)
	if n := answers(req.messages[p.client:]); n > 0 && p.client == p.mark.Client {
		said := saidHash(req.messages[p.client:p.client+n], c.mode.own)
		if p.at != c.told.From || said != c.told.Said {
			p.said = said
		}
	}
	return p, err
}

type exchanged struct {
	client int                    // messages of the request
	said   string                 // hash of the answer; empty: it has not ended
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
	return countWhile(list, isAnswer)
}

func (c *conversation) follow(ctx context.Context, req *request, resume bool) (p position, err error) {
	for n := len(req.prefixes); n > 0; n-- {
		if got, known := c.marks[req.prefixes[n-1]]; known && got.Client == n {
			p = position{mark: got, seq: got.seq, client: n, at: got.At}
			break
		}
	}
	size := c.sess.Len()
	for p.at < size {
		if r, hidden := c.replies[p.at]; hidden {
			rest := req.messages[p.client:]
			n := answers(rest)
			if r.Open && len(rest) == 0 && resume {
				p.aliases = append(p.aliases, alias{p.client, 0, r.From, r.To})
				p.at, p.open = r.To, true
				continue
			}
			if n == 0 || saidHash(rest[:n], c.mode.own) != r.Said {
				return p, errMoved
			}
			p.aliases = append(p.aliases, alias{p.client, n, r.From, r.To})
			p.client, p.at, p.seq = p.client+n, r.To, r.seq
			continue
		}
		if p.client == len(req.messages) {
			return p, errMoved
		}
		cleared, err := c.same(ctx, req, p)
		if err != nil {
			return p, err
		}
		if cleared {
			p.aliases = append(p.aliases, alias{p.client, 1, p.at, p.at + 1})
		}
		p.client, p.at = p.client+1, p.at+1
	}
	return p, nil
}

// same returns errMoved if the client's next message is not the next of the transcript, and whether
// the client has cleared results in it.
func (c *conversation) same(ctx context.Context, req *request, p position) (cleared bool, err error) {
	have, err := c.sess.Message(ctx, p.at)
	if err != nil {
		return false, err
	}
	got := req.messages[p.client]
	switch {
	case p.client < req.leading() && have.Role() == got.Role(): // leading system messages count by their role
		return false, nil
	case have.Raw() == got.Raw() || req.on.hash(transcript.StringBytes(have.Raw())) == req.hashes[p.client]:
		return false, nil
	case conv.Cleared(have, got):
		return true, nil
	}
	return false, errMoved
}

// countWhile returns how many elements at the start of a list have a property.
func countWhile[E any](list []E, has func(E) bool) int {
	if i := slices.IndexFunc(list, func(e E) bool { return !has(e) }); i >= 0 {
		return i
	}
	return len(list)
}

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

// view turns a view of the transcript into one of the request's messages. Messages that
// the client does not have are included whole.
func (c *conversation) view(
	ctx context.Context, v transcript.View, req *request, client []int,
) (transcript.View, error) {
	if v.IsWhole(len(client)) && !slices.ContainsFunc(client, func(i int) bool { return i < 0 }) {
		c.hidden = nil
		return v, nil
	}
	out := transcript.View{Messages: make([]transcript.ViewMessage, len(v.Messages)), DropThinking: v.DropThinking}
	hidden := make(map[int]transcript.Message)
	for i, vm := range v.Messages {
		if c.renamed {
			vm = c.renameIn(vm)
		}
		out.Messages[i] = vm
		switch {
		case vm.Source < 0:
		case client[vm.Source] >= 0:
			out.Messages[i].Source = client[vm.Source]
			if len(vm.Edits) > 0 { // it may have fewer blocks than when it was new; see request.shorter
				has := req.messages[client[vm.Source]].Blocks().Len()
				out.Messages[i].Edits = vm.Edits[:countWhile(vm.Edits, func(e transcript.BlockEdit) bool {
					return e.Block < has
				})]
			}
		default:
			m, known := c.hidden[vm.Source]
			if !known {
				var err error
				if m, err = c.sess.Message(ctx, vm.Source); err == nil {
					m, err = req.on.alone(m)
				}
				if err != nil {
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

// renameIn writes the stubs and pages of a view's message with the names in use.
func (c *conversation) renameIn(vm transcript.ViewMessage) transcript.ViewMessage {
	if m := vm.Made; vm.Source < 0 && m.Role() == transcript.RoleUser {
		vm.Made = transcript.User(c.mode.renamed(m.Text())).WithOrigin(m.Origin())
	}
	vm.Edits = slices.Clone(vm.Edits)
	for i := range vm.Edits {
		vm.Edits[i].Text = c.mode.renamed(vm.Edits[i].Text)
	}
	return vm
}
