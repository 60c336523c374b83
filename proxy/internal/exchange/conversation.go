package exchange

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/behind"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// conversation is a session and what the proxy knows about it. The key, behind and pool stay as
// they are, and the pool guards the slot; mu guards the rest, and is held while models answer and stores
// write. What has to be known without waiting for that is in the slot.
type conversation struct {
	key    store.SessionKey
	behind *behind.Store
	pool   *pool // nil if it is not kept in memory
	slot   slot

	mu      sync.Mutex
	sess    *pleat.Session
	setup   setup
	pages   string // of what the client has compacted, for a new session
	track   lineage.Track
	seen    uint64                     // entries up to this one were looked at for marks
	alone   int                        // answers since another replica wrote to the session
	hidden  map[int]transcript.Message // those that only the session has and the newest view shows
	written int                        // folds whose files are written
	warm    fold.WarmPrefix            // what the provider's cache has
}

// setup is what a session was opened with.
type setup struct {
	model  string
	manual bool // thinking of a fixed size
	silent bool // of a kind that the provider cannot be asked to drop
	system string
	tools  []model.Tool
	mode   lineage.Mode
	cache  model.CacheRule // of its model
	ours   int             // tokens of our tools
}

// newConversation reads what a store has of a conversation, without its session.
func (rw *Rewriter) newConversation(ctx context.Context, key store.SessionKey) (*conversation, error) {
	c := &conversation{key: key, track: lineage.NewTrack(key.Tenant), hidden: make(map[int]transcript.Message)}
	c.behind = behind.New(rw.o.Store, rw.closing.Go, func(err error) {
		const text = "what a client sent could not be stored; it is read again with its next request"
		rw.o.Logger.Warn(text, "session", key.String(), "err", err)
	})
	if err := c.load(ctx, math.MaxUint64); err != nil {
		return nil, fmt.Errorf("open conversation: %w", err)
	}
	return c, nil
}

// start opens the conversation's session for a request's model and head.
func (rw *Rewriter) start(ctx context.Context, c *conversation, req request) error {
	model, window := rw.o.model(req.Model)
	model.Thinking.First, model.Thinking.Silent = req.Manual, req.Silent
	system, tools := req.Head()
	c.track.Rename(c.track.Mode.Free(req.Request)) // its client may have tools by names of ours since
	mode, ours := c.track.Mode, c.track.Mode.Tools(req.Request)
	o := &pleat.Options{
		Policy: rw.o.Policy, Model: model, Budget: fold.Budget{Window: window},
		System: system, Tools: slices.Concat(tools, ours), Child: req.from.Child, Before: c.pages,
		Codecs: map[transcript.Format]transcript.Codec{req.Protocol.Format: req.Protocol.Codec},
		Check:  req.Protocol.Check(model),
		Recall: stubs(mode, rw.o.RecallDir, c.key), NoRecall: mode.Recall == lineage.RecallOff,
		Logger: rw.o.Logger, Now: rw.o.Now, Observe: rw.o.Observe,
	}
	if mode.Prefix != "" {
		o.Policy = exempt(o.Policy, mode.Prefixed())
	}
	if rw.o.Session != nil {
		rw.o.Session(c.key, o)
	}
	sess, err := pleat.OpenSession(ctx, c.behind, c.key, o)
	if err != nil {
		return err
	}
	if old := c.sess; old != nil { // the client has changed the model
		rw.closing.Go(func() { _ = old.Close() })
	}
	c.sess = sess
	c.setup = setup{
		req.Model, req.Manual, req.Silent, system, tools, mode, model.Cache,
		tokens.NewTokenizer(model, nil).CountTools(ours),
	}
	return nil
}

// exempt returns the policy with tools added to those whose results are never spilled.
func exempt(p fold.Policy, tools []model.Tool) fold.Policy {
	p.AtBirth = fold.Change(p.AtBirth, func(s *lever.Spill) {
		s.Exempt = slices.Clone(s.Exempt)
		for _, t := range tools {
			s.Exempt = append(s.Exempt, t.Name)
		}
	})
	return p
}

// catchUp takes in what other replicas wrote, and what the request changed beside its
// messages.
func (rw *Rewriter) catchUp(ctx context.Context, c *conversation, req request) error {
	for {
		if err := c.refresh(ctx); err != nil {
			return err
		}
		c.track.Rename(c.track.Mode.Free(req.Request))
		if s := &c.setup; s.model == req.Model && s.manual == req.Manual && s.silent == req.Silent &&
			s.mode == c.track.Mode {
			break
		}
		if err := rw.start(ctx, c, req); err != nil {
			return err
		}
	}
	if c.setup.system != req.System || !slices.Equal(c.setup.tools, req.Tools) {
		c.setup.system, c.setup.tools = req.Head()
		c.sess.SetHead(c.setup.system, slices.Concat(c.setup.tools, c.track.Mode.Tools(req.Request)))
	}
	return nil
}

