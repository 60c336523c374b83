package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

func (s *clause) appendAndScan() {
	const n = 2_600 // more than a page of any store
	key, all := s.key("a"), messages(0, n)
	last := s.append(key, 0, all[0])
	last = s.append(key, last, all[1:n-100]...)
	s.reopened()
	for _, e := range all[n-100:] {
		last = s.append(key, last, e)
	}
	s.reopened()
	s.check(key, all)
	for _, from := range []uint64{0, 1, 2, 350, n - 1, n, n + 1, 1 << 40} {
		got := s.scan(key, from)
		want := asStored(all)[min(max(from, 1)-1, n):]
		difftest.Equal(s, want, append([]store.Entry{}, got...), "Scan from ", from)
	}
	// What the store sets is not taken from the caller.
	bad := message(n)
	bad.Seq, bad.BodyHash, bad.BodySize = 7, transcript.HashOf("else"), 99
	s.append(key, last, bad)
	s.check(key, append(all, message(n)))
}

func (s *clause) kinds() {
	key := s.key("a")
	var all []store.Entry
	kinds := []store.EntryKind{
		store.EntrySession, store.EntryMessage, store.EntryMessage, store.EntryFold, "a kind of its own",
	}
	for i := range 1000 {
		e := message(i)
		e.Kind = kinds[i*7%len(kinds)]
		all = append(all, e)
	}
	s.append(key, 0, all[:10]...)
	s.append(key, 10, all[10:]...)
	for _, want := range [][]store.EntryKind{
		{store.EntryFold},
		{store.EntryMessage, store.EntryFold},
		{"a kind of its own", "none"},
		{"none"},
		{"none", store.EntryFold, store.EntrySession, "a kind of its own"},
	} {
		for _, from := range []uint64{0, 3, 500, 999, 1000, 1001} {
			var expect []store.Entry
			for _, e := range asStored(all) {
				if e.Seq >= from && slices.Contains(want, e.Kind) {
					expect = append(expect, e)
				}
			}
			difftest.Equal(s, expect, s.scan(key, from, want...), "Scan from ", from, " of ", want)
		}
	}
}

func (s *clause) emptyCases() {
	key := s.key("nobody")
	if got := s.scan(key, 0); len(got) != 0 {
		s.Errorf("Scan of a session that is not there: %v", got)
	}
	s.noBody(key, transcript.HashOf("x"), "a session that is not there")
	if found, err := s.Find(s.Context(), key.Tenant, store.EntryPrefix); err != nil || len(found) != 0 {
		s.Errorf("Find without labels: %v, %v", found, err)
	}
	s.append(key, 0) // nothing, after nothing
	if got := s.scan(key, 0); len(got) != 0 {
		s.Errorf("Scan after an Append of nothing: %v", got)
	}
	_, err := s.Append(s.Context(), key, 3)
	s.wants(store.ErrConflict, err, "Append of nothing after entry 3")
	bare := []store.Entry{{Kind: "k"}, {Kind: "k", Data: []byte{}, Body: []byte{}}}
	s.append(key, 0, bare...)
	s.check(key, bare)
	s.noBody(key, transcript.Hash{}, "the zero hash")
	s.noBody(key, transcript.HashOf(""), "the hash of nothing")
	if n, err := s.Append(s.Context(), key, 2); err != nil || n != 2 {
		s.Errorf("Append of nothing after entry 2: %d, %v, want the newest number, 2", n, err)
	}
}

func (s *clause) bodies() {
	key := s.key("a")
	all := []store.Entry{
		{Kind: "k", Body: []byte("once")},
		{Kind: "k", Body: []byte("twice")},
		{Kind: "k", Body: []byte("twice")},
		{Kind: "k", Body: bytes.Repeat([]byte("compresses well "), 10_000)},
		{Kind: "k", Body: noise(100_000)},
		{Kind: "k", Body: []byte{0}},
		{Kind: "k", Body: []byte{0xff, 0, '\n', '"'}},
	}
	s.append(key, 0, all[:3]...)
	s.append(key, 3, all[3:]...)
	s.check(key, all)
	again := []store.Entry{{Kind: "other", Body: []byte("once")}}
	s.append(s.key("b"), 0, again...)
	s.check(s.key("b"), again)
	s.noBody(key, transcript.HashOf("never"), "what was never appended")
	s.kept(key, all)
}

// noise makes bytes that do not compress.
func noise(n int) []byte {
	out := make([]byte, 0, n+32)
	for h := transcript.HashOf("noise"); len(out) < n; h = transcript.HashOf(h[:]) {
		out = append(out, h[:]...)
	}
	return out[:n]
}

func (s *clause) bigBody() {
	key := s.key("a")
	all := []store.Entry{
		{Kind: "k", Body: noise(10 << 20), Data: noise(4 << 20)},
		{Kind: "k", Body: make([]byte, 10<<20)},
	}
	s.append(key, 0, all...)
	s.check(key, all)
}

