package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/postgres"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/openai"
)

// storeFlags are the flags of every command that uses the store.
type storeFlags struct {
	path   string
	tenant string
}

// declareStore declares --store and --tenant.
func declareStore(fs *flag.FlagSet) *storeFlags {
	f := &storeFlags{}
	fs.StringVar(&f.path, "store", "", "the store: a `FILE`, or the URL postgres://… of a database; else $PLEAT_STORE, else pleat.db in your data folder")
	fs.StringVar(&f.tenant, "tenant", "", "use the sessions of tenant `NAME`; else look into those of all tenants, and give new ones none")
	return f
}

func (f *storeFlags) key(session string) store.SessionKey {
	return store.SessionKey{Tenant: f.tenant, Session: session}
}

// storePath is where the store is: what the flag or the settings say, else the place for
// it in the user's data folder.
func (p *program) storePath(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	dir := dataFolder(runtime.GOOS, p.getenv)
	if dir == "" {
		return "", errors.New("no place for the store: there is no home folder (name a file with --store or PLEAT_STORE)")
	}
	return filepath.Join(dir, "pleat", "pleat.db"), nil
}

// dataFolder is where programs keep what they keep for a user; "" if the environment
// does not tell.
func dataFolder(goos string, getenv func(string) string) string {
	in := func(home string, names ...string) string {
		if home == "" {
			return ""
		}
		return filepath.Join(append([]string{home}, names...)...)
	}
	switch goos {
	case "windows":
		if dir := getenv("LocalAppData"); dir != "" {
			return dir
		}
		return in(getenv("USERPROFILE"), "AppData", "Local")
	case "darwin":
		return in(getenv("HOME"), "Library", "Application Support")
	}
	// A relative XDG_DATA_HOME counts as not set: so its specification says.
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return in(getenv("HOME"), ".local", "share")
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

// openStore opens the store for writing to it, and makes it if it is not there.
func (p *program) openStore(ctx context.Context, f *storeFlags) (anyStore, error) {
	store, _, err := p.storeAt(ctx, f, makeMissing)
	return store, err
}

// storeAt opens the store that the flags name, and says where it is.
func (p *program) storeAt(ctx context.Context, f *storeFlags, how access) (store anyStore, path string, err error) {
	if path, err = p.storePath(f.path); err == nil {
		store, err = openStoreAt(ctx, path, how)
	}
	return store, path, err
}

// readStore opens a store that must be there: a command that only reads makes none.
func (p *program) readStore(ctx context.Context, f *storeFlags) (anyStore, error) {
	store, _, err := p.storeAt(ctx, f, mustExist)
	return store, err
}

// access is what a command may do to a store.
type access int

const (
	makeMissing access = iota // a store that is not there is made
	mustExist                 // it is an error
	readOnly                  // and one that is there is left as it is, of an older version too
)

// openStoreAt opens the store that a user named: the URL of a PostgreSQL database, or
// a file. Texts are indexed when somebody searches their session: a command that lists or
// stores sessions has no business building search indexes.
func openStoreAt(ctx context.Context, path string, how access) (anyStore, error) {
	switch scheme := urlScheme(path); {
	case scheme == "postgres" || scheme == "postgresql":
		return openShared(ctx, path, how)
	case scheme != "": // not told whole: it may hold a password
		return nil, fmt.Errorf("a store cannot be at a URL that begins with %s:// (want postgres://user:password@host:5432/database, or the path of a file)", scheme)
	}
	if how != makeMissing {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf(`no store at %s: %w ("pleat compact FILE" makes one; name another with --store or PLEAT_STORE)`, path, store.ErrNotFound)
		}
	}
	store, err := sqlite.Open(path, &sqlite.Options{ReadOnly: how == readOnly, IndexOnSearch: true})
	if err != nil { // a nil pointer in an interface is not nil
		return nil, err
	}
	return store, nil
}

// openShared opens a store in a database.
func openShared(ctx context.Context, url string, how access) (anyStore, error) {
	st, err := postgres.Open(ctx, url, &postgres.Options{IndexOnSearch: true, MustExist: how != makeMissing, ReadOnly: how == readOnly})
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf(`%w ("pleat compact FILE" or "pleat store migrate" makes one; name another with --store or PLEAT_STORE)`, err)
	}
	if err != nil {
		return nil, err
	}
	return st, nil
}

// storeTitle is how messages call a store: where it is, and nothing secret.
func storeTitle(path string) string {
	if urlScheme(path) == "" {
		return path
	}
	u, err := url.Parse(path)
	if err != nil {
		return "the database"
	}
	return u.Host + u.Path
}

// storeKind is what a store is kept in.
func storeKind(path string) string {
	if urlScheme(path) == "" {
		return "SQLite"
	}
	return "PostgreSQL"
}

var schemePattern = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://`)

// urlScheme is the scheme if the name of a store is a URL, in lower case, else "".
func urlScheme(path string) string {
	if m := schemePattern.FindStringSubmatch(path); m != nil {
		return strings.ToLower(m[1])
	}
	return ""
}

// codecs read stored messages of every wire back.
func codecs() map[transcript.Format]transcript.Codec {
	return map[transcript.Format]transcript.Codec{
		transcript.FormatAnthropic: anthropic.DecodeMessage,
		transcript.FormatChat:      openai.DecodeChatMessage,
		transcript.FormatResponses: openai.DecodeItem,
	}
}

// storedSession finds a session by its name, or by the beginning of its name if only
// one begins like that.
func storedSession(ctx context.Context, st anyStore, f *storeFlags, name string) (store.SessionInfo, error) {
	var begin []store.SessionInfo
	list, err := shownSessions(ctx, st, f.tenant)
	if err != nil {
		return store.SessionInfo{}, err
	}
	for _, info := range list {
		if info.Key.Session == name {
			return info, nil
		}
		if name != "" && strings.HasPrefix(info.Key.Session, name) {
			begin = append(begin, info)
		}
	}
	switch len(begin) {
	case 0:
		return store.SessionInfo{}, fmt.Errorf(`session %q: %w ("pleat stored" lists what is there)`, name, store.ErrNotFound)
	case 1:
		return begin[0], nil
	}
	return store.SessionInfo{}, fmt.Errorf("several sessions begin with %q: %s", name, sessionNames(begin))
}

// sessionNames lists names for a message, not more than a few.
func sessionNames(list []store.SessionInfo) string {
	const most = 8
	var names []string
	for _, info := range list[:min(len(list), most)] {
		names = append(names, info.Key.Session)
	}
	if n := len(list) - most; n > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, ", ")
}

// chosenSessions is the session that a user named, or all if there is no name.
func chosenSessions(ctx context.Context, st anyStore, f *storeFlags, name string) ([]store.SessionInfo, error) {
	if name == "" {
		return shownSessions(ctx, st, f.tenant)
	}
	info, err := storedSession(ctx, st, f, name)
	return []store.SessionInfo{info}, err
}

// roughly is how a session is opened to look something up in it. Its tokens are only
// estimated, which changes nothing of what it gives back and is much faster.
func roughly() *pleat.Options {
	rough := tokens.NewTokenizer(model.Model{}, &tokens.Options{Counter: tokens.CharsPerToken(4), CacheSize: -1})
	return &pleat.Options{Codecs: codecs(), Tokens: rough}
}

// reopen opens a session that is known to be in the store, to read from it.
func reopen(ctx context.Context, store store.Store, key store.SessionKey) (*pleat.Session, error) {
	return pleat.OpenSession(ctx, store, key, roughly())
}