// describe returns the status of the conversation, and about how many bytes it takes. The caller
// holds the lock.
func (c *conversation) describe() (Status, int64) {
	return Status{
		Key: c.key, Model: c.setup.model, Recall: c.track.Mode.Recall, NoRecall: c.track.Mode.Why, Last: c.track.Last, Messages: c.sess.Len(),
		Folds: len(c.sess.Folds()), Snapshot: c.sess.Snapshot(), Spent: c.sess.Spent(),
	}, int64(inside.Of(c.sess).MemoryBytes() + lineage.PerMessage*len(c.track.Requests))
}

// publish updates what is known without the lock. The caller holds the lock.
func (c *conversation) publish() {
	if c.pool != nil {
		status, weight := c.describe()
		c.pool.update(c, func() {
			c.pool.weight.Add(weight - c.slot.weight)
			c.slot.status, c.slot.weight, c.slot.newest = status, weight, c.track.Newest
		})
	}
}

// idleMemory is how many bytes of messages a session keeps between requests: the client sends
// everything again anyway. While it is in use it keeps more, because the view of a new epoch
// is checked as a whole.
const idleMemory = 4 << 20

func (c *conversation) unlock() {
	inside.Of(c.sess).Shrink(idleMemory)
	c.publish()
	c.mu.Unlock()
}

// refresh takes in what other replicas wrote. Our own entries, unless somebody else's
// came between them, need not be read again to know their marks.
func (c *conversation) refresh(ctx context.Context) error {
	if ahead, err := c.behind.Ahead(); ahead || err != nil {
		return err
	}
	last := inside.Of(c.sess).LastSeq()
	err := c.sess.Refresh(ctx)
	if inside.Of(c.sess).LastSeq() != last {
		c.alone = 0
	}
	if err == nil && inside.Of(c.sess).LastSeq() != c.seen {
		if err = c.load(ctx, inside.Of(c.sess).LastSeq()); err == nil {
			c.seen = inside.Of(c.sess).LastSeq()
		}
	}
	return err
}

// load reads the marks that were written since the last time, up to an entry.
func (c *conversation) load(ctx context.Context, upTo uint64) error {
	for e, err := range c.behind.Scan(ctx, c.key, c.seen+1, store.EntryPrefix, store.EntryBack) {
		if err != nil {
			return err
		}
		if e.Seq > upTo { // of messages that the session has not read
			return nil
		}
		if e.Kind == store.EntryBack {
			back, err := conv.ReadBack(e)
			if err != nil {
				return fmt.Errorf("read mark %d of session %s: %w", e.Seq, c.key, err)
			}
			c.seen = e.Seq
			c.tookBack(back)
			continue
		}
		var m lineage.Mark
		if err := json.Unmarshal(e.Data, &m); err != nil {
			return fmt.Errorf("read mark %d of session %s: %w", e.Seq, c.key, err)
		}
		m.Seq, c.seen = e.Seq, e.Seq
		c.track.Take(m, e.Time)
	}
	return nil
}

// takeBack gives up what the client no longer has.
func (c *conversation) takeBack(ctx context.Context, b conv.Back) error {
	if b.IsZero() {
		return nil
	}
	last := inside.Of(c.sess).LastSeq()
	if err := inside.Of(c.sess).TakeBack(ctx, b); err != nil {
		return err
	}
	c.wrote(last)
	c.tookBack(b)
	return nil
}

func (c *conversation) tookBack(b conv.Back) {
	c.track.TakeBack(b)
	clear(c.hidden) // they may be at other places now
}

// record stores a mark, after the messages that are new, and adds it.
func (c *conversation) record(
	ctx context.Context, labels []string, m *lineage.Mark, at time.Time, news ...transcript.Message,
) error {
	last := inside.Of(c.sess).LastSeq()
	seq, err := inside.Of(c.sess).Mark(ctx, labels, m.Encode(), news...)
	if err != nil {
		return err
	}
	m.Seq = seq
	c.wrote(last)
	c.track.Take(*m, at)
	return nil
}

// wrote notes that all entries after one are ours and known: otherwise the session would
// have reported a conflict.
func (c *conversation) wrote(since uint64) {
	if c.seen == since {
		c.seen = inside.Of(c.sess).LastSeq()
	}
}

// recordUsage records what an answer used. The caller holds the lock.
func (c *conversation) recordUsage(ctx context.Context, r model.Reply) error {
	if r.Usage.Prompt() == 0 || r.Usage.Check() != nil || r.Err != nil {
		return nil
	}
	if err := c.sess.Used(ctx, r.Usage); err != nil {
		return err
	}
	c.wrote(inside.Of(c.sess).LastSeq() - 1) // one entry, perhaps after entries of others
	return nil
}

// trusted is after how many answers in a row, with nobody else's writes between them, a
// conversation's next request is expected here.
const trusted = 3

// stays counts an answer, and reports whether the next request is expected here: then it does
// not have to find in the store what came before.
func (c *conversation) stays() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alone++
	return c.alone > trusted
}

// size counts the tokens of the client's messages among the first n of the transcript.
func (c *conversation) size(n int) int {
	sum := c.sess.Tokens(0, n)
	for i, client := range c.track.Client[:n] {
		if client < 0 {
			sum -= c.sess.Tokens(i, i+1)
		}
	}
	return sum
}
