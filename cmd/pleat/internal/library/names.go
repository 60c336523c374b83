package library

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/store"
)

// ErrSeveral is the error for a name that may mean several sessions.
var ErrSeveral = errors.New("several sessions begin with")

// Last names the session that was used last. That is a rehearsal only if there is nothing else.
const Last = "last"

// Find finds a session by its ID, or by a name as [Library.Resolve] does.
func (l *Library) Find(ctx context.Context, id string) (Info, error) {
	id = strings.TrimSpace(id)
	s, ok, err := l.exact(ctx, id)
	if err != nil {
		return s, err
	}
	if !ok {
		return l.Resolve(ctx, id)
	}
	return l.about(ctx, s)
}

// exact finds a session by its ID, if it can without listing all: a file that was listed, or what never had one.
func (l *Library) exact(ctx context.Context, id string) (Info, bool, error) {
	if f, ok := l.fileNow(id); ok {
		return f.info(), true, nil
	}
	if agent := agentOf(id); agent != "" {
		if info, err := l.file(agent, id, func(f file) bool { return f.id == id }, func(file) bool { return false }); err == nil {
			return info, true, nil
		}
		return l.listed(ctx, id)
	}
	if l.o.Store == nil {
		return Info{}, false, nil
	}
	key := l.storedKey(id)
	for s, err := range l.o.Store.Sessions(ctx, key.Tenant) {
		if err != nil {
			return Info{}, false, err
		}
		if of, copied := Copied(key); s.Key == key && !copied && !isFileID(of.Session) && !isBeside(key) {
			return storedInfo(id, s), true, nil
		}
	}
	return Info{}, false, nil
}

// Resolve finds the session that a person names: [Last]; a file's by its ID, the beginning of that, or a part
// of the file's name, where agents put IDs of their own; one in the store as [Library.FindStored] does; or any
// by the beginning of its title. Only one may be meant.
func (l *Library) Resolve(ctx context.Context, name string) (info Info, err error) {
	switch name = strings.TrimSpace(name); name {
	case "":
		return info, errors.New("a session has to be named")
	case Last:
		info, err = l.Newest(ctx, func(Info) bool { return true })
	default:
		info, err = l.named(ctx, name)
		if errors.Is(err, store.ErrNotFound) {
			info, err = l.titled(ctx, name)
		}
	}
	if err != nil {
		return info, err
	}
	if _, copied := Copied(info.Key); copied && info.File == "" {
		return l.copied(ctx, info)
	}
	return l.about(ctx, info)
}

// Newest is the session that was used last of those that are wanted: a rehearsal or a sub-agent's only if there is
// nothing else.
func (l *Library) Newest(ctx context.Context, wanted func(Info) bool) (Info, error) {
	all, err := l.all(ctx, "")
	lastFirst(all)
	i := slices.IndexFunc(all, wanted)
	if i < 0 {
		return Info{}, cmp.Or(err,
			fmt.Errorf("agents have left no session on this machine, and the store has none: %w", store.ErrNotFound))
	}
	return all[i], err
}

// named finds a file, or a session that only the store has. What has the name goes before what may be meant by it.
func (l *Library) named(ctx context.Context, name string) (Info, error) {
	var stored Info
	failed := error(store.ErrNotFound)
	if l.o.Store != nil {
		stored, failed = l.FindStored(ctx, name)
	}
	if failed == nil && OwnerOf(stored.Key) == "" && (stored.Key.Session == name || withTenant(stored.Key) == name) {
		return stored, nil
	}
	info, err := l.file(agentOf(name), name, func(f file) bool { return f.id == name }, func(f file) bool {
		return strings.HasPrefix(f.id, name) || len(name) >= 4 && strings.Contains(path.Base(f.name), name)
	})
	if errors.Is(err, store.ErrNotFound) && l.o.Store != nil {
		return stored, failed
	}
	return info, err
}

// file is the only file of an agent, or of all, that a name means.
func (l *Library) file(agent sessionlog.Format, name string, has, means func(file) bool) (Info, error) {
	f, err := only(l.scan(agent), name, func(f file) string { return f.id }, has, means)
	if err != nil {
		return Info{}, err
	}
	return f.info(), nil
}

func (l *Library) titled(ctx context.Context, name string) (Info, error) {
	p, err := l.List(ctx, Filter{})
	if err != nil {
		return Info{}, err
	}
	is := func(i Info) bool { return strings.EqualFold(i.Title, name) }
	return only(p.Sessions, name, func(i Info) string { return i.Name }, is, func(i Info) bool {
		return len(i.Title) > len(name) && strings.EqualFold(i.Title[:len(name)], name)
	})
}

