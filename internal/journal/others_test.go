package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/journal"
	"github.com/pleat-dev/pleat/internal/meter"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// TestConflict: of two journals on one store, as two processes have them, the one that is behind takes in what the
// other wrote, says so, and can go on.
func TestConflict(t *testing.T) {
	st := store.NewMemory()
	a, b := open(t, st), open(t, st)
	a.append(t, transcript.User("from a"))
	n, err := b.Append(t.Context(), b.spill(0), nil, []transcript.Message{transcript.User("from b")})
	if !errors.Is(err, store.ErrConflict) || n != 0 || len(b.failed) > 0 {
		t.Fatalf("behind another's back %d are added: %v", n, err)
	}
	if m, err := b.st.Message(t.Context(), 0); b.st.Len() != 1 || err != nil || m.Text() != "from a" {
		t.Fatalf("b has %d messages, the first is %q, %v", b.st.Len(), m.Text(), err)
	}
	b.append(t, transcript.User("from b"))
	if err := a.Epoch(t.Context(), span(a, 0, 1)); !errors.Is(err, store.ErrConflict) || a.st.Folded() || a.st.Len() != 2 {
		t.Errorf("an epoch behind another's back: %v, %d messages", err, a.st.Len())
	}
	// What does not depend on the other's writing needs no second try.
	must(t, b.Pin(t.Context(), "a pin", false))
	must(t, a.Note(t.Context(), "k", "a note"))
	must(t, b.Usage(t.Context(), meter.Usage{Model: "m", Usage: model.Usage{Input: 5}, Estimated: 5}))
	must(t, a.Refresh(t.Context()))
	if d := difftest.Values(a.knows(t)[:4], b.knows(t)[:4]); d != "" || len(a.st.Notes)+len(b.st.Pins) != 2 {
		t.Errorf("the two know (-a +b):\n%s", d)
	}
	same(t, b, st)
}

// TestConflictWithoutEnd: what others always come before is given up.
func TestConflictWithoutEnd(t *testing.T) {
	st := &hooked{Memory: store.NewMemory()}
	o, other := open(t, st), open(t, st.Memory)
	others := 0
	st.before = func([]store.Entry) error {
		others++
		return other.Note(t.Context(), "k", fmt.Sprint(others))
	}
	if err := o.Pin(t.Context(), "x", false); !errors.Is(err, store.ErrConflict) || others != journal.Tries+1 {
		t.Errorf("after %d of others: %v", others, err)
	}
}

// TestDeleted: a journal whose session was deleted, and perhaps begun again, says so whatever is asked of it.
func TestDeleted(t *testing.T) {
	for _, successor := range []string{"", "Go.", "Something else."} {
		st := store.NewMemory()
		o := open(t, st)
		o.append(t, transcript.User("Go."))
		must(t, st.Forget(t.Context(), key))
		if successor != "" {
			next := open(t, st)
			next.now = next.now.Add(1e9)
			next.append(t, transcript.User(successor), transcript.Assistant(transcript.Say("Done.")))
		}
		_, added := o.Append(t.Context(), o.spill(0), nil, []transcript.Message{transcript.User("And now?")})
		pinned, folded := o.Pin(t.Context(), "x", false), o.Epoch(t.Context(), span(o, 0, 1))
		for _, err := range []error{added, pinned, folded, o.Refresh(t.Context())} {
			if !errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) ||
				!strings.Contains(err.Error(), "open it again") {
				t.Errorf("begun again with %q: %v", successor, err)
			}
		}
		if o.st.Len() != 1 || len(o.st.Pins) > 0 {
			t.Errorf("begun again with %q: %d messages", successor, o.st.Len())
		}
	}
}

