package main

import (
	"context"
	"slices"
	"strings"
)

func (o *storeOptions) stats(ctx context.Context, p *program, _ []string) error {
	store, about, err := o.at(ctx, p, formatStoreStats, readOnly)
	if err != nil {
		return err
	}
	defer store.Close()
	sizes, err := store.Sizes(ctx)
	if err != nil {
		return err
	}
	out := &statsJSON{storeJSON: about, Bytes: sizes.Bytes, Tenants: []tenantJSON{}, Tables: []tableJSON{}}
	for _, t := range sizes.Tenants {
		if o.tenant == "" || o.tenant == t.Tenant {
			out.Tenants = append(out.Tenants, tenantJSON(t))
		}
	}
	for _, t := range sizes.Tables {
		out.Tables = append(out.Tables, tableJSON(t))
	}
	return p.output(o.json, out)
}

// print lays the figures out for people. The sum comes last.
func (s *statsJSON) print(p *page) {
	p.line("%s (%s): %s", s.Store, s.Kind, byteSize(s.Bytes))
	p.line("")
	rows := [][]string{{"TENANT", "SESSIONS", "ENTRIES", "SAID", "BODIES", "KEPT IN"}}
	all := tenantJSON{Tenant: "all"}
	add := func(t tenantJSON, name string) {
		rows = append(rows, []string{name, thousands(t.Sessions), thousands(int(t.Entries)), byteSize(t.BodyBytes), thousands(int(t.Bodies)), byteSize(t.Stored)})
	}
	for _, t := range s.Tenants {
		name := printable(t.Tenant)
		if name == "" {
			name = "(none)"
		}
		add(t, name)
		all.Sessions += t.Sessions
		all.Entries += t.Entries
		all.BodyBytes += t.BodyBytes
		all.Bodies += t.Bodies
		all.Stored += t.Stored
	}
	if len(s.Tenants) != 1 {
		add(all, all.Tenant)
	}
	p.table(rows)
	p.line("")
	rows = [][]string{{"TABLE", "ROWS", "DATA", "INDEXES"}}
	for _, t := range s.Tables {
		rows = append(rows, []string{t.Name, thousands(int(t.Rows)), byteSize(t.Data), byteSize(t.Indexes)})
	}
	p.table(rows)
}

// table writes rows in columns, the first to the left and the others to the right.
func (p *page) table(rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], columns(cell))
		}
	}
	for _, row := range rows {
		cells := slices.Clone(row)
		for i, cell := range row {
			if cells[i] = padLeft(cell, width[i]); i == 0 {
				cells[i] = pad(cell, width[i])
			}
		}
		p.line("%s", strings.Join(cells, "  "))
	}
}
