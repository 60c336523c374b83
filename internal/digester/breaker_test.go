package digester_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
)

// TestBreaker: a model that failed three times in a row rests for five minutes, here and in forks, and is then asked
// once; what a caller stopped counts for nothing.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := true
		g := script(func(int) (model.Reply, error) {
			if bad {
				return model.Reply{}, errors.New("connection refused")
			}
			return pleattest.Say(written).Reply, nil
		})
		p := join(t, store.NewMemory(), digest.Options{NoBackground: true, Generator: g})
		fork := join(t, store.NewMemory(), digest.Options{Generator: g})
		fork.ShareGuard(p.Digester)
		p.talk(t, 20)
		can := func(want bool) {
			t.Helper()
			for _, d := range []*party{p, fork} {
				ok, why := d.Can()
				if ok != want || (why == "") != ok || !ok && !strings.Contains(why, "failed in a row; the model rests") {
					t.Errorf("it may be asked: %v, %q", ok, why)
				}
			}
		}
		gone, cancel := context.WithCancel(t.Context())
		p.before = cancel
		p.answer(gone)
		p.before = nil
		for i := range 3 {
			can(true)
			if o, _ := p.answer(t.Context()); o.By != "code" || !strings.Contains(o.Why, "connection refused") ||
				p.count("warning") != i+1 {
				t.Errorf("by %s (%s), told %q", o.By, o.Why, p.told)
			}
		}
		can(false)
		o := p.OriginOf(&fold.Fold{End: 9, By: "code"}, len(p.digests()))
		if o.Model != "m" || !strings.Contains(o.Why, "rests") {
			t.Errorf("a page while it rests: %+v", o)
		}
		time.Sleep(6 * minute)
		can(true)
		p.answer(t.Context()) // fails
		can(false)
		time.Sleep(6 * minute)
		bad = false
		if o, _ := p.answer(t.Context()); o.By != "model" {
			t.Errorf("by %s (%s)", o.By, o.Why)
		}
		can(true)
	})
}

// TestCalls: so many calls are made within ten minutes, and no failure is one too many of them.
func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := pleattest.Always(written)
		p := join(t, store.NewMemory(), digest.Options{NoBackground: true, Calls: 3, Breaker: 1, Generator: g})
		p.talk(t, 20)
		for i, want := range []int{1, 2, 3, 3, 4} {
			if i == 4 {
				time.Sleep(11 * minute)
			}
			ok, why := p.Can()
			p.answer(t.Context())
			if len(g.Requests()) != want || ok == (i == 3) || !ok && !strings.Contains(why, "too many calls") {
				t.Errorf("digest %d: %d calls; it might be asked: %v, %q", i, len(g.Requests()), ok, why)
			}
		}
	})
	p := join(t, store.NewMemory(), digest.Options{})
	if ok, why := p.Can(); ok || why != "" {
		t.Errorf("nobody may be asked: %v, %q", ok, why)
	}
}

// TestHangs: a model that refuses its key, and then hangs, holds nobody up for long.
func TestHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &pleattest.Script{Steps: append([]pleattest.Step{pleattest.Fail(&model.APIError{
			Kind: model.ErrorAuth, Status: 401, Message: "no key",
		})}, slices.Repeat([]pleattest.Step{{Hang: true}}, 99)...)}
		p := join(t, store.NewMemory(), digest.Options{Generator: g})
		p.talk(t, 20)
		stalled := time.Duration(0)
		for i := range 40 {
			if ok, _ := p.Can(); ok { // else the session writes the page at once
				o, took := p.answer(t.Context())
				if stalled += took; o.Why == "" || i > 0 && strings.Contains(o.Why, "no key") {
					t.Errorf("page %d is by code: %q", i, o.Why)
				}
			}
			time.Sleep(20 * second)
		}
		if p.Close(); stalled > 40*second {
			t.Errorf("stalled for %v", stalled)
		}
	})
}