// TestDamaged: a body that is damaged costs that message, or that digest, and its handle is an error; calls keep
// their results. That the store cannot be read just now is an error, and nothing is made up.
func TestDamaged(t *testing.T) {
	mem := store.NewMemory()
	o := open(t, mem)
	o.append(t, transcript.User("Read a and b."))
	o.append(t, slices.Concat(round("a", "words of a"), round("b", "words of b"))...)
	told := digest.Origin{Start: 0, End: 3, By: "model"}
	must(t, o.Digest(t.Context(), told, o.st.SourceHash(0, 3), strings.Repeat("It read a. ", 500)))
	for _, tt := range []struct {
		name   string
		seq    int // of the entry whose body cannot be read; 0: all
		err    error
		told   bool // a digest is there
		warned int
	}{
		{"nothing", 9, store.ErrCorrupt, true, 0},
		{"a result", 3, store.ErrCorrupt, true, 1},
		{"a lost result", 3, store.ErrNotFound, true, 1},
		{"a digest", 6, store.ErrCorrupt, false, 0},
		{"the store", 0, errors.New("the disk is away"), false, 0},
	} {
		var bad transcript.Hash
		for _, e := range entries(t, mem, key) {
			if int(e.Seq) == tt.seq {
				bad = e.BodyHash
			}
		}
		st := &hooked{Memory: mem, body: func(h transcript.Hash) error {
			if h == bad || tt.seq == 0 {
				return fmt.Errorf("body %v: %w", h, tt.err)
			}
			return nil
		}}
		again := openKey(st, key, codecs)
		if err := again.Refresh(t.Context()); err != nil {
			if tt.seq > 0 || !errors.Is(err, tt.err) || again.st.Len() > 0 {
				t.Errorf("%s: %v, %d messages", tt.name, err, again.st.Len())
			}
			continue
		}
		if again.st.Len() != 5 || (again.st.NewestTold() > 0) != tt.told || len(again.warned) != tt.warned ||
			again.st.Rounds()[0].Open() || len(again.st.Orphans()) > 0 {
			t.Errorf("%s: %d messages, digest %d, warned %q", tt.name, again.st.Len(), again.st.NewestTold(), again.warned)
		}
		if tt.warned == 0 {
			continue
		}
		m, err := again.st.Message(t.Context(), 2)
		r := m.Blocks().At(0).(transcript.ToolResult)
		if err != nil || r.CallID != "a" || !strings.Contains(r.Text(), "damaged") ||
			!strings.Contains(again.warned[0], "message 2 cannot be read back") {
			t.Errorf("%s: %v, %v, warned %q", tt.name, m, err, again.warned)
		}
		handle := again.st.Facts()[2].Blocks[0].Handle.String()
		place, ok := again.st.Place(handle)
		if text, err := again.st.Content(t.Context(), place, handle); !ok || !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: the damaged result is given out as %q: %v", tt.name, text, err)
		}
	}
}

