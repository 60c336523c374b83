// Package stores opens the stores that flags and the environment name, and does what spans
// whole sessions of them: list, check, export, import and copy.
package stores

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/postgres"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/spf13/pflag"
)

// Flags are the flags of every command that uses the store.
type Flags struct {
	Path    string
	KeyFile string
	Tenant  string

	// Busy is how long writes wait for other processes that keep a file locked; 0: the
	// store's own default.
	Busy time.Duration
}

// Declare declares --store, --store-key-file and --tenant.
func Declare(fs *pflag.FlagSet) *Flags {
	f := &Flags{}
	fs.StringVar(&f.Path, "store", "", "the store: a `FILE` or postgres://…; else $PLEAT_STORE, or in your data folder")
	fs.StringVar(&f.KeyFile, "store-key-file", "", "encrypt it with the first key in `FILE`, else in $PLEAT_STORE_KEY")
	fs.StringVar(&f.Tenant, "tenant", "", "use only the sessions of tenant `NAME`, also for new ones")
	return f
}

// Key is the key of a session with this name.
func (f *Flags) Key(session string) store.SessionKey {
	return store.SessionKey{Tenant: f.Tenant, Session: session}
}

// Path is where the store is: what --store says, else a file in the user's data folder.
func Path(p *term.Console, flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	dir := term.DataFolder(runtime.GOOS, p.Getenv)
	if dir == "" {
		return "", errors.New(
			"no place for the store: there is no home folder (name a file with --store or PLEAT_STORE)")
	}
	return filepath.Join(dir, "pleat", "pleat.db"), nil
}

// Store is what every store that the program opens can do.
type Store interface {
	library.Store
	store.Claimer
	// Tenants lists the tenants that have sessions, in order of name.
	Tenants(ctx context.Context) ([]string, error)
}

// Open opens the store for writing, and makes it if it does not exist.
func Open(ctx context.Context, p *term.Console, f *Flags) (Store, error) {
	store, _, err := OpenAs(ctx, p, f, MakeMissing)
	return store, err
}

// OpenToSearch opens a store that must exist for searching. It may be indexed then, unless
// it cannot be written to.
func OpenToSearch(ctx context.Context, p *term.Console, f *Flags) (Store, error) {
	store, _, err := OpenAs(ctx, p, f, MustExist)
	if err != nil {
		if read, _, e := OpenAs(ctx, p, f, ReadOnly); e == nil {
			return read, nil
		}
	}
	return store, err
}

// OpenAs opens the store that the flags name, and returns where it is.
func OpenAs(ctx context.Context, p *term.Console, f *Flags, how Access) (store Store, path string, err error) {
	if path, err = Path(p, f.Path); err == nil {
		var keys [][]byte
		if keys, err = Keys(p, f.KeyFile); err == nil {
			if f.Busy > 0 && Scheme(path) == "" {
				bounded, stop := context.WithTimeout(ctx, f.Busy)
				defer stop()
				ctx = bounded
			}
			store, err = OpenAt(ctx, path, how, keys...)
		}
	}
	return store, path, err
}

// Keys returns the keys that encrypt the store, from a file or from the environment. A
// key is 64 hexadecimal digits; the first one encrypts.
func Keys(p *term.Console, file string) (keys [][]byte, err error) {
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
			return nil, fmt.Errorf("key %d in %s is not 64 hexadecimal digits (\"openssl rand -hex 32\" makes one)",
				i+1, from)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 && file != "" {
		return nil, fmt.Errorf("there is no key in %s (\"openssl rand -hex 32\" makes one)", from)
	}
	return keys, nil
}

// ChildEnv is the environment of programs that are started here: without the keys of the
// store, which are nobody else's.
func ChildEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PLEAT_STORE_KEY=") })
}

// Access is what a command may do to a store.
type Access int

const (
	MakeMissing Access = iota // make it if it does not exist
	MustExist                 // do not make it
	ReadOnly                  // nor change it
	Migrate                   // make it, or bring a database of an older version up to date
)

