package exchange

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// turn is a request whose session is known: what goes out, and what is needed to handle
// the answer.
type turn struct {
	req   request
	key   store.SessionKey
	conv  *conversation
	mode  lineage.Mode // of the conversation, which others may rename meanwhile
	out   []byte
	at    int  // length of the transcript
	backs int  // how often something of it was taken back
	drop  bool // the view needs the provider to drop thinking

	mark    lineage.Mark         // of the request
	resumed int                  // of its hidden rounds, those of an exchange before that did not end
	hidden  []transcript.Message // of its hidden rounds: in the transcript after the mark
	folded  bool
	meter   fold.Snapshot
	size    client
}

// rewrite brings a conversation up to date with a request and makes what goes out for it: the session's
// view, written with the request's own bytes. It holds the conversation's lock throughout, so requests of
// one conversation are handled one after another. With ErrDiverged the place says where to fork.
func (rw *Rewriter) rewrite(
	ctx context.Context, c *conversation, req request, resume bool,
) (t *turn, p lineage.Place, err error) {
	c.mu.Lock()
	defer c.unlock()

	// Other replicas may have written to the session. The client may have another model now,
	// another system prompt or other tools.
	if err := rw.catchUp(ctx, c, req); err != nil {
		return nil, p, err
	}
	// Find which messages of the request the session has. If the two diverge, the caller takes the request to
	// another session or to a fork.
	if p, err = rw.findPlace(ctx, c, req, resume); err != nil {
		return nil, p, err
	}
	t = &turn{req: req, key: c.key, conv: c, mode: c.track.Mode, mark: p.Mark}
	t.mark.Mode = c.track.Mode
	idle := time.Duration(0)
	if last := c.track.Last; !last.IsZero() {
		idle = max(rw.o.Now().Sub(last), 0)
	}
	// The messages that the session lacks are stored, with a mark that says that they were a request.
	sentBefore := p.Mark.Client == len(req.Messages)
	if !sentBefore {
		if err := rw.store(ctx, t, &p); err != nil {
			return nil, p, err
		}
		c.publish() // making the view may take a model's time
	}
	t.backs = c.track.Backs
	// Hidden rounds of an earlier try, whose answer broke off, are kept and not done again.
	t.at = t.mark.At
	if p.Open {
		if err := t.resume(ctx, p.At); err != nil {
			return nil, p, err
		}
	}
	// The session returns its view of the transcript. If the view would be too long, it folds, and stores
	// what it folded before it returns.
	v, err := t.view(func(s *pleat.Session) (transcript.View, error) {
		return s.View(ctx, pleat.Turn{Idle: idle, Since: t.since(), Again: sentBefore && !p.Open})
	})
	if err != nil {
		return nil, p, err
	}
	if req.report.Epochs > 0 {
		c.wrote(inside.Of(c.sess).LastSeq() - 1) // the epoch
	}
	ttl := c.setup.cache.TTL
	t.measure(p, len(ttl) > 0 && idle > ttl[0])
	// The view becomes a request: the client's own bytes, with our stubs, page and tools among them.
	return t, p, rw.write(ctx, t, v)
}

// findPlace finds the place of a request in a conversation. It returns ErrDiverged if the request
// belongs to another.
func (rw *Rewriter) findPlace(ctx context.Context, c *conversation, req request, resume bool) (lineage.Place, error) {
	p, err := c.track.Find(ctx, c.sess, req.Request, resume)
	if err != nil && !errors.Is(err, lineage.ErrDiverged) {
		return p, err
	}
	var failed error
	if can, again := inside.Of(c.sess).CanTakeBack(p.Back); !can {
		err = lineage.ErrDiverged
	} else if !again {
		p.Back.Again = nil
	}
	p.Holder, failed = rw.archive.Holder(ctx, req.from.Scope, c.key, p)
	if failed == nil && p.Holder != (store.SessionKey{}) {
		err = lineage.ErrDiverged
	}
	return p, cmp.Or(failed, err)
}

// store appends the request's new messages to its session, with marks. A conversation that was first
// seen midway is also marked after its first answer, so that it is known again when its client goes
// back further.
func (rw *Rewriter) store(ctx context.Context, t *turn, p *lineage.Place) error {
	c, req := t.conv, t.req
	if err := c.takeBack(ctx, p.Back); err != nil {
		return err
	}
	size, all := c.sess.Len(), len(req.Messages)
	news, err := rw.archive.Originals(ctx, t.req.from.Scope, req.Request, p, c.track.Mode.Own, size)
	if err != nil {
		return err
	}
	t.mark = lineage.Mark{
		Mode: c.track.Mode, Client: all, At: size + len(news), Tools: req.HasTools(),
		Aliases: p.Aliases, Before: c.track.Before.Session,
	}
	folds := len(c.sess.Folds())
	marks := []int{all} // after messages of the client; what follows the newest answer may come again otherwise
	if n := lineage.LastAnswer(req.Messages); 0 < n && n < all {
		marks = []int{n, all}
	}
	n := max(slices.IndexFunc(req.Messages, lineage.IsAnswer), 0)
	n += lineage.Answers(req.Messages[n:])
	if c.sess.Len() == 0 && 0 < n && n < marks[0] && len(p.Aliases) == 0 {
		marks = slices.Insert(marks, 0, n)
	}
	for _, n := range marks {
		m := t.mark
		m.Client, m.At = n, t.mark.At-(all-n)
		m.Aliases = slices.DeleteFunc(slices.Clone(m.Aliases), func(a lineage.Alias) bool { return a.To > m.At })
		if m.At < size { // it is known
			continue
		}
		if err := rw.storeMark(ctx, t, &m, req.Prefixes[n-1], news[:m.At-size]...); err != nil {
			return err
		}
		news, size = news[m.At-size:], m.At
		t.mark.Seq, t.mark.Hash = m.Seq, m.Hash
	}
	req.report.Stored = len(c.sess.Folds()) - folds
	return nil
}

