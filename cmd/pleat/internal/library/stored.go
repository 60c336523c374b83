package library

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/internal/journal"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/gemini"
	"github.com/pleat-dev/pleat/wire/openai"
)

// Codecs decode the stored messages of every wire format.
func Codecs() map[transcript.Format]transcript.Codec {
	return map[transcript.Format]transcript.Codec{
		transcript.FormatAnthropic: anthropic.DecodeMessage,
		transcript.FormatChat:      openai.DecodeChatMessage,
		transcript.FormatResponses: openai.DecodeItem,
		transcript.FormatGemini:    gemini.DecodeMessage,
	}
}

// Roughly are the options of a session in which something is only looked up. Its tokens are
// estimated, which is much faster and does not change what it gives back.
func Roughly() *pleat.Options {
	rough := tokens.NewTokenizer(model.Model{}, &tokens.Options{Counter: tokens.CharsPerToken(4), CacheSize: -1})
	return &pleat.Options{Codecs: Codecs(), Tokens: rough}
}

// Stored lists a tenant's sessions in a store, newest first, or all tenants' if none is
// named. A proxy stores sessions under the principal of the client; whoever can open the
// store may see them all. Their last time is when the newest message was said, as far as it is
// known, and not when it was stored: a file may be read long after.
func Stored(ctx context.Context, st Store, tenant string) ([]store.SessionInfo, error) {
	tenants := []string{tenant}
	if many, ok := st.(interface {
		Tenants(context.Context) ([]string, error)
	}); ok && tenant == "" {
		var err error
		if tenants, err = many.Tenants(ctx); err != nil {
			return nil, err
		}
	}
	var list []store.SessionInfo
	for _, t := range tenants {
		for info, err := range st.Sessions(ctx, t) {
			if err != nil {
				return nil, err
			}
			list = append(list, info)
		}
	}
	said, _ := said(ctx, st, list) // what is damaged is as old as it was stored
	for i, info := range list {
		if at := said[info.Key]; !at.IsZero() {
			if list[i].Last = at; at.Before(info.First) {
				list[i].First = time.Time{} // only when it was stored is known
			}
		}
	}
	slices.SortStableFunc(list, func(a, b store.SessionInfo) int { return b.Last.Compare(a.Last) })
	return list, ctx.Err()
}

// Conversations lists the sessions of [Stored] in which somebody spoke with a model, each once:
// not a proxy's bill, unless its tenant is named, no forks for handoffs, and of a session that an
// agent keeps in a file, or that was folded in a [CopyOf] it, what was used last.
func Conversations(ctx context.Context, st Store, tenant string) ([]store.SessionInfo, error) {
	list, err := Stored(ctx, st, tenant)
	return conversations(list, tenant), err
}

func conversations(list []store.SessionInfo, tenant string) []store.SessionInfo {
	list = slices.DeleteFunc(slices.Clone(list), func(s store.SessionInfo) bool {
		return isBeside(s.Key) && tenant != bill.Tenant
	})
	have := make(map[store.SessionKey]bool)
	for _, copies := range []bool{false, true} {
		list = slices.DeleteFunc(list, func(s store.SessionInfo) bool {
			of, copied := Copied(s.Key)
			if copied != copies {
				return false
			}
			again := have[of]
			have[of] = true
			return again
		})
	}
	return list
}

// OwnerOf is the ID under which agents' files are listed that a stored session is of; "": it is of
// none.
func OwnerOf(key store.SessionKey) string {
	if of, _ := Copied(key); isFileID(of.Session) {
		return of.Session
	}
	return ""
}

// copyMark is in the names of forks in which files and stored sessions are folded for people.
const copyMark = "~compact-"

// CopyOf is the session in which another is folded. It belongs to that one and to its tenant, and
// its name follows from the content, so that the same content gets the same folds.
func CopyOf(key store.SessionKey, hash string) store.SessionKey {
	key, _ = Copied(key)
	key.Session += copyMark + hash[:12]
	return key
}

// Copied is the session that a stored one belongs to, which may be itself. Copied: "pleat compact" made it by
// folding that one, and it says nothing that the other does not.
func Copied(key store.SessionKey) (of store.SessionKey, copied bool) {
	key.Session, _, copied = strings.Cut(key.Session, copyMark)
	if base, _, _ := strings.Cut(key.Session, "~"); isFileID(base) {
		key.Session = base
	}
	return key, copied
}

