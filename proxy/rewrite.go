package proxy

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

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

// rewriter finds the session that a request belongs to and turns the request into the
// one that goes out. [Handler] and [Transport] both use it.
type rewriter struct {
	o        Options
	book     *bill.Book
	known    *known
	flight   atomic.Int64 // bytes of requests and replies under way
	weight   atomic.Int64 // of the conversations in memory
	burst    atomic.Bool  // they were many
	draining atomic.Bool
	closing  sync.WaitGroup // sessions that are being closed

	mu       sync.Mutex
	sessions map[store.SessionKey]*list.Element // of *conversation
	recent   *list.List                         // most recently used first
	leaving  map[*conversation]bool             // no longer there, but perhaps not yet in the store
	index    map[indexKey]store.SessionKey      // newest prefixes of the conversations in memory
	logged   map[string]bool                    // what is logged only once
}

type indexKey struct {
	scope  scope
	prefix transcript.Hash
}

func newRewriter(o *Options) (*rewriter, error) {
	rw := &rewriter{
		sessions: make(map[store.SessionKey]*list.Element), recent: list.New(), leaving: make(map[*conversation]bool),
		index: make(map[indexKey]store.SessionKey), logged: make(map[string]bool),
	}
	rw.o = *cmp.Or(o, &Options{})
	err := rw.o.fill()
	rw.known = newKnown(rw.o.Memory / 8)
	rw.closing.Go(func() { tokens.O200k().Count("") }) // else the first request waits for its vocabulary
	rw.book = &bill.Book{Store: rw.o.Store, Log: rw.o.Logger, Now: rw.o.Now}
	return rw, err
}

// caller is who sends a request, as far as it matters for finding its session.
type caller struct {
	scope scope
	hint  string
	child bool
}

// turn is a request whose session is known: what goes out, and what is needed to handle
// the answer.
type turn struct {
	req    *request
	from   caller
	key    store.SessionKey
	conv   *conversation
	before store.SessionKey // of the conversation
	mode   mode             // of the conversation, which others may rename meanwhile
	out    []byte
	at     int // length of the transcript
	client []int
	drop   bool // the view needs the provider to drop thinking

	mark    mark                 // of the request
	resumed int                  // of its hidden rounds, those of an exchange before that did not end
	hidden  []transcript.Message // of its hidden rounds: in the transcript after the mark
	forked  bool
	epochs  int
	stored  int // results, when they came
	folded  bool
	meter   fold.Snapshot
	size    client
}

// errMoved says that the conversation needs a fork of the session.
var errMoved = errors.New("the session went another way")

// begin brings a request's session up to date and makes the request that goes out. The
// turn is nil, without an error, for a new conversation while the proxy is draining. With
// resume it goes on with hidden rounds of the same request whose answer did not end.
func (rw *rewriter) begin(ctx context.Context, req *request, from caller, resume bool) (*turn, error) {
	key, known, err := rw.locate(ctx, from, req)
	if err != nil || !known && rw.draining.Load() {
		return nil, err
	}
	forked, failed := false, false
	for try := 0; ; try++ {
		conv, err := rw.open(ctx, key, req, from)
		if err != nil {
			return nil, err
		}
		t, p, err := rw.advance(ctx, conv, req, from, resume)
		if errors.Is(err, errMoved) && try < 100 {
			var next store.SessionKey
			if t, next, err = rw.apart(ctx, conv, p, req, from, resume); err == nil && t == nil {
				key, forked = next, forked || next != rw.following(from.scope, req)
				continue
			}
		}
		switch {
		case err == nil:
			t.forked = forked
			return t, nil
		case try == 100:
			return nil, err
		case errors.Is(err, store.ErrNotFound):
			rw.lost(conv)
			if key, _, err = rw.locate(ctx, from, req); err != nil {
				return nil, err
			}
		case !errors.Is(err, store.ErrConflict):
			if _, lost := conv.behind.Ahead(); lost == nil || failed {
				return nil, err
			}
			failed = true // the session is read anew, and gets what could not be written from this request
		}
	}
}

// start opens the conversation's session for a request's model and head.
func (rw *rewriter) start(ctx context.Context, c *conversation, req *request, from caller) error {
	model, window := rw.o.model(req.model)
	model.Thinking.First, model.Thinking.Silent = req.manual, req.silent
	system, tools := req.head()
	o := &pleat.Options{
		Policy: rw.o.Policy, Model: model, Budget: fold.Budget{Window: window},
		System: system, Tools: slices.Concat(tools, c.mode.tools(req)), Child: from.child, Before: c.pages,
		Codecs: map[transcript.Format]transcript.Codec{req.on.format: req.on.codec}, Check: req.on.check(model),
		Recall: c.mode.stubs(rw.o.RecallDir, c.key), Logger: rw.o.Logger, Now: rw.o.Now, Observe: rw.o.Observe,
	}
	if c.mode.Prefix != "" {
		o.Policy = exempt(o.Policy, c.mode.prefixed())
	}
	if rw.o.Session != nil {
		rw.o.Session(c.key, o)
	}
	if c.past {
		o.Digest = pleat.Options{}.Digest // nothing new is written
	}
	sess, err := pleat.OpenSession(ctx, c.behind.Whole(), c.key, o)
	if err != nil {
		return err
	}
	if old := c.sess; old != nil { // the client has changed the model
		rw.closing.Go(func() { _ = old.Close() })
	}
	c.cache, c.ours = model.Cache, tokens.NewTokenizer(model, nil).CountTools(c.mode.tools(req))
	c.sess, c.setup = sess, setup{req.model, req.manual, req.silent, system, tools, c.mode}
	return nil
}

