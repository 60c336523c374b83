package library

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/store"
)

// ErrSeveral is the error for a name that may mean several sessions.
var ErrSeveral = errors.New("several sessions begin with")

// FindStored finds a session of a store by its name, with or without its tenant's, or by the
// beginning of that. Only one may be meant: if several tenants have the name, the tenant has to be
// given, as in "TENANT/NAME", or "/NAME" for none.
func FindStored(ctx context.Context, st Store, tenant, name string) (store.SessionInfo, error) {
	list, err := Stored(ctx, st, tenant)
	has := func(i store.SessionInfo) bool { return i.Key.Session == name || withTenant(i.Key) == name }
	begins := func(i store.SessionInfo) bool {
		return name != "" && (strings.HasPrefix(i.Key.Session, name) || strings.HasPrefix(withTenant(i.Key), name))
	}
	if err == nil && !slices.ContainsFunc(list, has) { // what belongs to a session is not meant by its name
		if talks, failed := Conversations(ctx, st, tenant); failed == nil && slices.ContainsFunc(talks, begins) {
			list = talks
		}
	}
	if err != nil {
		return store.SessionInfo{}, err
	}
	names := NamesOf(list)
	return only(list, name, func(i store.SessionInfo) string { return names.Full(i.Key) }, has, begins)
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

// Naming tells sessions of a store apart, by names that [FindStored] takes.
type Naming []string // sorted; of each session its own, and that with the tenant's

// NamesOf returns the names of sessions. One may be in the list more than once.
func NamesOf(list []store.SessionInfo) Naming {
	var n Naming
	known := make(map[store.SessionKey]bool)
	for _, s := range list {
		if known[s.Key] {
			continue
		}
		known[s.Key] = true
		n = append(n, s.Key.Session, withTenant(s.Key))
	}
	slices.Sort(n)
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
	if n.second(key.Session) == key.Session {
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

// Short is the beginning of a long name if no other begins so, else what Of returns.
func (n Naming) Short(key store.SessionKey) string {
	const enough = 24
	if short := key.Session[:min(enough, len(key.Session))]; !strings.HasPrefix(n.second(short), short) {
		return short
	}
	return n.Of(key)
}

// second is the name after the first that begins with the given one; "": there is none.
func (n Naming) second(name string) string {
	if i, _ := slices.BinarySearch(n, name); i+1 < len(n) {
		return n[i+1]
	}
	return ""
}
