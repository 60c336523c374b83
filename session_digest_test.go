package pleat_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
)

// hung returns a session at red whose model of digests never answers.
func hung(t *testing.T, waits bool) *pleat.Session {
	s := open(t, store.NewMemory(), &pleat.Options{
		Budget: fold.Budget{Window: 16_000},
		Digest: digest.Options{NoBackground: waits, Deadline: 8 * time.Second, Generator: model.GeneratorFunc(
			func(ctx context.Context, _ *model.Request, _ func(model.Delta)) (model.Reply, error) {
				<-ctx.Done()
				return model.Reply{}, ctx.Err()
			},
		)},
	})
	t.Cleanup(func() { s.Close() })
	pleattest.Digestible(t, s, 16)
	pleattest.View(t, s) // yellow: unless waits, the model is asked in the background
	synctest.Wait()
	pleattest.Digestible(t, s, 8)
	return s
}

// A caller whose time ends before the model's gets a page by code while there is time left for it.
func TestDigestLeavesTimeForPage(t *testing.T) {
	for _, waits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := hung(t, waits)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			if _, err := s.Messages(ctx); err != nil || ctx.Err() != nil || len(s.Report().Epochs) != 1 {
				t.Errorf("waits %v: %v, %v, %d epochs", waits, err, ctx.Err(), len(s.Report().Epochs))
			}
		})
	}
}

// A digest in flight is waited for once, however many calls that takes.
func TestDigestIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hung(t, false)
		began := time.Now()
		for {
			ctx, cancel := context.WithCancel(t.Context())
			gone := time.AfterFunc(3*time.Second, cancel) // a client that does not say how long it stays
			_, err := s.Messages(ctx)
			gone.Stop()
			if err == nil {
				break
			}
			if want := "view of session test: wait for digest: context canceled"; err.Error() != want {
				t.Fatalf("the error is %q, want %q", err, want)
			}
		}
		if waited := time.Since(began); waited != 8*time.Second {
			t.Errorf("waited for %v", waited)
		}
		began = time.Now()
		pleattest.Digestible(t, s, 16)
		pleattest.View(t, s)
		if waited := time.Since(began); waited > 0 || len(s.Report().Epochs) != 2 {
			t.Errorf("waited once more for %v, %d epochs", waited, len(s.Report().Epochs))
		}
	})
}

// A model that says nothing for ten seconds is not waited for any longer, nor one that wants to be asked
// again after the deadline. One whose answer has begun is. What comes late is on the next page.
func TestDigestFirstByte(t *testing.T) {
	const late = "it is still being written"
	const second, minute = time.Second, time.Minute
	limited := &model.APIError{Kind: model.ErrorRateLimited, Status: 429, RetryAfter: 5 * minute}
	for name, tt := range map[string]struct {
		first, whole time.Duration // until the first byte and the whole answer
		fails        error
		waits        bool
		stall        time.Duration
		by, why      string
	}{
		"silent":            {first: 2 * minute, whole: 2 * minute, stall: 10 * second, by: "code", why: late},
		"begins late":       {first: 11 * second, whole: 2 * minute, stall: 10 * second, by: "code", why: late},
		"streams":           {first: 9 * second, whole: 50 * second, stall: 50 * second, by: "model"},
		"streams too long":  {first: second, whole: 2 * minute, stall: minute, by: "code", why: late},
		"not in background": {whole: 50 * second, waits: true, stall: 50 * second, by: "model"},
		"asks to wait":      {fails: limited, by: "code", why: "model API error 429"},
		"asks a caller":     {fails: limited, waits: true, by: "code", why: "model API error 429"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				var shown digest.Origin
				s := open(t, store.NewMemory(), &pleat.Options{
					Budget: fold.Budget{Window: 16_000},
					Observe: func(_ context.Context, _ pleat.Key, e pleat.Event) {
						if e.Kind == pleat.EventDigest && e.Fold != nil {
							shown = *e.Digest
						}
					},
					Digest: digest.Options{NoBackground: tt.waits, Generator: model.GeneratorFunc(
						func(ctx context.Context, _ *model.Request, sink func(model.Delta)) (r model.Reply, err error) {
							asked.Add(1)
							if tt.fails != nil {
								return r, tt.fails
							}
							time.Sleep(tt.first)
							sink(model.Delta{Text: "<"})
							time.Sleep(tt.whole - tt.first)
							const read = "<digest>Files were read: src/file1.go, src/file2.go, src/file3.go.</digest>"
							return pleattest.Say(read).Reply, ctx.Err()
						},
					)},
				})
				defer s.Close()
				epoch := func() (digest.Origin, time.Duration) {
					t.Helper()
					pleattest.Digestible(t, s, 24)
					began := time.Now()
					pleattest.View(t, s)
					return shown, time.Since(began)
				}
				o, stall := epoch()
				if o.By != tt.by || !strings.HasPrefix(o.Why, tt.why) || stall != tt.stall || asked.Load() != 1 {
					t.Errorf("by %s (%s) after %v and %d requests", o.By, o.Why, stall, asked.Load())
				}
				if tt.why != late {
					return
				}
				time.Sleep(3 * time.Minute)
				if o, stall = epoch(); o.By != "model" || !o.Background || stall > 0 || asked.Load() != 1 {
					t.Errorf("then %v after %v and %d requests, background %v", o, stall, asked.Load(), o.Background)
				}
			})
		})
	}
}

// The page by code while a digest hangs has no reason of an earlier one, and a model that never
// answers stalls a session no longer than it takes to find that out.
func TestDigestHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, stalled := 0, time.Duration(0)
		var reasons []string
		s := open(t, store.NewMemory(), &pleat.Options{
			Budget: fold.Budget{Window: 16_000},
			Observe: func(_ context.Context, _ pleat.Key, e pleat.Event) {
				if e.Kind == pleat.EventDigest && e.Fold != nil {
					reasons = append(reasons, e.Digest.Why)
				}
			},
			Digest: digest.Options{Generator: model.GeneratorFunc(
				func(ctx context.Context, _ *model.Request, _ func(model.Delta)) (r model.Reply, err error) {
					if asked++; asked == 1 {
						return r, &model.APIError{Kind: model.ErrorAuth, Status: 401, Message: "no key"}
					}
					<-ctx.Done()
					return r, ctx.Err()
				},
			)},
		})
		defer s.Close()
		for range 40 {
			pleattest.Digestible(t, s, 12)
			began := time.Now()
			pleattest.View(t, s)
			stalled += time.Since(began)
			time.Sleep(20 * time.Second)
		}
		for i, why := range reasons {
			if why == "" || i > 0 && strings.Contains(why, "no key") {
				t.Errorf("reason %d is %q", i, why)
			}
		}
		if stalled > 40*time.Second || len(reasons) < 10 {
			t.Errorf("stalled for %v in %d epochs", stalled, len(reasons))
		}
	})
}
