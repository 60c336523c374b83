package stores

import (
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// Index is the flag of the commands that search in all sessions.
type Index struct{ flag *pflag.Flag }

// DeclareIndex declares --index.
func DeclareIndex(fs *pflag.FlagSet) Index {
	fs.Bool("index", true, "keep an index of all sessions next to your own store; with =false each search reads them all")
	return Index{fs.Lookup("index")}
}

// Path is where the index is. It is empty if there shall be none: of a store that is named, and of one with a
// key, as nothing encrypts an index, unless it is asked for.
func (x Index) Path(p *term.Console, f *Flags) (string, error) {
	keys, err := Keys(p, f.KeyFile)
	off := f.Path != "" || x.flag.Value.String() == "false" || len(keys) > 0 && !x.flag.Changed
	if err != nil || off {
		return "", err
	}
	path, missing := Path(p, "")
	if missing != nil { // there is no folder for data
		return "", nil
	}
	return IndexBeside(path), nil
}

// IndexBeside is where the index beside the user's own store is.
func IndexBeside(store string) string { return filepath.Join(filepath.Dir(store), "search.db") }
