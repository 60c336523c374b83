package stores

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/store"
)

// NameOf is the name under which a session is listed. What was made of an agent's file has the name
// of that, whatever else is made of it later.
func NameOf(key store.SessionKey) string { return cmp.Or(library.OwnerOf(key), key.Session) }

// Names are the names of sessions that mean no others of the list.
func Names(list []store.SessionInfo) (names []string) {
	known := library.NamesOf(list)
	for _, s := range list {
		s.Key.Session = NameOf(s.Key)
		names = append(names, known.Of(s.Key))
	}
	return names
}

// Used puts the sessions first that were used last, and makes that their last time: when the newest
// message was said, as far as it is known, and not when it was stored. A file may be read long after.
func Used(ctx context.Context, st store.Store, list []store.SessionInfo) error {
	said, err := library.Said(ctx, st, list)
	for i, info := range list {
		if at := said[info.Key]; !at.IsZero() {
			list[i].Last = at
			if at.Before(info.First) {
				list[i].First = time.Time{} // only when it was stored is known
			}
		}
	}
	slices.SortStableFunc(list, func(a, b store.SessionInfo) int { return b.Last.Compare(a.Last) })
	return err
}

// Describe lists sessions with how each begins.
func Describe(ctx context.Context, store store.Store, list []store.SessionInfo) []Session {
	out := make([]Session, 0, len(list))
	for _, info := range list {
		begins, _ := library.Begins(ctx, store, info.Key) // a name alone will do
		out = append(out, Session{
			info.Key.Tenant, info.Key.Session, info.Entries, info.BodyBytes, info.First, info.Last,
			term.OneLine(begins),
		})
	}
	return out
}

// List is what "pleat store list --json" prints.
type List struct {
	Format   string    `json:"format"`
	Sessions []Session `json:"sessions"`
}

// Session is a session of the store.
type Session struct {
	Tenant  string    `json:"tenant,omitempty"`
	Session string    `json:"session"`
	Entries uint64    `json:"entries"`
	Bytes   int64     `json:"bytes"`
	First   time.Time `json:"first,omitzero"` // not known of most that were read from files
	Last    time.Time `json:"last"`
	Begins  string    `json:"begins,omitempty"` // the first words of the user
}

// OfTenant lists a tenant's sessions, newest first.
func OfTenant(ctx context.Context, st library.Store, tenant string) ([]store.SessionInfo, error) {
	return collect(st.Sessions(ctx, tenant))
}

// Print implements [term.Result].
func (j List) Print(p *term.Page) { printSessions(p, j.Sessions) }

// printSessions prints a table of sessions and its sum. Names are whole, to be copied: on lines
// of their own where there is no room beside the numbers.
func printSessions(p *term.Page, list []Session) {
	var all []store.SessionInfo
	key := func(s Session) store.SessionKey { return store.SessionKey{Tenant: s.Tenant, Session: s.Session} }
	for _, s := range list {
		all = append(all, store.SessionInfo{Key: key(s)})
	}
	names := library.NamesOf(all)
	title := func(s Session) string { return names.Full(key(s)) }
	name := max(term.Widest(list, title), len("SESSION"))
	apart := !p.Whole && name > p.Width-42
	if apart {
		name = 0
	}
	var entries uint64
	var bytes int64
	row := func(session, entries, size, last, begins string) {
		if apart {
			p.Line("%s", session)
			session = ""
		}
		line := fmt.Sprintf("%s  %7s  %7s  %-10s  %s", term.Pad(session, name), entries, size, last, begins)
		p.Line("%s", strings.TrimRight(p.Clip(line, p.Width), " "))
	}
	row("SESSION", "ENTRIES", "SIZE", "LAST USED", "BEGINS")
	for _, s := range list {
		row(title(s), term.Thousands(int(s.Entries)), term.ByteSize(s.Bytes),
			s.Last.Local().Format(time.DateOnly), s.Begins)
		entries += s.Entries
		bytes += s.Bytes
	}
	p.Line("%s, %s, %s", term.Plural(len(list), "session"), EntryCount(entries), term.ByteSize(bytes))
}

// EntryCount writes "1 entry" or "1,204 entries".
func EntryCount(n uint64) string {
	if n == 1 {
		return "1 entry"
	}
	return term.Thousands(int(n)) + " entries"
}
