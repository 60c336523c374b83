package pleat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// claimDigest is what a process claims before it asks for a digest.
const claimDigest = "digest"

// digesting is a session's part in getting digests from a model.
type digesting struct {
	guard  digestGuard
	flight chan struct{} // closed when the digest in flight is there, or is not; nil: none
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	looked int // tokens of the view when a digest was last thought of
}

// Close ends what the session does in the background and waits for it. The session can be
// used further; nothing is prepared any more. The store is not closed.
func (s *Session) Close() error {
	s.mu.Lock()
	s.dig.cancel()
	s.mu.Unlock()
	s.dig.work.Wait()
	return nil
}

// canDigest reports whether a model may be asked now, and if not, why.
func (s *Session) canDigest() (bool, string) {
	if s.o.Digest.Generator == nil {
		return false, ""
	}
	return s.dig.guard.closed()
}

// answer gets the digest that a plan needs, while the caller waits. The lock is held when
// it is called and when it returns, and free in between: the session can be used.
func (s *Session) answer(ctx context.Context, need need) {
	newest := s.newestTold()
	if err := s.refresh(ctx); err == nil && s.newestTold() != newest {
		return // another process has just stored one
	}
	if s.o.Policy.Digest.Notes && len(s.st.notes) > 0 || !s.o.Policy.Digest.Trust && s.st.notesSayEnough(need.start, need.end) {
		s.keepDigest(ctx, DigestReport{Start: need.start, End: need.end, By: "code", Why: "the notes and the ledger say enough", Focus: need.focus},
			s.st.sourceHash(need.start, need.end), "")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Digest.Deadline)
	defer cancel()
	if wait := s.dig.flight; wait != nil {
		s.unlocked(func() {
			select {
			case <-wait:
			case <-ctx.Done():
			}
		})
		return
	}
	s.digest(ctx, need, false)
}

// newestTold is the number of the newest usable digest's entry.
func (s *Session) newestTold() uint64 {
	if n := len(s.st.told); n > 0 {
		return s.st.told[n-1].seq
	}
	return 0
}

// unlocked calls f with the lock free. The call under way goes on after it, with its
// context.
func (s *Session) unlocked(f func()) {
	ctx := s.st.msgs.ctx
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.st.msgs.ctx = ctx
	}()
	f()
}

// digestAhead has a digest made in the background if red is near and will need one. The lock
// is held. Whether it is worth while is found out in the background too.
func (s *Session) digestAhead(o planOptions) {
	total := s.st.parts.Total()
	if s.o.Digest.NoBackground || !o.model || s.o.Policy.Digest.Trust || s.dig.flight != nil || s.dig.ctx.Err() != nil ||
		total < o.limits.Yellow || total >= s.dig.looked && total-s.dig.looked < o.limits.Window/20 {
		return
	}
	s.dig.looked = total
	done := make(chan struct{})
	s.dig.flight = done
	s.dig.work.Go(func() {
		ctx, cancel := context.WithTimeout(s.dig.ctx, 4*s.o.Digest.Deadline)
		defer cancel()
		defer s.begin(ctx)()
		s.dig.flight = nil
		if need := s.st.needAhead(&s.o.Policy, o); need != nil {
			s.digest(ctx, *need, true)
			if s.newestTold() > s.st.epochSeq { // what a page is written from is looked through now, not at red
				o.trigger, o.model = TriggerRed, false
				makePlan(s.st, &s.o.Policy, o)
			}
		}
		close(done)
	})
}

// digest asks the model, with the lock free, and stores what came of it.
func (s *Session) digest(ctx context.Context, need need, background bool) {
	src, err := s.digestSource(need)
	if err != nil {
		s.o.Logger.Warn("a digest could not be asked for", "session", s.key.String(), "err", err)
		return
	}
	j := &digestJob{
		src: src, o: s.o.Digest, how: askOf(s.o.Policy.Digest), live: s.o.Model, rates: s.rates(),
		count: s.o.Tokens.CountText, key: s.key.Session, allow: s.dig.guard.allow,
	}
	done := make(chan struct{})
	s.dig.flight = done
	defer func() {
		s.dig.flight = nil
		close(done)
	}()
	var text string
	outer := ctx
	s.unlocked(func() {
		release, ok := s.claim(ctx, background)
		if !ok {
			err = errClaimed
			return
		}
		text, err = j.run(ctx)
		if err := release(context.WithoutCancel(ctx)); err != nil {
			s.o.Logger.Warn("a claim could not be released; it ends by itself", "session", s.key.String(), "err", err)
		}
	})
	if errors.Is(err, errClaimed) || s.dig.ctx.Err() != nil && background {
		return
	}
	if outer.Err() == nil || errors.Is(outer.Err(), context.DeadlineExceeded) {
		if err == nil || !errors.Is(err, errDigestSpent) {
			s.dig.guard.ended(err == nil)
		}
	}
	if err == nil && !j.how.trust {
		if more := s.miner.missed(need.start, need.end, text, src.need.room/6, s.st.recall); more != "" {
			text += "\n\n" + more
			j.report.Tokens = j.count(text)
		}
	}
	j.report.Background = background
	s.keepDigest(context.WithoutCancel(ctx), j.report, src.hash, text)
}

