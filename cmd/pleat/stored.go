package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/library"
	"github.com/pleat-dev/pleat/store"
)

func storedInfo(ctx context.Context, store store.Store, list []store.SessionInfo) []storedJSON {
	out := make([]storedJSON, 0, len(list))
	for _, info := range list {
		begins, _ := library.Begins(ctx, store, info.Key) // a name alone will do
		out = append(out, storedJSON{info.Key.Tenant, info.Key.Session, info.Entries, info.BodyBytes, info.First, info.Last, term.OneLine(begins)})
	}
	return out
}

// withoutBill leaves out the bill of a proxy, which is in the store but nobody's conversation.
func withoutBill(list []store.SessionInfo) []store.SessionInfo {
	return slices.DeleteFunc(list, func(i store.SessionInfo) bool { return i.Key.Tenant == bill.Tenant })
}

func listCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Args:  noArguments,
		Short: "list the sessions in the store",
		Long: `Lists the sessions in pleat's store, most recently used first: name, number of entries, size
of what was said, date of the newest entry, and how the session begins.

(The session files that agents keep themselves are listed by "pleat sessions".)`,
		Example: `# what is in the store
pleat store list
# only the names, for scripts
pleat store list --names`,
	}
	fs := c.Flags()
	f := declareStore(fs)
	names := fs.Bool("names", false, "print the names alone, one a line")
	asJSON := fs.Bool("json", false, "print JSON")
	c.RunE = runs(p, f.onStore(readOnly, func(ctx context.Context, p *term.Console, store anyStore, _ []string) error {
		list, err := library.Stored(ctx, store, f.tenant)
		if err != nil {
			return err
		}
		if f.tenant == "" {
			list = withoutBill(list)
		}
		if len(list) == 0 && !*names && !*asJSON {
			p.Note("The store has no sessions.\n")
			return nil
		}
		return p.Output(*asJSON, storedListJSON{"pleat/stored/1", storedInfo(ctx, store, list), *names})
	}))
	return c
}

// storedListJSON is what "pleat store list --json" prints.
type storedListJSON struct {
	Format   string       `json:"format"`
	Sessions []storedJSON `json:"sessions"`

	names bool // for people: the names alone
}

// storedJSON is a session of the store.
type storedJSON struct {
	Tenant  string    `json:"tenant,omitempty"`
	Session string    `json:"session"`
	Entries uint64    `json:"entries"`
	Bytes   int64     `json:"bytes"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	Begins  string    `json:"begins,omitempty"` // the first words of the user
}

// allSessions lists a tenant's sessions, newest first.
func allSessions(ctx context.Context, st library.Store, tenant string) ([]store.SessionInfo, error) {
	return collect(st.Sessions(ctx, tenant))
}

func (j storedListJSON) Print(p *term.Page) {
	if !j.names {
		printSessions(p, j.Sessions)
		return
	}
	for _, s := range j.Sessions {
		p.Line("%s", s.Session)
	}
}

// title is the session's name for people.
func (s storedJSON) title() string {
	return store.SessionKey{Tenant: s.Tenant, Session: s.Session}.String()
}

// printSessions prints a table of sessions and its sum.
func printSessions(p *term.Page, list []storedJSON) {
	name := min(max(term.Widest(list, storedJSON.title), len("SESSION")), 40)
	if !p.Whole {
		name = min(name, max(p.Width-32, 8)) // the numbers are seen whole
	}
	var entries uint64
	var bytes int64
	row := func(session, entries, size, last, begins string) {
		line := fmt.Sprintf("%s  %7s  %7s  %-10s  %s", term.Pad(p.ClipMiddle(session, name), name), entries, size, last, begins)
		p.Line("%s", strings.TrimRight(p.Clip(line, p.Width), " "))
	}
	row("SESSION", "ENTRIES", "SIZE", "LAST USED", "BEGINS")
	for _, s := range list {
		row(s.title(), term.Thousands(int(s.Entries)), term.ByteSize(s.Bytes), s.Last.Local().Format(time.DateOnly), s.Begins)
		entries += s.Entries
		bytes += s.Bytes
	}
	p.Line("%s, %s, %s", term.Plural(len(list), "session"), entryCount(entries), term.ByteSize(bytes))
}

func entryCount(n uint64) string {
	if n == 1 {
		return "1 entry"
	}
	return term.Thousands(int(n)) + " entries"
}