func (s *clause) oddBytes() {
	entry := func(odd string) (store.SessionKey, []store.Entry) {
		return store.SessionKey{Tenant: s.Name() + odd, Session: odd}, []store.Entry{{
			Kind: store.EntryKind(odd), Label: odd, Data: []byte(odd), Body: []byte(odd), Text: odd, Time: clock,
		}}
	}
	names := []string{
		"\x00", "a\x00b", "\xff\xfe", "'; DROP TABLE entry; --", "\u202e日本\n", strings.Repeat("x", 3000), `"*:^()`,
	}
	for _, odd := range names {
		key, all := entry(odd)
		s.append(key, 0, all...)
	}
	s.stays(func() {
		s.Helper()
		for _, odd := range names {
			key, all := entry(odd)
			s.check(key, all)
			if got := s.scan(key, 0, store.EntryKind(odd)); len(got) != 1 {
				s.Errorf("Scan of kind %q: %d entries, want 1", odd, len(got))
			}
			s.checkFound(key.Tenant, store.EntryKind(odd), []string{odd},
				store.Found{Key: key, Entry: asStored(all)[0]})
			s.checkNewest(key, all)
		}
	})
	// Names that would run together if they were only joined.
	for _, sep := range []string{"", "/", ":", "-", "_", "|", ".", " ", "\\", "\x00"} {
		a := store.SessionKey{Tenant: s.Name() + "a" + sep + "b", Session: "c" + sep}
		b := store.SessionKey{Tenant: s.Name() + "a", Session: "b" + sep + "c" + sep}
		s.append(a, 0, message(1))
		s.append(b, 0, message(2), message(3))
		s.check(a, messages(1, 2))
		s.check(b, messages(2, 4))
	}
}

func (s *clause) times() {
	key := s.key("a")
	zone := time.FixedZone("elsewhere", 5*3600)
	all := []store.Entry{
		{Kind: "k"}, // the zero time
		{Kind: "k", Time: time.Date(2026, 5, 6, 7, 8, 9, 123_456_789, zone)},
		{Kind: "k", Time: time.Date(1901, 1, 1, 0, 0, 0, 999_999, time.UTC)},
		{Kind: "k", Time: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
	s.append(key, 0, all...)
	s.check(key, all)
	if got := s.scan(key, 1); !got[0].Time.IsZero() {
		s.Errorf("the zero time came back as %v", got[0].Time)
	}
}

func (s *clause) copies() {
	key := s.key("a")
	mine := []store.Entry{{Kind: "k", Data: []byte("data"), Body: []byte("body")}}
	want := []store.Entry{{Kind: "k", Data: []byte("data"), Body: []byte("body")}}
	s.append(key, 0, mine...)
	mine[0].Data[0], mine[0].Body[0], mine[0].Kind = 'X', 'X', "x"
	s.check(key, want)
	for e := range s.Scan(s.Context(), key, 1) {
		e.Data[0] = 'Y'
	}
	s.check(key, want)
}

func (s *clause) conflict() {
	key := s.key("a")
	s.append(key, 0, messages(0, 3)...)
	s.reopened()
	for _, last := range []uint64{0, 1, 2, 4, 1 << 62} {
		_, err := s.Append(s.Context(), key, last, message(9))
		s.wants(store.ErrConflict, err, "Append after entry %d of 3", last)
	}
	_, err := s.Append(s.Context(), s.key("new"), 1, message(9))
	s.wants(store.ErrConflict, err, "Append after entry 1 of a new session")
	s.check(key, messages(0, 3))
	s.check(s.key("new"), nil)
}

func (s *clause) allOrNothing() {
	key := s.key("a")
	s.append(key, 0, messages(0, 2)...)
	bad := append(messages(2, 50), store.Entry{}) // the last one has no kind
	if _, err := s.Append(s.Context(), key, 2, bad...); err == nil {
		s.Error("Append of an entry without a kind succeeded")
	}
	s.check(key, messages(0, 2))
	s.noBody(key, transcript.HashOf("body number 2"), "a failed Append")
	s.append(key, 2, messages(2, 4)...)
	s.check(key, messages(0, 4))
}

func (s *clause) isolation() {
	keys := []store.SessionKey{
		{Tenant: s.Name() + "A", Session: "same"},
		{Tenant: s.Name() + "A", Session: "other"},
		{Tenant: s.Name() + "B", Session: "same"},
		{Tenant: s.Name() + "A", Session: "Same"},
		{Tenant: s.Name() + "A", Session: "same "},
		{Tenant: s.Name() + "a", Session: "same"},
	}
	for i, key := range keys {
		s.append(key, 0, messages(10*i, 10*i+5)...)
	}
	for i, key := range keys {
		s.check(key, messages(10*i, 10*i+5))
		for j, other := range keys {
			if i != j {
				s.noBody(other, transcript.HashOf(fmt.Sprintf("body number %d", 10*i)), "%v read through %v", key, other)
			}
		}
	}
	// The same body in two tenants is readable in both, and only there.
	shared := store.Entry{Kind: "k", Body: []byte("shared secret")}
	s.append(keys[0], 5, shared)
	s.append(keys[2], 5, shared)
	for i, key := range keys {
		_, err := s.Body(s.Context(), key, transcript.HashOf("shared secret"))
		if want := i == 0 || i == 2; (err == nil) != want {
			s.Errorf("Body through %v: %v", key, err)
		}
	}
}
