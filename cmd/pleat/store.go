package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/library"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/postgres"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/spf13/pflag"
)

// storeFlags are the flags of every command that uses the store.
type storeFlags struct {
	path    string
	keyFile string
	tenant  string
}

// declareStore declares --store, --store-key-file and --tenant.
func declareStore(fs *pflag.FlagSet) *storeFlags {
	f := &storeFlags{}
	fs.StringVar(&f.path, "store", "", "the store: a `FILE`, or the URL postgres://… of a database; else $PLEAT_STORE, else pleat.db in your data folder")
	fs.StringVar(&f.keyFile, "store-key-file", "", "encrypt the store with the first key in `FILE` and read it with all of them; else with those in $PLEAT_STORE_KEY; none: not encrypted")
	fs.StringVar(&f.tenant, "tenant", "", "use only the sessions of tenant `NAME`; without it commands look at all tenants, and new sessions have none")
	return f
}

func (f *storeFlags) key(session string) store.SessionKey {
	return store.SessionKey{Tenant: f.tenant, Session: session}
}

// storePath is where the store is: what --store says, else a file in the user's data folder.
func storePath(p *term.Console, flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	dir := term.DataFolder(runtime.GOOS, p.Getenv)
	if dir == "" {
		return "", errors.New("no place for the store: there is no home folder (name a file with --store or PLEAT_STORE)")
	}
	return filepath.Join(dir, "pleat", "pleat.db"), nil
}

// anyStore is what every store that the program opens can do.
type anyStore interface {
	store.Store
	store.Keeper
	store.Searcher
	store.Claimer
	store.Sizer
	// Schema returns the version of the store, and the newest that the program knows.
	Schema() (version, newest int)
	// Tenants lists the tenants that have sessions, in order of name.
	Tenants(ctx context.Context) ([]string, error)
}

// openStore opens the store for writing, and makes it if it does not exist.
func openStore(ctx context.Context, p *term.Console, f *storeFlags) (anyStore, error) {
	store, _, err := storeAt(ctx, p, f, makeMissing)
	return store, err
}

// searchedStore opens a store that must exist for searching. It may be indexed then, unless
// it cannot be written to.
func searchedStore(ctx context.Context, p *term.Console, f *storeFlags) (anyStore, error) {
	store, _, err := storeAt(ctx, p, f, mustExist)
	if err != nil {
		if read, _, e := storeAt(ctx, p, f, readOnly); e == nil {
			return read, nil
		}
	}
	return store, err
}

// storeAt opens the store that the flags name, and returns where it is.
func storeAt(ctx context.Context, p *term.Console, f *storeFlags, how access) (store anyStore, path string, err error) {
	if path, err = storePath(p, f.path); err == nil {
		var keys [][]byte
		if keys, err = storeKeys(p, f.keyFile); err == nil {
			store, err = openStoreAt(ctx, path, how, keys...)
		}
	}
	return store, path, err
}

// storeKeys returns the keys that encrypt the store, from a file or from the environment. A
// key is 64 hexadecimal digits; the first one encrypts.
func storeKeys(p *term.Console, file string) (keys [][]byte, err error) {
	from, text := "PLEAT_STORE_KEY", p.Getenv("PLEAT_STORE_KEY")
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the store's keys: %w", err)
		}
		from, text = file, string(data)
	}
	for i, digits := range strings.Fields(text) {
		key, err := hex.DecodeString(digits)
		if err != nil || len(key) != 32 { // without the digits, which are secret
			return nil, fmt.Errorf("key %d in %s is not 64 hexadecimal digits (\"openssl rand -hex 32\" makes one)", i+1, from)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 && file != "" {
		return nil, fmt.Errorf("there is no key in %s (\"openssl rand -hex 32\" makes one)", from)
	}
	return keys, nil
}

// childEnv is the environment of programs that are started here: without the keys of the
// store, which are nobody else's.
func childEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PLEAT_STORE_KEY=") })
}

// access is what a command may do to a store.
type access int

const (
	makeMissing access = iota // make it if it does not exist
	mustExist                 // do not make it
	readOnly                  // nor change it, even if its schema is old
)

// openStoreAt opens a store in a PostgreSQL database, which is named by its URL, or in a
// file. Texts are indexed when their session is first searched, so that commands that
// only list or store sessions do not build search indexes.
func openStoreAt(ctx context.Context, path string, how access, keys ...[]byte) (st anyStore, err error) {
	switch scheme := urlScheme(path); {
	case scheme == "postgres" || scheme == "postgresql":
		st, err = postgres.Open(ctx, path, &postgres.Options{Keys: keys, IndexOnSearch: true, MustExist: how != makeMissing, ReadOnly: how == readOnly})
		if errors.Is(err, store.ErrNotFound) {
			err = fmt.Errorf(`%w ("pleat compact FILE" or "pleat store migrate" makes one; name another with --store or PLEAT_STORE)`, err)
		}
	case scheme != "": // without the rest of the URL, which may have a password
		err = fmt.Errorf("a store cannot be at a URL that begins with %s:// (want postgres://user:password@host:5432/database, or the path of a file)", scheme)
	default:
		if _, missing := os.Stat(path); how != makeMissing && errors.Is(missing, fs.ErrNotExist) {
			return nil, fmt.Errorf(`no store at %s: %w ("pleat compact FILE" makes one; name another with --store or PLEAT_STORE)`, path, store.ErrNotFound)
		}
		st, err = sqlite.Open(path, &sqlite.Options{Keys: keys, ReadOnly: how == readOnly, IndexOnSearch: true})
	}
	if err != nil {
		return nil, err // st may hold a nil pointer
	}
	return st, nil
}

// storeTitle is the name of a store in messages: where it is, without its password.
func storeTitle(path string) string {
	if urlScheme(path) == "" {
		return path
	}
	u, err := url.Parse(term.WithoutPassword(path))
	if err != nil {
		return "the database"
	}
	return u.Host + u.Path
}

// storeKind is the kind of database that a store is in.
func storeKind(path string) string {
	if urlScheme(path) == "" {
		return "SQLite"
	}
	return "PostgreSQL"
}

var schemePattern = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://`)

// urlScheme is the scheme of a store's URL in lower case, or "" if the store is a file.
func urlScheme(path string) string {
	if m := schemePattern.FindStringSubmatch(path); m != nil {
		return strings.ToLower(m[1])
	}
	return ""
}

// storedSession finds a session by its name, or by the beginning of its name if only one
// session has that beginning.
func storedSession(ctx context.Context, st anyStore, f *storeFlags, name string) (store.SessionInfo, error) {
	info, err := library.FindStored(ctx, st, f.tenant, name)
	if errors.Is(err, store.ErrNotFound) {
		var names []string
		list, _ := library.Stored(ctx, st, f.tenant) // only for a hint
		for _, info := range list {
			names = append(names, info.Key.Session)
		}
		err = fmt.Errorf(`%w%s ("pleat store list" lists what is there)`, err, term.DidYouMean("", name, names))
	}
	return info, err
}

// chosenSessions is the session that a user named, or all if there is no name.
func chosenSessions(ctx context.Context, st anyStore, f *storeFlags, name string) ([]store.SessionInfo, error) {
	if name == "" {
		return library.Stored(ctx, st, f.tenant)
	}
	info, err := storedSession(ctx, st, f, name)
	return []store.SessionInfo{info}, err
}

// reopen opens a stored session to look something up in it.
func reopen(ctx context.Context, store store.Store, key store.SessionKey) (*pleat.Session, error) {
	return pleat.OpenSession(ctx, store, key, library.Roughly())
}
