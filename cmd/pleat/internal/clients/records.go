package clients

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clientconfig"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// Change is one file that is changed for a client.
type Change struct {
	Record string // under which it can be taken back
	Path   string // "": there is no home folder
	keys   []clientconfig.Key
	text   string // of a file of our own; "": keys are set
}

// Records is the folder that remembers what was there before each change; "": there is none.
type Records string

func (r Records) file(name string) string { return filepath.Join(string(r), name+".json") }

// Has reports whether one of these changes was made and can be taken back.
func (r Records) Has(names ...string) bool {
	return r != "" && slices.ContainsFunc(names, func(name string) bool { return !term.Missing(r.file(name)) })
}

// Names are the names of all changes that can be taken back.
func (r Records) Names() (names []string, err error) {
	if r == "" {
		return nil, nil
	}
	files, err := filepath.Glob(r.file("*"))
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".json"))
	}
	return names, err
}

// Proxy is the address of the proxy that clients were set up for; "" if none was.
func (r Records) Proxy() string {
	if r == "" {
		return ""
	}
	for _, c := range All {
		for _, v := range clientconfig.Values(r.file(c.Name)) {
			if m := proxyPattern.FindStringSubmatch(v); m != nil {
				return m[1]
			}
		}
	}
	return ""
}

var proxyPattern = regexp.MustCompile(`http://(?:[^/\s"',\\]*@)?([^/\s"',\\@]+)`)

// isFree reports whether a key has no value but the one that it would get, or one that a change has given it.
func (r Records) isFree(record, path string, k clientconfig.Key) (bool, error) {
	there, err := clientconfig.Get(path, k.Path...)
	wrote := func(text string) bool {
		var v any
		return json.Unmarshal([]byte(text), &v) == nil && clientconfig.Same(there, v)
	}
	return there == nil || clientconfig.Same(there, k.Value) ||
		r != "" && slices.ContainsFunc(clientconfig.Values(r.file(record)), wrote), err
}

// Plan plans changes.
func (r Records) Plan(changes ...Change) (edits []*clientconfig.Edit, err error) {
	for _, c := range changes {
		var edit *clientconfig.Edit
		switch undo := r.file(c.Record); {
		case r == "" || c.Path == "":
			err = errors.New("there is no home folder")
		case c.text != "":
			edit, err = clientconfig.Create(c.Path, undo, c.text)
		default:
			edit, err = clientconfig.Set(c.Path, undo, c.keys...)
		}
		if err != nil {
			return nil, err
		}
		edits = append(edits, edit)
	}
	return edits, nil
}

// PlanBack plans to take back those of the changes that were made, the newest first: each then finds its file as
// it left it.
func (r Records) PlanBack(names ...string) (edits []*clientconfig.Edit, err error) {
	made := func(name string) (t time.Time) {
		if info, err := os.Stat(r.file(name)); err == nil {
			t = info.ModTime()
		}
		return t
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !r.Has(name) })
	slices.SortStableFunc(names, func(a, b string) int { return made(b).Compare(made(a)) })
	for _, name := range names {
		edit, err := clientconfig.Undo(r.file(name), edits...)
		if err != nil {
			return nil, err
		}
		edits = append(edits, edit)
	}
	if len(edits) == 0 {
		return nil, errors.New("nothing to undo: pleat has changed nothing here that could be taken back")
	}
	return edits, nil
}
