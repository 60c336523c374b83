package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// sameData keeps the data of entries.
func sameData(e store.Entry) ([]byte, error) { return e.Data, nil }

// forkable makes entries of every sort.
func forkable() []store.Entry {
	all := append(messages(0, 300),
		store.Entry{
			Kind: "k", Label: "marked", Body: noise(100_000), Text: "walrus in an entry with a body", Time: clock,
		},
		store.Entry{Kind: "k", Body: []byte("narwhal itself"), Text: "narwhal itself", Time: clock},
		store.Entry{Kind: "k", Text: "dolphin", Data: []byte("no body"), Time: clock},
		store.Entry{Kind: "k", Body: []byte("narwhal itself"), Label: "marked", Time: clock},
		store.Entry{Kind: "k", Body: []byte(`{"text":"porpoise in a body"}`), Text: "porpoise in a body", Time: clock},
	)
	for i := range all[:300] {
		all[i].Text = fmt.Sprintf("text of entry%d", i+1)
	}
	return all
}

// fork: a fork is its original up to there, and both go their own ways.
func (s *clause) fork() {
	forker := optional[store.Forker](s)
	a, all := s.key("a"), forkable()
	s.append(a, 0, all...)
	s.expect(a, map[string][]uint64{"walrus": {301}}) // so some of it is indexed when it is forked
	late := store.Entry{Kind: "k", Label: "marked", Text: "walrus again", Time: clock}
	s.append(a, uint64(len(all)), late)
	want := slices.Clone(all)
	want[1].Data, want[2].Data = []byte("another"), nil
	rewrite := func(e store.Entry) ([]byte, error) {
		switch e.Seq {
		case 2:
			return []byte("another"), nil
		case 3:
			return nil, nil
		}
		difftest.Equal(s, asStored(all)[e.Seq-1], e, "entry ", e.Seq, ", to be copied")
		return e.Data, nil
	}
	for _, n := range []int{len(all), 301, 1} {
		b := s.key(fmt.Sprint("b", n))
		if err := forker.Fork(s.Context(), a, uint64(n), b, rewrite); err != nil {
			s.Fatalf("Fork at entry %d: %v", n, err)
		}
		s.check(b, want[:n])
		s.checkNewest(b, want[:n])
	}
	b := s.key(fmt.Sprint("b", len(all)))
	// The entry of the newest fork that has one.
	s.checkFound(a.Tenant, "k", []string{"marked"}, store.Found{Key: s.key("b301"), Entry: asStored(want)[300]})
	searched := func() {
		s.Helper()
		s.expect(b, map[string][]uint64{
			"walrus": {301}, "narwhal": {302}, "dolphin": {303}, "porpoise": {305}, "entry7": {7}, "otter": {307},
			"seal": {},
		})
		s.expect(s.key("b301"), map[string][]uint64{"walrus": {301}, "narwhal": {}})
	}
	more := []store.Entry{{Kind: "k", Body: []byte("own"), Time: clock}, {Kind: "k", Text: "otter", Time: clock}}
	s.append(a, uint64(len(all))+1, store.Entry{Kind: "k", Text: "seal", Time: clock})
	s.append(b, uint64(len(all)), more...)
	s.check(a, append(slices.Clone(all), late, store.Entry{Kind: "k", Time: clock}))
	want = append(want, more...)
	s.check(b, want)
	if got := s.scan(b, 0, "k"); len(got) != 7 {
		s.Errorf("the fork has %d entries of a kind, want 7", len(got))
	}
	searched()
	s.expect(a, map[string][]uint64{"walrus": {301, 306}, "seal": {307}, "otter": {}})
	if s.drop(a) {
		s.check(b, want)
		searched()
		s.verify()
	}
	if s.reopened() {
		s.check(b, want)
		searched()
	}
}