// advance appends what is new to the conversation's session, lets it fold, and writes
// the request that goes out. With errMoved the position says where to fork.
func (rw *rewriter) advance(
	ctx context.Context, c *conversation, req *request, from caller, resume bool,
) (*turn, position, error) {
	c.mu.Lock()
	defer c.unlock()
	if err := rw.catchUp(ctx, c, req, from); err != nil {
		return nil, position{}, err
	}
	p, err := c.find(ctx, req, resume)
	if err != nil && !errors.Is(err, errMoved) {
		return nil, p, err
	}
	var failed error
	if p.holder, failed = rw.holder(ctx, c, p, from.scope); failed == nil && p.holder != (store.SessionKey{}) {
		failed = errMoved
	}
	if err = cmp.Or(failed, err); err != nil {
		return nil, p, err
	}
	idle := time.Duration(0)
	if !c.last.IsZero() {
		idle = max(rw.o.Now().Sub(c.last), 0)
	}
	t := &turn{req: req, from: from, key: c.key, conv: c, mode: c.mode, before: c.before, mark: p.mark}
	t.mark.mode = c.mode
	again := p.mark.Client == len(req.messages)
	if !again {
		news, err := rw.originals(ctx, c, req, &p, from.scope)
		if err != nil {
			return nil, p, err
		}
		t.mark = mark{
			mode: c.mode, Hash: req.prefixes[len(req.prefixes)-1].String(), Client: len(req.prefixes),
			At: c.sess.Len() + len(news), Tools: req.hasTools(), Aliases: p.aliases, Before: c.before.Session,
		}
		folds := len(c.sess.Folds())
		if err := rw.mark(ctx, c, t, news...); err != nil {
			return nil, p, err
		}
		c.publish() // making the view may take a model's time
		t.stored = c.status.Load().Folds - folds
	}
	t.at = t.mark.At
	if p.open {
		if err := t.resume(ctx, p.at); err != nil {
			return nil, p, err
		}
	}
	v, err := t.view(func(s *pleat.Session) (transcript.View, error) {
		return s.View(ctx, pleat.Turn{Idle: idle, Since: t.since(), Again: again && !p.open, Whole: rw.o.ObserveOnly})
	})
	if errors.Is(err, errMoved) {
		err = store.ErrConflict // somebody wrote while the epoch was made
	}
	if err != nil {
		return nil, p, err
	}
	if t.epochs > 0 {
		c.wroteOne()
	}
	t.client = c.client[:t.mark.At:t.mark.At]
	for range t.hidden {
		t.client = append(t.client, -1)
	}
	ttl := c.cache.TTL
	t.measure(p, len(ttl) > 0 && idle > ttl[0])
	return t, p, rw.write(ctx, t, v)
}

// view lets the session make a view for the turn. The caller holds the conversation's lock.
func (t *turn) view(make func(*pleat.Session) (transcript.View, error)) (transcript.View, error) {
	s := t.conv.sess
	before := s.Snapshot().Epoch
	v, err := make(s)
	if err == nil && s.Len() != t.at {
		err = errMoved
	}
	if err == nil {
		t.meter = s.Snapshot()
		t.epochs += t.meter.Epoch - before
	}
	return v, err
}

// catchUp takes in what other replicas wrote, and what the request changed beside its
// messages.
func (rw *rewriter) catchUp(ctx context.Context, c *conversation, req *request, from caller) error {
	for {
		if err := c.refresh(ctx); err != nil {
			return err
		}
		if c.rename(c.mode.free(req)); c.setup.model == req.model && c.setup.manual == req.manual &&
			c.setup.silent == req.silent && c.setup.mode == c.mode {
			break
		}
		if err := rw.start(ctx, c, req, from); err != nil {
			return err
		}
	}
	if c.setup.system != req.system || !slices.Equal(c.setup.tools, req.tools) {
		c.setup.system, c.setup.tools = req.head()
		c.sess.SetHead(c.setup.system, slices.Concat(c.setup.tools, c.mode.tools(req)))
	}
	return nil
}