// TestClose: what is written in the background ends, is not stored, and is no failure; later a digest is written
// only while a caller waits.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := join(t, store.NewMemory(), digest.Options{Breaker: 1, Generator: speaking(second, 30*second, nil)})
		p.talk(t, 20)
		p.ahead(t.Context(), 70_000, nil)
		synctest.Wait()
		began := time.Now()
		if p.Close(); time.Since(began) > 0 || p.Flying() || len(p.digests()) > 0 || p.count("warning") > 0 {
			t.Errorf("after %v: told %q", time.Since(began), p.told)
		}
		p.ahead(t.Context(), 90_000, nil)
		o, took := p.answer(t.Context())
		if o.By != "model" || o.Background || took != 30*second || p.count("writing") != 2 {
			t.Errorf("by %s after %v, told %q", o.By, took, p.told)
		}
	})
}

// TestPanics: a generator that panics fails that digest, in the background and while somebody waits, and the log says
// where; what whoever is told panics with ends what was prepared, and no more.
func TestPanics(t *testing.T) {
	for _, waits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := join(t, store.NewMemory(), digest.Options{NoBackground: waits, Generator: script(
				func(int) (model.Reply, error) { panic("oops") })})
			p.talk(t, 20)
			if p.ahead(t.Context(), 70_000, nil); waits {
				p.answer(t.Context())
			}
			synctest.Wait()
			d := p.digests()
			if len(d) != 1 || d[0].By != "code" || d[0].Why != "asking it panicked: oops" || d[0].Background == waits {
				t.Errorf("waits %v: digests are %+v", waits, d)
			}
			if !strings.Contains(p.log.String(), "breaker_test.go") {
				t.Errorf("waits %v: the log has:\n%s", waits, &p.log)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := join(t, store.NewMemory(), digest.Options{Generator: pleattest.Always(written)})
		p.talk(t, 20)
		p.before = func() { panic("oops") }
		p.ahead(t.Context(), 70_000, nil)
		synctest.Wait()
		p.before = nil
		if o, _ := p.answer(t.Context()); o.By != "model" || !strings.Contains(p.log.String(), "panicked: oops") {
			t.Errorf("by %s, the log has:\n%s", o.By, &p.log)
		}
	})
}

// TestOriginOf: a fold is told to be by whoever wrote the newest digest that it can show.
func TestOriginOf(t *testing.T) {
	p := join(t, store.NewMemory(), digest.Options{NoBackground: true, Generator: pleattest.Always(written)})
	p.talk(t, 20)
	p.answer(t.Context())
	for _, tt := range []struct {
		by    string
		known int
		want  string
	}{
		{"model", 1, "0–62 model m"}, {"notes", 0, "3–9 notes "}, {"code", 0, "3–9 code "},
	} {
		o := p.OriginOf(&fold.Fold{Start: 3, End: 9, By: tt.by}, tt.known)
		if got := fmt.Sprintf("%d–%d %s %s", o.Start, o.End, o.By, o.Model); got != tt.want {
			t.Errorf("by %s: %s, want %s", tt.by, got, tt.want)
		}
	}
}

// TestOthersDigest: a digest that another process has stored meanwhile is taken, and none that tells of messages
// that have changed since. What the model may read is asked for when it is asked.
func TestOthersDigest(t *testing.T) {
	st := store.NewMemory()
	o := digest.Options{NoBackground: true, Generator: pleattest.Always(written)}
	first := join(t, st, o)
	first.talk(t, 20)
	second := join(t, st, o)
	first.answer(t.Context())
	if got, _ := second.answer(t.Context()); got.By != "model" || second.count("writing") > 0 {
		t.Errorf("by %s, told %q", got.By, second.told)
	}
	second.talk(t, 4)
	second.answer(t.Context())
	s := o.Generator.(*pleattest.Script)
	text := pleattest.Text(s.Requests()[len(s.Requests())-1].Messages)
	if !strings.Contains(text, "sessionCache evicts after 300") || second.count("writing") != 1 {
		t.Errorf("told %q, the model reads:\n%s", second.told, text)
	}
}
