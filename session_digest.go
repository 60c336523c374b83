package pleat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/fault"
	"github.com/pleat-dev/pleat/internal/summarizer"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// digesting is a session's part in getting digests from a model.
type digesting struct {
	guard  *summarizer.Guard
	flight *flight // nil: none
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	looked int // tokens of the view when a digest was last thought of
}

// flight is a digest that is being written.
type flight struct {
	background bool          // nobody waits for it
	began      time.Time     // when a caller first waited for it; zero: none has
	heard      chan struct{} // closed with the first byte of an answer
	done       chan struct{} // closed when the digest is there, or is not
}

// firstByte is how long a caller waits for a model that says nothing.
const firstByte = 10 * time.Second

// Close ends what the session does in the background and waits for it. The session can still be
// used, but prepares no more digests. The store is not closed.
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
	return s.dig.guard.Closed()
}

// answer gets the digest that a plan needs, while the caller waits. The lock is held when
// it is called and when it returns, and free in between: the session can be used.
func (s *Session) answer(ctx context.Context, need fold.Need) {
	newest := s.st.NewestTold()
	if err := s.refresh(ctx); err == nil && s.st.NewestTold() != newest {
		return // another process has just stored one
	}
	if !need.Ask.AsIs && s.notesSayEnough(ctx, need) {
		s.keepDigest(ctx, digest.Origin{
			Start: need.Start, End: need.End, By: "code", Why: "the notes and the ledger say enough", Focus: need.Focus,
		}, s.st.SourceHash(need.Start, need.End), "")
		return
	}
	f := s.dig.flight
	if f == nil && s.waits() {
		f = s.takeOff(false)
		defer s.land(f)
		ctx, cancel := s.patience(ctx, time.Now())
		defer cancel()
		s.digest(ctx, need, f)
		return
	}
	if f == nil {
		f = s.fly(ctx, false, func(ctx context.Context, f *flight) error { s.digest(ctx, need, f); return nil })
	}
	s.await(ctx, f)
}

// waits reports whether digests are written only while a caller waits.
func (s *Session) waits() bool {
	return s.o.Digest.NoBackground || s.o.Policy.Asks().AsIs || s.dig.ctx.Err() != nil
}

// await waits for a digest in flight: for a model that says nothing no longer than firstByte, and
// for one digest only once, however often callers come and go. What is given up goes on.
func (s *Session) await(ctx context.Context, f *flight) {
	if f.began.IsZero() {
		f.began = time.Now()
	}
	ctx, cancel := s.patience(ctx, f.began)
	defer cancel()
	silent, end := context.WithDeadline(ctx, f.began.Add(firstByte))
	defer end()
	s.unlocked(func() {
		select {
		case <-f.heard:
		case <-f.done:
		case <-silent.Done():
		}
		select {
		case <-f.heard:
		default:
			ctx = silent
		}
		select {
		case <-f.done:
		case <-ctx.Done():
		}
	})
	f.background = true
}

// patience bounds how long a caller waits for a digest, from when it began to. A quarter of the
// caller's own time is left for the page by code.
func (s *Session) patience(ctx context.Context, began time.Time) (context.Context, context.CancelFunc) {
	until := began.Add(s.o.Digest.Deadline)
	if own, ok := ctx.Deadline(); ok {
		if early := own.Add(-time.Until(own) / 4); early.Before(until) {
			until = early
		}
	}
	return context.WithDeadline(ctx, until)
}

// takeOff notes that a digest is being written, and land that it no longer is.
func (s *Session) takeOff(background bool) *flight {
	s.dig.flight = &flight{background: background, heard: make(chan struct{}), done: make(chan struct{})}
	return s.dig.flight
}

func (s *Session) land(f *flight) {
	s.dig.flight = nil
	close(f.done)
}

// fly has a digest written while the session goes on, for as long as one in the background may take.
// The lock is held when it is called and when it calls write.
func (s *Session) fly(ctx context.Context, background bool, write func(context.Context, *flight) error) *flight {
	f := s.takeOff(background)
	s.dig.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 4*s.o.Digest.Deadline)
		defer cancel()
		defer context.AfterFunc(s.dig.ctx, cancel)()
		s.mu.Lock()
		defer s.mu.Unlock()
		defer s.land(f)
		// Whoever could recover from a panic of an observer or a counter is not below us.
		if err := fault.Caught(func() error { return write(ctx, f) }); err != nil {
			s.o.Logger.Warn("a digest could not be prepared", append(fault.Log(err), "session", s.key.String())...)
		}
	})
	return f
}

// notesSayEnough reports whether a digest would only repeat the agent's notes. If that cannot
// be found out, it would not.
func (s *Session) notesSayEnough(ctx context.Context, need fold.Need) bool {
	enough, err := s.st.NotesSayEnough(ctx, need.Start, need.End)
	return enough && err == nil
}

// unlocked calls f with the lock free.
func (s *Session) unlocked(f func()) {
	s.mu.Unlock()
	defer s.mu.Lock()
	f()
}