// Parts lists what else is stored of a session: what it was folded in, handed off from, and, if
// an agent keeps it in a file, its forks.
func Parts(ctx context.Context, st Store, key store.SessionKey) (list []store.SessionInfo, err error) {
	for s, err := range st.Sessions(ctx, key.Tenant) {
		if err != nil {
			return nil, err
		}
		of, _ := Copied(s.Key)
		base, _, _ := strings.Cut(s.Key.Session, "~")
		if s.Key != key && (of == key || isBeside(s.Key) && base == key.Session) {
			list = append(list, s)
		}
	}
	return list, nil
}

// Copies lists what a session was folded in by [CopyOf], newest first.
func (l *Library) Copies(ctx context.Context, of Info) (list []Info, err error) {
	if l.o.Store == nil || of.Of != "" {
		return nil, nil
	}
	session, _ := Copied(cmp.Or(of.Key, store.SessionKey{Tenant: l.o.Tenant, Session: of.ID}))
	parts, err := Parts(ctx, l.o.Store, session)
	for _, s := range parts {
		if _, copied := Copied(s.Key); copied {
			list = append(list, l.copyOf(ctx, of, s))
		}
	}
	slices.SortStableFunc(list, func(a, b Info) int { return b.Used.Compare(a.Used) })
	return list, err
}

// copyOf is what is known of a copy of a session.
func (l *Library) copyOf(ctx context.Context, of Info, s store.SessionInfo) Info {
	c := storedInfo(l.storedID(s.Key), s)
	l.lookStored(ctx, &c)
	if c.Of, c.Agent, c.Project, c.Title = of.ID, of.Agent, of.Project, of.Title; c.ratio == 0 {
		c.Model = of.Model
	}
	return c
}

// storedID is the ID of a session in the store. Sessions of different tenants may have the
// same name, so the tenant is in it unless the library has only one.
func (l *Library) storedID(key store.SessionKey) string {
	if key.Tenant == l.o.Tenant && (l.o.Tenant != "" || !strings.Contains(key.Session, "/")) {
		return key.Session
	}
	return url.PathEscape(key.Tenant) + "/" + key.Session
}

// storedKey is the key of the session with an ID that storedID made.
func (l *Library) storedKey(id string) store.SessionKey {
	if tenant, session, ok := strings.Cut(id, "/"); ok && l.o.Tenant == "" {
		if tenant, err := url.PathUnescape(tenant); err == nil {
			return store.SessionKey{Tenant: tenant, Session: session}
		}
	}
	return store.SessionKey{Tenant: l.o.Tenant, Session: id}
}

// ParentOf is the name of the session whose sub-agent had one, as package agent names those; "": it is none.
func ParentOf(session string) string {
	if of, _, is := strings.Cut(session, ".task-"); is {
		return of
	}
	return ""
}

func storedInfo(id string, s store.SessionInfo) Info {
	return Info{
		ID: id, Parent: ParentOf(id), Name: id, Key: s.Key, Stored: s, Modified: s.Last, Used: s.Last,
		Bytes: s.BodyBytes, Tokens: int(s.BodyBytes / 4), Entries: s.Entries,
	}
}

func (i Info) isStored() bool { return i.Stored.Key != store.SessionKey{} }

// isBeside tells what is no session from what is: a proxy's bill, and forks for handoffs.
func isBeside(key store.SessionKey) bool {
	_, fork, _ := strings.Cut(key.Session, "~")
	return key.Tenant == bill.Tenant || strings.Contains(fork, handoffMark)
}

// withStored adds what is in the store to a list of files, given by ID, and notes what it has of those.
func (l *Library) withStored(ctx context.Context, list []Info, files map[string]int) ([]Info, error) {
	stored, err := Conversations(ctx, l.o.Store, l.o.Tenant)
	names := NamesOf(stored)
	for _, s := range stored {
		of := s.Key
		of.Session = NameOf(of)
		if i, ok := files[of.Session]; ok {
			list[i].Stored = s
			continue
		}
		info := storedInfo(l.storedID(of), s)
		info.Name = names.Of(of)
		list = append(list, info)
	}
	return list, err
}

// Begins returns what the user of a stored session said first, on one line, because names alone
// say little. It is empty if there is no such message near the beginning.
func Begins(ctx context.Context, st store.Store, key store.SessionKey) (string, error) {
	looked := 0
	for e, err := range st.Scan(ctx, key, 1, store.EntryMessage) {
		if err != nil {
			return "", err
		}
		if looked++; looked > 20 {
			break
		}
		if e.BodySize > 1<<20 { // nobody types a megabyte
			continue
		}
		if e.Body, err = st.Body(ctx, key, e.BodyHash); err != nil {
			return "", err
		}
		m, err := journal.Message(e, Codecs())
		if err != nil {
			return "", err
		}
		if typed, ok := userwords.TypedText(m); ok {
			return text.OneLine(typed, titleBytes), nil
		}
	}
	return "", nil
}
