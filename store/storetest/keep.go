package storetest

import (
	"slices"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

func (s *clause) sessions() {
	keeper := optional[store.Keeper](s)
	tenant := s.Name() + "tenant"
	a, b := store.SessionKey{Tenant: tenant, Session: "a"}, store.SessionKey{Tenant: tenant, Session: "b"}
	s.append(store.SessionKey{Tenant: tenant + "2", Session: "c"}, 0, message(0))
	if got := s.list(tenant); len(got) != 0 {
		s.Fatalf("sessions of a tenant without any: %v", got)
	}
	s.append(a, 0, messages(0, 3)...)
	s.append(b, 0, message(100))
	s.append(a, 3, message(3), message(3)) // the same body twice counts twice
	infoA := store.SessionInfo{Key: a, Entries: 5, BodyBytes: 5 * 13, First: message(0).Time, Last: message(3).Time}
	infoB := store.SessionInfo{Key: b, Entries: 1, BodyBytes: 15, First: message(100).Time, Last: message(100).Time}
	for range keeper.Sessions(s.Context(), tenant) {
		break
	}
	s.stays(func() {
		s.Helper()
		difftest.Equal(s, []store.SessionInfo{infoA, infoB}, s.list(tenant), "Sessions")
	})
}

// list returns the sessions of a tenant in a store that can list them.
func (s *clause) list(tenant string) (infos []store.SessionInfo) {
	s.Helper()
	for info, err := range optional[store.Keeper](s).Sessions(s.Context(), tenant) {
		if err != nil {
			s.Fatalf("Sessions of %q: %v", tenant, err)
		}
		infos = append(infos, info)
	}
	return infos
}

// checkNewest: the session that was written last is listed first, with what it holds, if the store
// can list.
func (s *clause) checkNewest(key store.SessionKey, entries []store.Entry) {
	s.Helper()
	if _, ok := s.Store.(store.Keeper); !ok {
		return
	}
	want := store.SessionInfo{
		Key: key, Entries: uint64(len(entries)), First: entries[0].Time, Last: entries[len(entries)-1].Time,
	}
	for _, e := range entries {
		want.BodyBytes += int64(len(e.Body))
	}
	var got store.SessionInfo
	if infos := s.list(key.Tenant); len(infos) > 0 {
		got = infos[0]
	}
	difftest.Equal(s, want, got, "the first of Sessions")
}

// drop deletes a session, and reports whether the store can.
func (s *clause) drop(key store.SessionKey) bool {
	s.Helper()
	keeper, ok := s.Store.(store.Keeper)
	if ok {
		if err := keeper.Forget(s.Context(), key); err != nil {
			s.Fatalf("Forget: %v", err)
		}
	}
	return ok
}

func (s *clause) forget() {
	keeper := optional[store.Keeper](s)
	a, b := s.key("a"), s.key("b")
	own := store.Entry{Kind: "k", Label: "own", Body: []byte("only in a"), Text: "aardvark words"}
	shared := store.Entry{Kind: "k", Label: "shared", Body: []byte("in both"), Text: "badger words"}
	s.append(b, 0, shared)
	s.append(a, 0, own, shared)
	s.expect(a, map[string][]uint64{"aardvark": {1}})
	s.drop(a)
	s.check(a, nil)
	s.check(b, []store.Entry{shared})
	s.noBody(a, transcript.HashOf("in both"), "a forgotten session")
	s.checkFound(a.Tenant, "k", []string{"own", "shared"},
		store.Found{Key: b, Entry: asStored([]store.Entry{shared})[0]})
	s.wants(store.ErrNotFound, keeper.Forget(s.Context(), a), "Forget twice")
	s.expect(a, map[string][]uint64{"aardvark": {}, "words": {}})
	s.expect(b, map[string][]uint64{"words": {1}})
	// The name is free again.
	s.append(a, 0, message(1))
	s.check(a, messages(1, 2))
	s.expect(a, map[string][]uint64{"aardvark": {}, "words": {}})
	s.verify()
}

// forgetThenAppend: what is appended after a session was deleted is the newest, as ever.
func (s *clause) forgetThenAppend() {
	tenant, ends := s.Name()+"tenant", make(map[string]uint64)
	key := func(name string) store.SessionKey { return store.SessionKey{Tenant: tenant, Session: name} }
	add := func(names ...string) {
		s.Helper()
		for _, name := range names {
			ends[name] = s.append(key(name), ends[name], store.Entry{Kind: "k", Label: "l", Time: clock})
		}
	}
	forget := func(names ...string) {
		s.Helper()
		for _, name := range names {
			s.drop(key(name))
			delete(ends, name)
		}
	}
	check := func(want ...string) {
		s.Helper()
		var got []string
		for _, info := range s.list(tenant) {
			got = append(got, info.Key.Session)
		}
		if !slices.Equal(want, got) {
			s.Errorf("Sessions: %q, want %q", got, want)
		}
		newest := store.Entry{Seq: ends[want[0]], Kind: "k", Label: "l", Time: clock}
		s.checkFound(tenant, "k", []string{"l"}, store.Found{Key: key(want[0]), Entry: newest})
	}
	add("a", "b", "c", "d")
	forget("d", "c")
	check("b", "a")
	add("a")
	check("a", "b")
	add("c")
	check("c", "a", "b")
	forget("a")
	s.reopened()
	check("c", "b")
	forget("c")
	add("d", "b", "a")
	check("a", "b", "d")
}

func (s *clause) verify() {
	keeper := optional[store.Keeper](s)
	entry := store.Entry{Kind: "k", Label: "l", Text: "text", Body: noise(10_000)}
	s.append(s.key("verify"), 0, append(messages(0, 50), entry)...)
	for damage, err := range keeper.Verify(s.Context()) {
		s.Errorf("Verify: %+v, %v", damage, err)
	}
}