// digestAhead has a digest made in the background if red is near and will need one. The lock
// is held. Whether it is worth while is found out in the background too.
func (s *Session) digestAhead(ctx context.Context, o fold.PlanOptions) {
	total := s.st.Parts.Total()
	if s.waits() || !o.Model || s.dig.flight != nil || total < o.Limits.Yellow ||
		total >= s.dig.looked && total-s.dig.looked < o.Limits.Window/20 {
		return
	}
	s.dig.looked = total
	s.fly(ctx, true, func(ctx context.Context, f *flight) error { return s.prepareDigest(ctx, o, f) })
}

// prepareDigest has the digest made that the next epoch at red will need, if it will need one.
func (s *Session) prepareDigest(ctx context.Context, o fold.PlanOptions, f *flight) error {
	var need *fold.Need
	err := s.leavingOut(ctx, &o.Barred, func() (err error) {
		need, err = fold.NeedAhead(ctx, s.st, s.st.Layout.In, &s.o.Policy, o)
		return err
	})
	if err != nil || need == nil {
		return err
	}
	s.digest(ctx, *need, f)
	if s.st.NewestTold() <= s.st.EpochSeq {
		return nil
	}
	// What a page is written from is looked through now, and not when the view is red.
	o = s.planOptions()
	o.Trigger, o.Model = fold.TriggerRed, false
	_, err = s.plan(ctx, o)
	return err
}

// digest asks the model, with the lock free, and stores what came of it.
func (s *Session) digest(ctx context.Context, need fold.Need, f *flight) {
	src, err := s.digestSource(ctx, need)
	if err != nil {
		s.warn(ctx, Event{Warning: fmt.Sprintf("a digest could not be asked for: %v", err)})
		return
	}
	ask := need.Ask
	job := summarizer.Job{
		Ask: summarizer.Ask{
			Prompt: ask.Prompt, Opening: ask.Opening, Closing: ask.Closing, JSON: ask.JSON, Source: ask.Source,
			Retries: ask.Retries, ZeroTemp: ask.ZeroTemp, Trust: ask.AsIs,
		},
		Source: src, Options: s.o.Digest, Live: s.o.Model, Rates: s.meter.Rates(s.st.Parts.Total()),
		Count: s.o.Tokens.CountText, Key: s.key.Session, Allow: s.dig.guard.Allow,
		Heard: sync.OnceFunc(func() { close(f.heard) }),
	}
	held := s.claim(ctx, need, f.background)
	if held == nil {
		return
	}
	defer held.end()
	s.tell(ctx, Event{Kind: EventWriting, Digest: s.asked(need, f.background)})
	var text string
	var report digest.Origin
	s.unlocked(func() { text, report, err = summarizer.Write(ctx, job) })
	if errors.As(err, new(*fault.Panic)) {
		about := append(fault.Log(err), "session", s.key.String())
		s.o.Logger.Error("the model of digests could not be asked", about...)
	}
	if s.dig.ctx.Err() != nil && f.background {
		return
	}
	stopped := errors.Is(ctx.Err(), context.Canceled) // by the caller
	if !stopped && (err == nil || !errors.Is(err, summarizer.ErrSpent)) {
		s.dig.guard.Ended(err == nil)
	}
	report.Background = f.background
	s.keepDigest(context.WithoutCancel(ctx), report, src.Hash, text)
	if warning := report.Unwritten(); warning != "" && !stopped {
		s.warn(ctx, Event{Digest: &report, Warning: warning})
	}
}

// keepDigest stores a digest, or that there is none, and takes it in.
func (s *Session) keepDigest(ctx context.Context, r digest.Origin, source transcript.Hash, text string) {
	data, err := json.Marshal(digestData{Origin: r, Source: source})
	if err == nil {
		err = s.put(ctx, store.Entry{Kind: store.EntryDigest, Data: data, Body: []byte(text)})
	}
	if err != nil {
		s.o.Logger.Warn("a digest could not be stored and is not used", "session", s.key.String(), "err", err)
		return
	}
	if r.Background {
		s.tell(ctx, Event{Kind: EventDigest, Digest: &r})
	}
}

// applyDigest takes a stored digest in. One whose text is damaged is as good as none.
func (s *Session) applyDigest(ctx context.Context, e store.Entry) error {
	var d digestData
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	if e.Body == nil && e.BodySize > 0 {
		body, err := s.store.Body(ctx, s.key, e.BodyHash)
		if err != nil && !conv.IsDamage(err) {
			return err
		}
		e.Body = body
	}
	s.digests = append(s.digests, d.Origin)
	n := fold.Narrative{Start: d.Start, End: d.End, Focus: d.Focus, Text: string(e.Body), Tokens: d.Tokens}
	s.st.Tell(n, d.Source, e.Seq)
	s.meter.Spend(d.USD)
	return nil
}

// reportOf tells how the digest of a fold came to be: by the model whose text it shows, or by code, and
// then why. The digests before known are of earlier epochs.
func (s *Session) reportOf(f *fold.Fold, known int) digest.Origin {
	switch f.By {
	case "notes":
		return digest.Origin{Start: f.Start, End: f.End, By: f.By}
	case "model":
		known = 0
	}
	for _, d := range slices.Backward(s.digests[known:]) {
		if d.By == f.By {
			return d
		}
	}
	r := digest.Origin{Start: f.Start, End: f.End, By: f.By}
	if _, r.Why = s.canDigest(); s.dig.flight != nil {
		r.Why = "it is still being written"
	}
	if r.Why != "" {
		r.Model = s.o.Digest.Model.ID
	}
	return r
}