// mark records that the request's messages are in the session, with the folds in force,
// after appending those that are new. A conversation that was first seen midway is also marked
// behind its first answer, so that it is known again when its client goes back further.
func (rw *rewriter) mark(ctx context.Context, c *conversation, t *turn, news ...transcript.Message) error {
	n := countWhile(t.req.messages, func(m transcript.Message) bool { return !isAnswer(m) })
	n += answers(t.req.messages[n:])
	if c.sess.Len() == 0 && n < len(t.req.messages) && len(t.mark.Aliases) == 0 {
		m := t.mark
		m.Client, m.At = n, n
		if err := rw.markAs(ctx, c, t, &m, t.req.prefixes[n-1], news[:n]...); err != nil {
			return err
		}
		news = news[n:]
	}
	for _, prefix := range t.req.comesAgain() {
		m := t.mark
		if err := rw.markAs(ctx, c, t, &m, prefix, news...); err != nil {
			return err
		}
		news, t.mark.seq = nil, m.seq
	}
	return nil
}

func (rw *rewriter) markAs(
	ctx context.Context, c *conversation, t *turn, m *mark, prefix transcript.Hash, news ...transcript.Message,
) error {
	labels := []string{t.from.scope.label(prefix)}
	if len(c.marks) == 0 {
		labels = append(t.from.names(t.req), labels...)
	}
	m.Hash = prefix.String()
	if err := c.record(ctx, labels, m, rw.o.Now(), news...); err != nil {
		return err
	}
	rw.mu.Lock()
	defer rw.mu.Unlock()
	if e, held := rw.sessions[c.key]; held { // else it was dropped meanwhile
		rw.remember(e.Value.(*conversation), indexKey{t.from.scope, prefix})
		c.newest = exchanged{client: m.Client}
	}
	return nil
}

func (rw *rewriter) write(ctx context.Context, t *turn, v transcript.View) error {
	t.folded = !v.IsWhole(t.at)
	v.DropThinking = v.DropThinking || t.conv.drop
	if err := t.conv.writeFiles(ctx, rw.o.RecallDir); err != nil {
		return err
	}
	if rw.o.ObserveOnly {
		t.out = t.req.body
		return nil
	}
	own, err := t.conv.view(ctx, v, t.req, t.client)
	if err != nil {
		return err
	}
	t.drop = v.DropThinking
	if t.req.on == messages {
		if marker, _ := t.conv.warm.Next(own, t.req.size(own)); t.folded {
			own.Marker = marker
		}
	}
	t.out, err = t.req.Splice(own, t.mode.tools(t.req)...)
	return err
}

// holder returns the session that has the client's next answer with hidden rounds, if it is
// another one.
func (rw *rewriter) holder(
	ctx context.Context, c *conversation, p position, s scope,
) (key store.SessionKey, err error) {
	prefix, err := transcript.ParseHash(p.mark.Hash)
	if err != nil || p.said == "" {
		return key, nil
	}
	found, err := rw.o.Store.Find(ctx, s.tenant, store.EntryPrefix, s.answerLabel(prefix, p.said))
	if err != nil {
		return key, fmt.Errorf("find answer: %w", err)
	}
	if len(found) > 0 && found[0].Key != c.key {
		key = found[0].Key
	}
	return key, nil
}

// fork makes a session for a conversation that went another way than the session it was
// found in: the same up to the last request that they share, or to the answer to it, if it
// has hidden rounds. Its name is derived from where they part, so that all replicas choose
// the same.
func (rw *rewriter) fork(
	ctx context.Context, c *conversation, p position, req *request, s scope,
) (store.SessionKey, error) {
	next := "again"
	if p.mark.Client < len(req.prefixes) {
		next = s.label(req.prefixes[p.mark.Client])
	}
	key := store.SessionKey{Tenant: c.key.Tenant}
	upTo, err := rw.shared(ctx, c, p.seq)
	if err != nil {
		return key, err
	}
	key.Session = family(c.key.Session) + "-" + short(fmt.Sprint(c.key.Session, upTo, next))
	if upTo == 0 { // they share no request: a conversation that was never finished has taken the name
		return key, nil
	}
	codecs := map[transcript.Format]transcript.Codec{req.on.format: req.on.codec}
	if err := pleat.Fork(ctx, rw.o.Store, c.key, upTo, key, codecs); err != nil && !errors.Is(err, store.ErrConflict) {
		return store.SessionKey{}, err
	}
	return key, nil
}

// shared is the entry up to which a fork at a mark has all that its session has: an epoch that
// opened for the request stands behind the mark, and its answer was made behind those folds.
func (rw *rewriter) shared(ctx context.Context, c *conversation, mark uint64) (upTo uint64, err error) {
	if upTo = mark; mark == 0 {
		return 0, nil
	}
	if err := c.behind.Wait(ctx); err != nil { // the mark may be on its way
		return 0, err
	}
	for e, err := range rw.o.Store.Scan(ctx, c.key, mark+1, store.EntryMessage, store.EntryEpoch) {
		if err != nil {
			return 0, fmt.Errorf("find epoch of mark %d: %w", mark, err)
		}
		if e.Kind == store.EntryMessage {
			break
		}
		upTo = e.Seq
	}
	return upTo, nil
}
