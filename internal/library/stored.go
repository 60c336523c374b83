package library

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

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
// store may see them all.
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
	slices.SortStableFunc(list, func(a, b store.SessionInfo) int { return b.Last.Compare(a.Last) })
	return list, nil
}

// Conversations lists the sessions of [Stored] in which somebody spoke with a model: not a
// proxy's bill, unless its tenant is named, and no forks for handoffs.
func Conversations(ctx context.Context, st Store, tenant string) ([]store.SessionInfo, error) {
	list, err := Stored(ctx, st, tenant)
	return slices.DeleteFunc(list, func(s store.SessionInfo) bool {
		return !isConversation(s.Key) && tenant != bill.Tenant
	}), err
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

func storedInfo(id string, s store.SessionInfo) Info {
	return Info{ID: id, Key: s.Key, Modified: s.Last, Bytes: s.BodyBytes, Tokens: int(s.BodyBytes / 4)}
}

// isConversation tells sessions from what else is in a store: a proxy's bill, and forks for handoffs.
func isConversation(key store.SessionKey) bool {
	_, fork, _ := strings.Cut(key.Session, "~")
	return key.Tenant != bill.Tenant && !strings.Contains(fork, handoffMark)
}

// apart lists what is in the store and not of these files, given by ID. A rewound file has
// several sessions there: when it is gone, the one that was brought up to date last is listed.
func (l *Library) apart(ctx context.Context, files map[string]bool) ([]Info, error) {
	stored, err := Stored(ctx, l.o.Store, l.o.Tenant)
	if err != nil {
		return nil, err
	}
	have := make(map[store.SessionKey]bool)
	gone := make(map[string][]string) // by tenant: IDs of files
	for _, s := range stored {
		have[s.Key] = true
		if id, fork, _ := strings.Cut(s.Key.Session, "~"); isFileID(id) && fork == "" && !files[id] {
			gone[s.Key.Tenant] = append(gone[s.Key.Tenant], id)
		}
	}
	newest := make(map[store.SessionKey]string)
	for tenant, ids := range gone {
		marks, err := l.marks(ctx, tenant, ids...)
		if err != nil {
			return nil, err
		}
		for id, m := range marks {
			if have[store.SessionKey{Tenant: tenant, Session: m.Session}] {
				newest[store.SessionKey{Tenant: tenant, Session: id}] = m.Session
			}
		}
	}
	var list []Info
	for _, s := range stored {
		id, _, _ := strings.Cut(s.Key.Session, "~")
		if !isConversation(s.Key) {
			continue
		}
		base := s.Key
		if isFileID(id) {
			base.Session = id
			if files[id] || s.Key.Session != cmp.Or(newest[base], id) {
				continue
			}
		}
		list = append(list, storedInfo(l.storedID(base), s))
	}
	return list, nil
}

// FindStored finds a session of a store by its name, or by the beginning of its name. Only
// one may be meant: if several tenants have the name, the tenant has to be given.
func FindStored(ctx context.Context, st Store, tenant, name string) (store.SessionInfo, error) {
	list, err := Stored(ctx, st, tenant)
	if err != nil {
		return store.SessionInfo{}, err
	}
	return only(list, name, func(i store.SessionInfo) string { return i.Key.String() },
		func(i store.SessionInfo) bool { return i.Key.Session == name },
		func(i store.SessionInfo) bool { return name != "" && strings.HasPrefix(i.Key.Session, name) })
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
		m, err := pleat.StoredMessage(e, Codecs())
		if err != nil {
			return "", err
		}
		if typed, ok := userwords.TypedText(m); ok {
			return text.OneLine(typed, titleBytes), nil
		}
	}
	return "", nil
}