func (l *Library) listed(ctx context.Context, id string) (Info, bool, error) {
	all, err := l.all(ctx, "")
	i := slices.IndexFunc(all, func(i Info) bool { return i.ID == id })
	if i < 0 {
		return Info{}, false, err
	}
	return all[i], true, err
}

// copied completes what is known of a copy of a session with what is known of that.
func (l *Library) copied(ctx context.Context, c Info) (Info, error) {
	key, _ := Copied(c.Key)
	of, ok, err := l.listed(ctx, l.storedID(key))
	if ok && of.Key != c.Key { // else the copy stands for a session that is gone
		if of, err = l.about(ctx, of); err == nil {
			return l.copyOf(ctx, of, c.Stored), nil
		}
	}
	if err != nil {
		return c, err
	}
	return l.about(ctx, c)
}

// FindStored finds a session of the store by its name, with or without its tenant's, or by the
// beginning of that. Only one may be meant: if several tenants have the name, the tenant has to be
// given, as in "TENANT/NAME", or "/NAME" for none. The last is the newest that the store has; what it has of a
// file is as new as the file.
func (l *Library) FindStored(ctx context.Context, name string) (Info, error) {
	if name == Last {
		info, err := l.Newest(ctx, Info.isStored)
		return storedInfo(l.storedID(info.Stored.Key), info.Stored), err
	}
	list, err := Stored(ctx, l.o.Store, l.o.Tenant)
	if err != nil {
		return Info{}, err
	}
	has := func(i store.SessionInfo) bool { return i.Key.Session == name || withTenant(i.Key) == name }
	begins := func(i store.SessionInfo) bool {
		return name != "" && (strings.HasPrefix(i.Key.Session, name) || strings.HasPrefix(withTenant(i.Key), name))
	}
	if !slices.ContainsFunc(list, has) { // what belongs to a session is not meant by its name
		if talks := conversations(list, l.o.Tenant); slices.ContainsFunc(talks, begins) {
			list = talks
		}
	}
	names := NamesOf(list)
	s, err := only(list, name, func(i store.SessionInfo) string { return names.Full(i.Key) }, has, begins)
	info := storedInfo(l.storedID(s.Key), s)
	info.Name = names.Of(s.Key)
	return info, err
}

func withTenant(key store.SessionKey) string { return key.Tenant + "/" + key.Session }

// only returns the only one of a list that has a name or, if none has it, that it may mean.
func only[T any](list []T, name string, nameOf func(T) string, has, means func(T) bool) (one T, err error) {
	if !slices.ContainsFunc(list, has) {
		has = means
	}
	var names []string
	for _, v := range list {
		if has(v) {
			one = v
			names = append(names, nameOf(v))
		}
	}
	const most = 8
	switch n := len(names); {
	case n == 0:
		return one, fmt.Errorf("session %q: %w", name, store.ErrNotFound)
	case n == 1:
		return one, nil
	case n > most:
		names = append(names[:most], fmt.Sprintf("and %d more", n-most))
	}
	return one, fmt.Errorf("%w %q: %s", ErrSeveral, name, strings.Join(names, ", "))
}

// Naming tells sessions of a store apart, by names that [Library.FindStored] takes: how many have each, their own or
// with the tenant.
type Naming map[string]int

// NamesOf returns the names of sessions. One may be in the list more than once.
func NamesOf(list []store.SessionInfo) Naming {
	n, known := make(Naming), make(map[store.SessionKey]bool)
	for _, s := range list {
		if !known[s.Key] {
			known[s.Key] = true
			n[s.Key.Session]++
			n[withTenant(s.Key)]++
		}
	}
	return n
}

// NameOf is the name under which a session is listed. What was made of an agent's file has the name
// of that, whatever else is made of it later.
func NameOf(key store.SessionKey) string { return cmp.Or(OwnerOf(key), key.Session) }

// Names are the names of sessions that mean no others of the list.
func Names(list []store.SessionInfo) (names []string) {
	known := NamesOf(list)
	for _, s := range list {
		s.Key.Session = NameOf(s.Key)
		names = append(names, known.Of(s.Key))
	}
	return names
}

// Of is the name of one of the sessions, with its tenant if another has the name too.
func (n Naming) Of(key store.SessionKey) string {
	if n[key.Session] > 1 {
		return withTenant(key)
	}
	return key.Session
}

// Full is the name with the tenant, if there is one.
func (n Naming) Full(key store.SessionKey) string {
	if key.Tenant != "" {
		return withTenant(key)
	}
	return n.Of(key)
}
