package stores

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/store"
)

// Describe lists sessions with how each begins.
func Describe(ctx context.Context, st store.Store, list []store.SessionInfo) []Session {
	out := make([]Session, 0, len(list))
	for _, info := range list {
		begins, _ := library.Begins(ctx, st, info.Key) // a name alone will do
		out = append(out, Session{
			info.Key.Tenant, info.Key.Session, info.Entries, info.BodyBytes, info.First, info.Last,
			term.OneLine(begins), library.ParentOf(info.Key.Session),
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
	Parent  string    `json:"parent,omitempty"` // the session whose sub-agent it is of
}

// Print implements [term.Result]: a table of sessions and its sum. Names are whole, to be copied: on lines
// of their own where there is no room beside the numbers.
func (j List) Print(p *term.Page) {
	list := j.Sessions
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
		begins := s.Begins
		if s.Parent != "" {
			begins = "(sub-agent of " + s.Parent + ") " + begins
		}
		row(title(s), term.Thousands(int(s.Entries)), term.ByteSize(s.Bytes),
			s.Last.Local().Format(time.DateOnly), begins)
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