var errClaimed = errors.New("another process is at it")

// claim makes sure that no other process asks for a digest of the session. Who waits for
// the digest waits for the other's as well.
func (s *Session) claim(ctx context.Context, background bool) (release func(context.Context) error, ok bool) {
	free := func(context.Context) error { return nil }
	c, has := s.store.(Claimer)
	if !has {
		return free, true
	}
	known := s.newestToldLocked()
	for {
		release, ok, err := c.Claim(ctx, s.key, claimDigest, 5*s.o.Digest.Deadline)
		if err != nil {
			s.o.Logger.Warn("a digest could not be claimed", "session", s.key.String(), "err", err)
			return free, true // asking twice is dearer than not asking, but not wrong
		}
		if ok || background {
			return release, ok
		}
		t := time.NewTimer(250 * time.Millisecond)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil, false
		case <-t.C:
		}
		end := s.begin(ctx)
		err = s.refresh(ctx)
		there := s.newestTold() != known
		end()
		if err != nil || there {
			return nil, false
		}
	}
}

func (s *Session) newestToldLocked() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newestTold()
}

// keepDigest stores a digest, or that there is none, and takes it in.
func (s *Session) keepDigest(ctx context.Context, r DigestReport, source Hash, text string) {
	data, err := json.Marshal(digestData{DigestReport: r, Source: source})
	if err == nil {
		err = s.put(ctx, Entry{Kind: EntryDigest, Data: data, Body: []byte(text)})
	}
	if err != nil {
		s.o.Logger.Warn("a digest could not be stored and is not used", "session", s.key.String(), "err", fmt.Errorf("store digest: %w", err))
		return
	}
	if r.Background {
		s.tell(Event{Kind: EventDigest, Digest: &r})
	}
	if r.By != "model" {
		s.o.Logger.Warn("code writes the digest", "session", s.key.String(), "why", r.Why)
	}
}

// applyDigest takes a stored digest in. One whose text is damaged is as good as none.
func (s *Session) applyDigest(ctx context.Context, e Entry) error {
	var d digestData
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	if e.Body == nil && e.BodySize > 0 {
		body, err := s.store.Body(ctx, s.key, e.BodyHash)
		if err != nil && !isDamage(err) {
			return err
		}
		e.Body = body
	}
	s.digests = append(s.digests, d.DigestReport)
	s.st.narrated(narrative{
		start: d.Start, end: d.End, focus: d.Focus, text: string(e.Body), tokens: d.Tokens, source: d.Source, seq: e.Seq,
	})
	s.usd += d.USD
	return nil
}

// needAhead is the digest that the next epoch will need when it comes at red: of turns
// old enough that those which come until then fit beside it. Nil if folding results will
// be enough.
func (s *folding) needAhead(p *Policy, o planOptions) *need {
	o.trigger = TriggerRed
	d := newDraft(s, p, o.limits, o.limits.Target)
	if p.UntilGreen {
		d.goal = o.limits.Red - 1
	}
	if p.Guaranteed {
		d.goal = max(d.goal, d.attainable(2*maxPage))
	}
	d.model, d.recall, d.echo = o.model, o.recall, o.echo
	page := d.pageTokens()
	ahead := max(o.limits.Red-s.parts.Total(), 0)
	goal := d.goal
	d.goal = 0 // as far as they go
	for _, l := range p.Levers {
		if l == LeverDigest {
			break
		}
		d.pull([]Lever{l}, o)
	}
	d.goal = goal
	// What comes until red will shrink as much as what there is.
	if total := s.parts.Total(); d.total+ahead*d.total/max(total, 1) <= d.goal || d.barred(LeverDigest, o) {
		return nil
	}
	start := d.head()
	end := d.digestEnd(start, d.tail(p.Digest.Keep), page+d.restoreRoom()+ahead)
	if end <= start || d.fresh(s.narrativeFor(end, ""), end) {
		return nil
	}
	return &need{start: start, end: end, room: d.narrativeRoom(page)}
}

// reportOf tells how the digest of a fold came to be: by the model whose text it shows, or
// by code, and then why.
func (s *Session) reportOf(f *Fold) DigestReport {
	n := len(s.digests) - 1
	if f.By == "model" {
		for ; n > 0 && s.digests[n].By != "model"; n-- {
		}
	}
	if n >= 0 && s.digests[n].By == f.By && s.digests[n].Start < f.End {
		return s.digests[n]
	}
	return DigestReport{Start: f.Start, End: f.End, By: "code"}
}
