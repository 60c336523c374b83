package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat"
)

// The shapes of what the commands around the store print for programs.
const (
	formatStored = "pleat/stored/1"
	formatUnfold = "pleat/unfold/1"
	formatVerify = "pleat/verify/1"
	formatImport = "pleat/import/1"
	formatGC     = "pleat/gc/1"

	formatStoreCheck   = "pleat/store-check/1"
	formatStoreMigrate = "pleat/store-migrate/1"
	formatStoreStats   = "pleat/store-stats/1"
	formatStoreCopy    = "pleat/store-copy/1"
)

// storedJSON is how a session of the store is told in JSON.
type storedJSON struct {
	Tenant  string    `json:"tenant,omitempty"`
	Session string    `json:"session"`
	Entries uint64    `json:"entries"`
	Bytes   int64     `json:"bytes"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	Begins  string    `json:"begins,omitempty"` // the first words of the user
}

func storedInfo(ctx context.Context, store pleat.Store, list []pleat.SessionInfo) []storedJSON {
	out := make([]storedJSON, 0, len(list))
	for _, info := range list {
		out = append(out, storedJSON{info.Key.Tenant, info.Key.Session, info.Entries, info.BodyBytes, info.First, info.Last, beginning(ctx, store, info.Key)})
	}
	return out
}

// beginning is what the user of a session said first: names alone tell little. What
// cannot be read has none; "pleat verify" says why.
func beginning(ctx context.Context, store pleat.Store, key pleat.SessionKey) string {
	looked := 0
	for e, err := range store.Scan(ctx, key, 1, pleat.EntryMessage) {
		if looked++; err != nil || looked > 20 {
			break
		}
		if e.BodySize > 1<<20 { // nobody begins with a megabyte of words
			continue
		}
		if e.Body, err = store.Body(ctx, key, e.BodyHash); err != nil {
			break
		}
		m, err := pleat.StoredMessage(e, codecs())
		if err != nil {
			break
		}
		if typed, ok := pleat.TypedText(m); ok {
			return clip(oneLine(typed), 200)
		}
	}
	return ""
}

var storedCommand = command{
	name:    "stored",
	summary: "list the sessions in the store",
	help: `Lists the sessions that pleat keeps in its store, the one used last first: name, number of
entries, size of what was said, when the newest entry was written, and how it begins.

(The session files that agents keep themselves are listed by "pleat sessions".)`,
	examples: `# what is in the store
pleat stored
# only the names, for scripts
pleat stored --names`,
	flags: func(fs *flag.FlagSet) runFunc {
		f := declareStore(fs)
		names := fs.Bool("names", false, "print the names alone, one a line")
		asJSON := fs.Bool("json", false, "print JSON")
		return func(ctx context.Context, p *program, args []string) error {
			if len(args) > 0 {
				return usageError{"stored takes no arguments"}
			}
			store, err := p.readStore(ctx, f)
			if err != nil {
				return err
			}
			defer store.Close()
			list, err := shownSessions(ctx, store, f.tenant)
			switch {
			case err != nil:
				return err
			case *asJSON:
				return writeJSON(p.stdout, struct {
					Format   string       `json:"format"`
					Sessions []storedJSON `json:"sessions"`
				}{formatStored, storedInfo(ctx, store, list)})
			case *names:
				for _, info := range list {
					fmt.Fprintln(p.stdout, info.Key.Session)
				}
				return nil
			case len(list) == 0:
				fmt.Fprintln(p.stderr, "The store has no sessions.")
				return nil
			}
			return printSessions(p, storedInfo(ctx, store, list))
		}
	},
}

// allSessions lists a tenant's sessions, newest first.
func allSessions(ctx context.Context, store pleat.Keeper, tenant string) ([]pleat.SessionInfo, error) {
	var list []pleat.SessionInfo
	for info, err := range store.Sessions(ctx, tenant) {
		if err != nil {
			return nil, err
		}
		list = append(list, info)
	}
	return list, nil
}

// shownSessions lists the sessions that a command looks into, newest first: the tenant's,
// or everybody's when no tenant is named. A proxy keeps sessions under the principal of the
// client; whoever has the store may see them all.
func shownSessions(ctx context.Context, store pleat.Keeper, tenant string) ([]pleat.SessionInfo, error) {
	all, ok := store.(interface {
		Tenants(ctx context.Context) ([]string, error)
	})
	if tenant != "" || !ok {
		return allSessions(ctx, store, tenant)
	}
	tenants, err := all.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	var list []pleat.SessionInfo
	for _, t := range tenants {
		more, err := allSessions(ctx, store, t)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	slices.SortStableFunc(list, func(a, b pleat.SessionInfo) int { return b.Last.Compare(a.Last) })
	return list, nil
}

// printSessions prints a table of sessions, as wide as the screen, and its sum.
func printSessions(p *program, list []storedJSON) error {
	name := len("SESSION")
	for _, s := range list {
		name = max(name, columns(printable(pleat.SessionKey{Tenant: s.Tenant, Session: s.Session}.String())))
	}
	name = min(name, 40)
	var entries uint64
	var bytes int64
	var b strings.Builder
	row := func(session, entries, size, last, begins string) {
		line := fmt.Sprintf("%s  %7s  %7s  %-10s  %s", pad(clip(session, name), name), entries, size, last, begins)
		b.WriteString(strings.TrimRight(clip(line, p.screen().width), " ") + "\n")
	}
	row("SESSION", "ENTRIES", "SIZE", "LAST USED", "BEGINS")
	for _, s := range list {
		row(printable(pleat.SessionKey{Tenant: s.Tenant, Session: s.Session}.String()), thousands(int(s.Entries)), byteSize(s.Bytes), s.Last.Local().Format(time.DateOnly), s.Begins)
		entries += s.Entries
		bytes += s.Bytes
	}
	fmt.Fprintf(&b, "%s, %s, %s\n", plural(len(list), "session"), entryCount(entries), byteSize(bytes))
	_, err := io.WriteString(p.stdout, b.String())
	return err
}

// printable quotes a name that would do something to a terminal or a table.
func printable(name string) string {
	for _, r := range name {
		if r < ' ' || r == 0x7f || r == 0xfffd || r >= 0x80 && r < 0xa0 {
			return fmt.Sprintf("%q", name)
		}
	}
	return name
}

func entryCount(n uint64) string {
	if n == 1 {
		return "1 entry"
	}
	return thousands(int(n)) + " entries"
}