func (rw *Rewriter) storeMark(
	ctx context.Context, t *turn, m *lineage.Mark, prefix transcript.Hash, news ...transcript.Message,
) error {
	c, labels := t.conv, []string{t.req.from.Scope.Label(prefix)}
	if len(c.track.Requests) == 0 {
		labels = append(t.req.from.Names(t.req.Request), labels...)
	}
	m.Hash = prefix.String()
	if err := c.record(ctx, labels, m, rw.o.Now(), news...); err != nil {
		return err
	}
	rw.pool.update(c, func() { rw.pool.remember(c, indexKey{t.req.from.Scope, prefix}) })
	return nil
}

// view lets the session make a view for the turn. The caller holds the conversation's lock.
func (t *turn) view(make func(*pleat.Session) (transcript.View, error)) (transcript.View, error) {
	s := t.conv.sess
	before := s.Snapshot().Epoch
	v, err := make(s)
	if err == nil && s.Len() != t.at { // somebody wrote while the epoch was made
		err = store.ErrConflict
	}
	if err == nil {
		t.meter = s.Snapshot()
		t.req.report.Epochs += t.meter.Epoch - before
	}
	return v, err
}

// write makes the request that goes out of a view of the session.
func (rw *Rewriter) write(ctx context.Context, t *turn, v transcript.View) error {
	c := t.conv
	t.folded = !v.IsWhole(t.at)
	v.DropThinking = v.DropThinking || c.track.Drop
	if err := c.writeFiles(ctx, rw.o.RecallDir); err != nil {
		return err
	}
	own, err := c.view(ctx, v, t.req, t.client())
	if err != nil {
		return err
	}
	t.drop = v.DropThinking
	if t.req.Protocol == protocol.Messages {
		if marker, _ := c.warm.Next(own, t.req.Size(own)); t.folded {
			own.Marker = marker
		}
	}
	t.out, err = t.req.Splice(own, t.mode.Tools(t.req.Request)...)
	return err
}

// client has the client's message for each of the transcript: -1 for those of hidden rounds. The caller holds
// the conversation's lock.
func (t *turn) client() []int {
	return append(slices.Clone(t.conv.track.Client[:t.mark.At]), slices.Repeat([]int{-1}, t.at-t.mark.At)...)
}

// view turns a view of the transcript into one of the request's messages. Messages that
// the client does not have are included whole.
func (c *conversation) view(
	ctx context.Context, v transcript.View, req request, client []int,
) (transcript.View, error) {
	if v.IsWhole(len(client)) && !slices.ContainsFunc(client, func(i int) bool { return i < 0 }) {
		c.hidden = nil
		return v, nil
	}
	out := transcript.View{Messages: make([]transcript.ViewMessage, len(v.Messages)), DropThinking: v.DropThinking}
	hidden := make(map[int]transcript.Message)
	for i, vm := range v.Messages {
		if c.track.Renamed {
			vm = c.renameIn(vm)
		}
		out.Messages[i] = vm
		switch {
		case vm.Source < 0:
		case client[vm.Source] >= 0:
			out.Messages[i].Source = client[vm.Source]
			// A message may come again without the texts at its end.
			if n := slices.IndexFunc(vm.Edits, func(e transcript.BlockEdit) bool {
				return e.Block >= req.Messages[client[vm.Source]].Blocks().Len()
			}); n >= 0 {
				out.Messages[i].Edits = vm.Edits[:n]
			}
		default:
			m, known := c.hidden[vm.Source]
			if !known {
				var err error
				if m, err = c.sess.Message(ctx, vm.Source); err == nil {
					m, err = req.Protocol.Alone(m)
				}
				if err != nil {
					return transcript.View{}, fmt.Errorf("read hidden message %d: %w", vm.Source, err)
				}
			}
			hidden[vm.Source] = m
			m, err := req.Protocol.Edited(m, vm.Edits)
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
		vm.Made = transcript.User(renamed(c.track.Mode, m.Text())).WithOrigin(m.Origin())
	}
	vm.Edits = slices.Clone(vm.Edits)
	for i := range vm.Edits {
		vm.Edits[i].Text = renamed(c.track.Mode, vm.Edits[i].Text)
	}
	return vm
}