// OpenAt opens a store in a PostgreSQL database, which is named by its URL, or in a
// file.
func OpenAt(ctx context.Context, path string, how Access, keys ...[]byte) (st Store, err error) {
	switch scheme := Scheme(path); {
	case scheme == "postgres" || scheme == "postgresql":
		st, err = postgres.Open(ctx, path, &postgres.Options{
			Keys: keys, MustExist: how == MustExist,
			ReadOnly: how == ReadOnly, Migrate: how == Migrate,
		})
		if errors.Is(err, store.ErrNotFound) {
			err = fmt.Errorf(
				`%w ("pleat compact FILE" or "pleat store migrate" makes one; name another with --store or `+
					`PLEAT_STORE)`, err)
		}
	case scheme != "": // without the rest of the URL, which may have a password
		where := "this address"
		if scheme != unknown {
			where = "a URL that begins with " + scheme + "://"
		}
		err = fmt.Errorf("a store cannot be at %s (want postgres://user:password@host:5432/database, with neither "+
			"quotes nor space before it, or the path of a file)", where)
	default:
		if _, missing := os.Stat(path); (how == MustExist || how == ReadOnly) && errors.Is(missing, fs.ErrNotExist) {
			return nil, fmt.Errorf(`no store at %s: %w ("pleat compact FILE" makes one; name another with --store or `+
				`PLEAT_STORE)`, path, store.ErrNotFound)
		}
		o := &sqlite.Options{Keys: keys, ReadOnly: how == ReadOnly}
		if end, ok := ctx.Deadline(); ok {
			o.BusyTimeout = time.Until(end)
		}
		if st, err = sqlite.Open(path, o); errors.Is(err, store.ErrSchema) && o.ReadOnly {
			o.ReadOnly = false // whoever uses a file of an older version first brings it up to date
			st, err = sqlite.Open(path, o)
		}
		if errors.Is(err, store.ErrCorrupt) && !isDatabase(path) {
			err = fmt.Errorf(
				"open store: %s is not a store, or its beginning is overwritten (--store or PLEAT_STORE names it)",
				path)
		}
	}
	if err != nil {
		return nil, err // st may hold a nil pointer
	}
	return st, nil
}

// isDatabase reports whether a file begins as all of SQLite's do.
func isDatabase(path string) bool {
	const magic = "SQLite format 3\x00"
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(magic))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == magic
}

// Temporary makes a store in a new folder. Drop closes it and deletes the folder.
func Temporary(ctx context.Context, keys ...[]byte) (st Store, drop func() error, err error) {
	dir, err := os.MkdirTemp("", "pleat-*") // which nobody else can read
	if err == nil {
		if st, err = OpenAt(ctx, filepath.Join(dir, "pleat.db"), MakeMissing, keys...); err == nil {
			return st, func() error { return errors.Join(st.Close(), os.RemoveAll(dir)) }, nil
		}
		_ = os.RemoveAll(dir)
	}
	return nil, nil, fmt.Errorf("make a temporary store: %w", err)
}

var (
	schemePattern = regexp.MustCompile("(?i)^([\\s\"'`]*[a-z][a-z0-9+.-]+):/|^([\\s\"'`]*postgres[a-z]*)(?::|//)")
	// Anything else before ://, the settings of a connection, a password before a host.
	mistyped = regexp.MustCompile(
		`(?i)^[^/]*[:;]//|^\s*(?:host|hostaddr|port|dbname|user)\s*=|(?:pass\w*|pwd)\s*=|:[^@]*@`)
)

// Scheme is the scheme of a store's URL in lower case, with what stands before it, or "" if the store is a
// file. What may be a mistyped URL is none, unless there are such folders: a file of that name would show its
// password.
func Scheme(path string) string {
	if m := schemePattern.FindStringSubmatch(path); m != nil {
		return strings.ToLower(m[1] + m[2])
	}
	if mistyped.MatchString(missing(path)) {
		return unknown
	}
	return ""
}

// missing is what of a path is not on disk.
func missing(path string) string {
	for i := len(path); i > 0; i = strings.LastIndexFunc(path[:i], func(r rune) bool {
		return r < utf8.RuneSelf && os.IsPathSeparator(uint8(r))
	}) {
		if _, err := os.Stat(path[:i]); err == nil {
			return path[i:]
		}
	}
	return path
}

// unknown is the scheme of an address that has none.
const unknown = "unknown"

// Find finds a session of the store by its name, the beginning of that, or [library.Last].
func Find(ctx context.Context, p *term.Console, st Store, f *Flags, name string) (library.Info, error) {
	lib := library.New(library.Options{Home: p.Home(), Store: st, Tenant: f.Tenant})
	defer lib.Close()
	info, err := lib.FindStored(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		var names []string
		list, _ := library.Stored(ctx, st, f.Tenant) // only for a hint
		for _, info := range list {
			names = append(names, info.Key.Session)
		}
		err = fmt.Errorf(`%w%s ("pleat store list" lists what is there)`, err, term.DidYouMean("", name, names))
	}
	return info, err
}
