package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// statsJSON is what "pleat store stats --json" prints.
type statsJSON struct {
	storeJSON
	Bytes   int64        `json:"bytes"` // of the file or database
	Tenants []tenantJSON `json:"tenants"`
	Tables  []tableJSON  `json:"tables"` // largest first
}

type tenantJSON struct {
	Tenant   string `json:"tenant"`
	Sessions int    `json:"sessions"`
	Entries  uint64 `json:"entries"`
	Raw      int64  `json:"raw"`    // bytes of all that was said
	Bodies   int64  `json:"bodies"` // different ones
	Stored   int64  `json:"stored"` // bytes that they take
}

type tableJSON struct {
	Table   string `json:"table"`
	Rows    int64  `json:"rows"`
	Data    int64  `json:"data"`
	Indexes int64  `json:"indexes"`
}

func (o *storeOptions) stats(ctx context.Context, p *program, _ []string) error {
	path, err := p.storePath(o.path)
	if err != nil {
		return err
	}
	store, err := openStoreAt(ctx, path, readOnly)
	if err != nil {
		return err
	}
	defer store.Close()
	sizes, err := store.Sizes(ctx)
	if err != nil {
		return err
	}
	out := statsJSON{storeJSON: aboutStore(formatStoreStats, path), Bytes: sizes.Bytes, Tenants: []tenantJSON{}, Tables: []tableJSON{}}
	for _, t := range sizes.Tenants {
		if o.tenant == "" || o.tenant == t.Tenant {
			out.Tenants = append(out.Tenants, tenantJSON{t.Tenant, t.Sessions, t.Entries, t.BodyBytes, t.Bodies, t.Stored})
		}
	}
	for _, t := range sizes.Tables {
		out.Tables = append(out.Tables, tableJSON{t.Name, t.Rows, t.Data, t.Indexes})
	}
	if o.json {
		return writeJSON(p.stdout, out)
	}
	_, err = fmt.Fprint(p.stdout, out.text())
	return err
}

// text lays the figures out for people. The sum comes last.
func (s *statsJSON) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s\n\n", s.Store, s.Kind, byteSize(s.Bytes))
	rows := [][]string{{"TENANT", "SESSIONS", "ENTRIES", "SAID", "BODIES", "KEPT IN"}}
	all := tenantJSON{Tenant: "all"}
	add := func(t tenantJSON, name string) {
		rows = append(rows, []string{name, thousands(t.Sessions), thousands(int(t.Entries)), byteSize(t.Raw), thousands(int(t.Bodies)), byteSize(t.Stored)})
	}
	for _, t := range s.Tenants {
		name := printable(t.Tenant)
		if name == "" {
			name = "(none)"
		}
		add(t, name)
		all.Sessions += t.Sessions
		all.Entries += t.Entries
		all.Raw += t.Raw
		all.Bodies += t.Bodies
		all.Stored += t.Stored
	}
	if len(s.Tenants) != 1 {
		add(all, all.Tenant)
	}
	table(&b, rows)
	b.WriteString("\n")
	rows = [][]string{{"TABLE", "ROWS", "DATA", "INDEXES"}}
	for _, t := range s.Tables {
		rows = append(rows, []string{t.Table, thousands(int(t.Rows)), byteSize(t.Data), byteSize(t.Indexes)})
	}
	table(&b, rows)
	return b.String()
}

// table writes rows in columns, the first to the left and the others to the right.
func table(b *strings.Builder, rows [][]string) {
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
		b.WriteString(strings.Join(cells, "  ") + "\n")
	}
}