// TestFork: a store that can fork and one that cannot make the same of a session: the same entries, which are found
// by the same words and make the same conversation. The former reads no body for it.
func TestFork(t *testing.T) {
	ctx, st := t.Context(), &hooked{Memory: store.NewMemory()}
	o := written(t, st)
	fork := func(name string, through store.Store) ([]store.Entry, []store.Hit, []string) {
		t.Helper()
		to := store.SessionKey{Session: name}
		must(t, journal.Fork(ctx, through, key, o.Last(), to, codecs))
		forked := openKey(st, to, codecs)
		must(t, forked.Refresh(ctx))
		if !forked.st.Forked {
			t.Errorf("%s does not know that it is a fork", name)
		}
		hits, err := st.Search(ctx, to, "words of b", 20)
		if err != nil || len(hits) == 0 {
			t.Errorf("%s: %d hits, %v", name, len(hits), err)
		}
		forked.st.Forked = false
		return entries(t, st, to), hits, forked.knows(t)
	}
	st.body = func(transcript.Hash) error { return errors.New("a body is read") }
	must(t, journal.Fork(ctx, st, key, 3, store.SessionKey{Session: "unread"}, codecs))
	st.body = nil
	entries1, hits1, knows1 := fork("quick", st)
	entries2, hits2, knows2 := fork("slow", struct{ store.Store }{st})
	d := difftest.Values(entries1, entries2) + difftest.Values(hits1, hits2) + difftest.Values(knows1, knows2)
	if d != "" {
		t.Errorf("a fork by the store differs from one by Append:\n%s", d)
	}
	if d := difftest.Values(open(t, st).knows(t), knows1); d != "" {
		t.Errorf("the fork (-original +fork):\n%s", d)
	}
	elsewhere := store.SessionKey{Tenant: "elsewhere", Session: "x"}
	must(t, journal.Fork(ctx, st, key, o.Last(), elsewhere, codecs))
	slow := struct{ store.Store }{st}
	for want, err := range map[error]error{
		store.ErrConflict: journal.Fork(ctx, slow, key, 3, elsewhere, codecs),
		store.ErrNotFound: journal.Fork(ctx, slow, key, o.Last()+1, store.SessionKey{Session: "y"}, codecs),
	} {
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// TestInherit: a fork from before an epoch has that epoch, what was told before it, the pins and what the provider
// takes. To take it over again changes nothing.
func TestInherit(t *testing.T) {
	ctx, st := t.Context(), store.NewMemory()
	o := openKey(st, key, codecs)
	must(t, o.Create(ctx, journal.Session{}, ""))
	for _, id := range []string{"a", "b", "c"} {
		o.append(t, round(id, "words of "+id)...)
	}
	must(t, o.Pin(ctx, "let it go", false))
	parts := o.Last()
	must(t, o.Digest(ctx, digest.Origin{Start: 0, End: 4, By: "model"}, o.st.SourceHash(0, 4), "They read a and b."))
	must(t, o.Epoch(ctx, span(o, 0, 4)))
	must(t, o.Pin(ctx, "let it go", true))
	must(t, o.Pin(ctx, "never push to main", false))
	refusal := o.meter.ReadRefusal(&model.APIError{Kind: model.ErrorTooLong, Used: 60_000, Limit: 48_000}, 60_000)
	must(t, o.Usage(ctx, refusal.Learn))

	to := store.SessionKey{Session: "fork"}
	must(t, journal.Fork(ctx, st, key, parts, to, codecs))
	fork := openKey(st, to, codecs)
	must(t, fork.Refresh(ctx))
	bequest, err := o.Bequest(ctx, parts, fork.st.Len(), &o.st.History[0])
	must(t, err)
	for range 2 {
		must(t, fork.Inherit(ctx, bequest))
		if !slices.Equal(fork.st.Pins, []string{"never push to main"}) || fork.meter.Limits() != o.meter.Limits() ||
			!fork.st.Folded() || fork.st.NewestTold() == 0 || fork.st.Parts != o.st.Parts {
			t.Errorf("the fork knows\n%s", strings.Join(fork.knows(t), "\n"))
		}
		bequest, err = o.Bequest(ctx, parts, fork.st.Len(), nil)
		must(t, err)
	}
	if n := len(fork.st.History); n != 1 {
		t.Errorf("the fork has %d epochs", n)
	}
}

// TestTakenBack: what was said last and taken back is gone, here and wherever the entries are read; no stub and no
// answer ever is.
func TestTakenBack(t *testing.T) {
	st := store.NewMemory()
	o := open(t, st)
	o.append(t, transcript.User("Go."), transcript.Assistant(transcript.Say("Done.")), transcript.User("It is five."))
	before := o.st.Parts
	o.append(t, transcript.User("It is six."), transcript.User("And now?"))
	e, err := o.Back(3, 2, nil)
	must(t, err)
	if must(t, o.Write(t.Context(), e)); o.st.Len() != 3 || o.st.Parts != before || o.st.Backs != 1 {
		t.Errorf("%d messages, %+v", o.st.Len(), o.st.Parts)
	}
	same(t, o, st)
	for _, at := range []int{1, 3} {
		e, err := o.Back(at, 1, nil)
		must(t, err)
		if err := o.Write(t.Context(), e); !errors.Is(err, store.ErrCorrupt) || o.st.Len() != 3 {
			t.Errorf("message %d is taken back: %v", at, err)
		}
	}
}

// TestBlankFold: a stored fold that shows nothing in place of a result is none.
func TestBlankFold(t *testing.T) {
	st := store.NewMemory()
	o := open(t, st)
	o.append(t, round("a", strings.Repeat("words of a\n", 60))...)
	whole := fmt.Sprint(o.st.View())
	blank := fold.Fold{ID: 1, Handle: "aaaaaaaa", Lever: "mine", Start: 1, End: 2, Before: 900, Final: true}
	data, err := json.Marshal(map[string]any{"folds": []fold.Fold{blank}})
	must(t, err)
	must(t, o.Write(context.Background(), store.Entry{Kind: store.EntryFold, Data: data}))
	for _, o := range []*opened{o, open(t, st)} {
		if got := fmt.Sprint(o.st.View()); got != whole {
			t.Errorf("it shows %s", got)
		}
	}
}
