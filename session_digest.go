package pleat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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
	flight chan struct{} // closed when the digest in flight is there, or is not; nil: none
	until  time.Time     // how long that is waited for; zero: nobody has waited yet
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	looked int // tokens of the view when a digest was last thought of
}

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
	instead, by := s.notesInstead(need.Ask), "notes"
	if instead == "" {
		by = "code"
	}
	if instead != "" || !need.Ask.AsIs && s.notesSayEnough(ctx, need) {
		s.keepDigest(ctx, digest.Origin{
			Start: need.Start, End: need.End, By: by, Why: "the notes and the ledger say enough", Focus: need.Focus,
			Tokens: s.o.Tokens.CountText(instead),
		}, s.st.SourceHash(need.Start, need.End), instead)
		return
	}
	ctx, cancel := s.patience(ctx)
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

// patience bounds how long a caller waits for a digest. The one in flight is waited for once, however
// often callers come and go, and a quarter of a caller's own time is left for the page by code.
func (s *Session) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	now := time.Now()
	until := now.Add(s.o.Digest.Deadline)
	if s.dig.flight != nil {
		if s.dig.until.IsZero() {
			s.dig.until = until
		}
		until = s.dig.until
	}
	if own, ok := ctx.Deadline(); ok {
		if early := own.Add(-own.Sub(now) / 4); early.Before(until) {
			until = early
		}
	}
	return context.WithDeadline(ctx, until)
}

// notesInstead returns the notes where they are so long that they take the place of a summary.
func (s *Session) notesInstead(ask fold.Ask) string {
	var b strings.Builder
	for _, n := range s.st.Notes {
		fmt.Fprintf(&b, "%s: %s\n", n.Key, n.Text)
	}
	if ask.Notes == 0 || s.o.Tokens.CountText(b.String()) < ask.Notes {
		return ""
	}
	return b.String()
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
func (s *Session) digestAhead(o fold.PlanOptions) {
	total := s.st.Parts.Total()
	if s.o.Digest.NoBackground || !o.Model || s.o.Policy.Asks().AsIs || s.dig.flight != nil || s.dig.ctx.Err() != nil ||
		total < o.Limits.Yellow || total >= s.dig.looked && total-s.dig.looked < o.Limits.Window/20 {
		return
	}
	s.dig.looked = total
	done := make(chan struct{})
	s.dig.flight = done
	s.dig.work.Go(func() {
		ctx, cancel := context.WithTimeout(s.dig.ctx, 4*s.o.Digest.Deadline)
		defer cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.dig.flight, s.dig.until = nil, time.Time{}
		defer close(done)
		// Whoever could recover from a panic of an observer or a counter is not below us.
		if err := fault.Caught(func() error { return s.prepareDigest(ctx, o) }); err != nil {
			s.o.Logger.Warn("a digest could not be prepared", append(fault.Log(err), "session", s.key.String())...)
		}
	})
}

// prepareDigest has the digest made that the next epoch at red will need, if it will need one.
func (s *Session) prepareDigest(ctx context.Context, o fold.PlanOptions) error {
	need, err := fold.NeedAhead(ctx, s.st, s.st.Layout.In, &s.o.Policy, o)
	if err != nil || need == nil {
		return err
	}
	s.digest(ctx, *need, true)
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
func (s *Session) digest(ctx context.Context, need fold.Need, background bool) {
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
		Source: src, Options: s.o.Digest, Live: s.o.Model, Rates: s.rates(),
		Count: s.o.Tokens.CountText, Key: s.key.Session, Allow: s.dig.guard.Allow,
	}
	done := make(chan struct{})
	s.dig.flight = done
	defer func() {
		s.dig.flight, s.dig.until = nil, time.Time{}
		close(done)
	}()
	held := s.claim(ctx, need, background)
	if held == nil {
		return
	}
	defer held.end()
	s.tell(ctx, Event{Kind: EventWriting, Digest: s.asked(need, background)})
	var text string
	var report digest.Origin
	s.unlocked(func() { text, report, err = summarizer.Write(ctx, job) })
	if errors.As(err, new(*fault.Panic)) {
		about := append(fault.Log(err), "session", s.key.String())
		s.o.Logger.Error("the model of digests could not be asked", about...)
	}
	if s.dig.ctx.Err() != nil && background {
		return
	}
	stopped := errors.Is(ctx.Err(), context.Canceled) // by the caller
	if !stopped && (err == nil || !errors.Is(err, summarizer.ErrSpent)) {
		s.dig.guard.Ended(err == nil)
	}
	report.Background = background
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
	n := fold.Narrative{Start: d.Start, End: d.End, Focus: d.Focus, Text: string(e.Body), Tokens: d.Tokens, By: d.By}
	s.st.Tell(n, d.Source, e.Seq)
	s.usd += d.USD
	return nil
}

// reportOf tells how the digest of a fold came to be: by the model whose text it shows, or
// by code, and then why.
func (s *Session) reportOf(f *fold.Fold) digest.Origin {
	n := len(s.digests) - 1
	if f.By == "model" {
		for ; n > 0 && s.digests[n].By != "model"; n-- {
		}
	}
	if n >= 0 && s.digests[n].By == f.By && s.digests[n].Start < f.End {
		return s.digests[n]
	}
	return digest.Origin{Start: f.Start, End: f.End, By: "code"}
}
