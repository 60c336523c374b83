package pleattest

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/store"
)

func (s *storeTest) sizes() {
	sizer := optional[store.Sizer](s)
	body := bytes.Repeat([]byte("many words that are the same. "), 1000)
	small := []byte("small")
	for _, step := range []struct {
		tenant, session string
		entries         []store.Entry
	}{
		{"b", "1", []store.Entry{{Kind: "k", Body: body}, {Kind: "k"}}},
		{"b", "2", []store.Entry{{Kind: "k", Body: body}, {Kind: "k", Body: small}, {Kind: "k", Body: body}}},
		{"a", "1", []store.Entry{{Kind: "k", Body: body}}},
	} {
		s.append(store.SessionKey{Tenant: s.Name() + step.tenant, Session: step.session}, 0, step.entries...)
	}
	got, err := sizer.Sizes(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	mine := slices.DeleteFunc(got.Tenants, func(t store.TenantSize) bool { return !strings.HasPrefix(t.Tenant, s.Name()) })
	stored := int64(0)
	for i, t := range mine {
		if t.Stored <= 0 || t.Stored > int64(len(body)+len(small)) {
			s.Errorf("%s: %d bytes stored of %d", t.Tenant, t.Stored, t.BodyBytes)
		}
		stored += t.Stored
		mine[i].Stored = 0
	}
	n := int64(len(body))
	want := []store.TenantSize{
		{Tenant: s.Name() + "a", Sessions: 1, Entries: 1, BodyBytes: n, Bodies: 1},
		{Tenant: s.Name() + "b", Sessions: 2, Entries: 5, BodyBytes: 3*n + int64(len(small)), Bodies: 2},
	}
	if d := diff(want, mine); d != "" {
		s.Errorf("Sizes (-want +got):\n%s", d)
	}
	tables := int64(0)
	for _, t := range got.Tables {
		tables += t.Data + t.Indexes
	}
	if got.Bytes < stored || len(got.Tables) > 0 && (tables < stored || tables > got.Bytes) {
		s.Errorf("%d bytes in all and %d in tables, of bodies alone %d", got.Bytes, tables, stored)
	}
}