// forkRefused: a fork that cannot be made leaves nothing behind.
func (s *clause) forkRefused() {
	forker := optional[store.Forker](s)
	a, b, there := s.key("a"), s.key("b"), s.key("there")
	s.append(a, 0, messages(0, 5)...)
	s.append(there, 0, messages(7, 8)...)
	broken := errors.New("broken")
	for _, c := range []struct {
		what     string
		from, to store.SessionKey
		upTo     uint64
		data     func(store.Entry) ([]byte, error)
		want     error // nil: any
	}{
		{"more than there is", a, b, 6, sameData, store.ErrNotFound},
		{"what is not there", s.key("nobody"), b, 1, sameData, store.ErrNotFound},
		{"over another session", a, there, 5, sameData, store.ErrConflict},
		{"over another session, nothing", a, there, 0, sameData, store.ErrConflict},
		{"over itself", a, a, 5, sameData, store.ErrConflict},
		{"to another tenant", a, store.SessionKey{Tenant: s.Name(), Session: "b"}, 5, sameData, nil},
		{"with an error", a, b, 5, func(e store.Entry) ([]byte, error) {
			if e.Seq == 5 {
				return nil, broken
			}
			return e.Data, nil
		}, broken},
	} {
		if err := forker.Fork(s.Context(), c.from, c.upTo, c.to, c.data); err == nil ||
			c.want != nil && !errors.Is(err, c.want) {
			s.Errorf("fork %s: %v, want %v", c.what, err, c.want)
		}
		if c.to != a && c.to != there {
			s.check(c.to, nil)
		}
	}
	s.check(a, messages(0, 5))
	s.check(there, messages(7, 8))
	if err := forker.Fork(s.Context(), a, 0, b, sameData); err != nil {
		s.Errorf("fork before the first entry: %v", err)
	}
	s.check(b, nil)
	s.noBody(b, transcript.HashOf("body number 1"), "a fork that was refused")
	// What the callback gets and returns is the caller's.
	var mine [][]byte
	if err := forker.Fork(s.Context(), a, 5, b, func(e store.Entry) ([]byte, error) {
		copied := bytes.Clone(e.Data)
		e.Data[0] = 'X'
		mine = append(mine, copied)
		return copied, nil
	}); err != nil {
		s.Fatal(err)
	}
	for _, data := range mine {
		data[0] = 'Y'
	}
	s.check(a, messages(0, 5))
	s.check(b, messages(0, 5))
}

// forkMany: of many that make the same fork one wins, whatever happens to the original.
func (s *clause) forkMany() {
	forker := optional[store.Forker](s)
	a, b := s.key("a"), s.key("b")
	s.append(a, 0, messages(0, 50)...)
	var wg sync.WaitGroup
	var made atomic.Int32
	wg.Go(func() { s.append(a, 50, messages(50, 60)...) })
	for range 6 {
		wg.Go(func() {
			err := forker.Fork(s.Context(), a, 50, b, sameData)
			if err == nil {
				made.Add(1)
			} else if !errors.Is(err, store.ErrConflict) {
				s.Errorf("Fork: %v, want ErrConflict", err)
			}
		})
	}
	wg.Wait()
	if made.Load() != 1 {
		s.Errorf("%d forks of the same name were made, want 1", made.Load())
	}
	s.check(a, messages(0, 60))
	s.check(b, messages(0, 50))
	keeper, ok := s.Store.(store.Keeper)
	if !ok {
		return
	}
	for i := range 10 { // forgotten while it is forked
		from, to := s.key(fmt.Sprint("from", i)), s.key(fmt.Sprint("to", i))
		entry := store.Entry{Kind: "k", Body: fmt.Append(nil, "only in ", i), Time: clock}
		s.append(from, 0, entry)
		wg.Go(func() {
			if err := keeper.Forget(s.Context(), from); err != nil {
				s.Errorf("Forget: %v", err)
			}
		})
		err := forker.Fork(s.Context(), from, 1, to, sameData)
		wg.Wait()
		switch {
		case err == nil:
			s.check(to, []store.Entry{entry})
		case errors.Is(err, store.ErrNotFound):
			s.check(to, nil)
		default:
			s.Errorf("Fork of a session that is being forgotten: %v", err)
		}
	}
}
