// Package library lists the sessions that a user has: files that agents left in
// their folders, and sessions in a store. Each can be opened as a [pleat.Session].
//
//	lib := library.New(library.Options{Home: home, Store: st})
//	defer lib.Close()
//	page, err := lib.List(ctx, library.Filter{Limit: 20})
//	s, err := lib.Open(ctx, page.Sessions[0].ID)
//
// A file is never changed. When its session is opened, the store gets what the file has and
// the store has not: unchanged files are not read again, a file that its agent is still
// writing gets its new messages appended, and a conversation that was rewound goes on in a
// fork. Nothing outside of the agents' folders is opened, not even through a symbolic link.
//
// It is for programs of the user, over the user's own folders: whoever has a Library can
// read all of its sessions.
package library

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
)

// Store is what a library needs of a store. It also uses the method Tenants of the durable stores.
type Store interface {
	store.Store
	store.Keeper
	store.Searcher
}

// Options set a library up.
type Options struct {
	Home  string // the folder in which agents keep their folders; "": there are no files
	Store Store  // gets what is opened; nil: files can be listed, nothing can be opened
	// Tenant has the sessions that come from files, and is the only one whose sessions are
	// listed. "": files' sessions have none, and those of all tenants are listed.
	Tenant string
	Logger *slog.Logger // nil: nothing is logged
	Shared bool         // the store has the sessions of others, too: those have to be named

	Index    string              // the file that searches are answered from; "": every session is read
	Progress func(done, all int) // of a search; nil: nobody waits
}

// Library is safe for concurrent use.
type Library struct {
	o Options

	mu       sync.Mutex
	roots    []root                 // where agents keep their folders; those that are not there are tried again
	looks    map[string]look        // by ID
	files    map[string]file        // by ID, as the last listing found them
	busy     map[string]*sync.Mutex // by ID: held while the session is brought up to date
	opened   []opened               // the last used first
	counters map[counting]*tokens.Tokenizer
}

// New returns the library of what is in the home folder and in the store. An agent's folder
// need not be there yet, and one that cannot be opened is logged and left out.
func New(o Options) *Library {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Library{
		o: o, looks: make(map[string]look), files: make(map[string]file), busy: make(map[string]*sync.Mutex),
	}
	if o.Home == "" {
		return l
	}
	for _, a := range sessionlog.Agents() {
		for folder, patterns := range a.Folders {
			folder = filepath.Join(o.Home, filepath.FromSlash(folder))
			l.roots = append(l.roots, root{folder: folder, agent: a, patterns: patterns})
			if a.Format == "crush" {
				l.addCrush(folder, a, patterns)
			}
		}
	}
	return l
}

// addCrush adds the folders of projects that Crush knows, apart from that of the home folder.
func (l *Library) addCrush(known string, a sessionlog.Agent, patterns []string) {
	var list struct {
		Projects []struct {
			Data string `json:"data_dir"`
		}
	}
	data, err := os.ReadFile(filepath.Join(l.o.Home, ".local", "share", "crush", "projects.json"))
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.o.Logger.Warn("Crush's list of projects cannot be read; their sessions are left out", "error", err)
	}
	for _, p := range list.Projects {
		if filepath.IsAbs(p.Data) && filepath.Clean(p.Data) != known {
			l.roots = append(l.roots, root{folder: filepath.Clean(p.Data), agent: a, patterns: patterns})
		}
	}
}

// Close closes the agents' folders. The store is left open.
func (l *Library) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, r := range l.roots {
		if r.Folder != nil {
			errs = append(errs, r.Close())
		}
	}
	l.roots = nil
	return errors.Join(errs...)
}

// Info is what is known of a session without opening it.
type Info struct {
	ID       string           `json:"id"`                // for [Library.Open]
	Name     string           `json:"name,omitempty"`    // the shortest that means no other session
	Agent    string           `json:"agent,omitempty"`   // that left the file; "": the session is in the store alone
	Project  string           `json:"project,omitempty"` // the folder that the agent worked in
	Parent   string           `json:"parent,omitempty"`  // the ID of the session whose sub-agent it is of
	Title    string           `json:"title,omitempty"`   // on one line; may have characters that move a cursor
	Model    string           `json:"model,omitempty"`
	File     string           `json:"file,omitempty"`
	Key      store.SessionKey `json:"key,omitzero"` // in the store; zero: it is not there yet
	Modified time.Time        `json:"modified"`
	Used     time.Time        `json:"used"` // the time of its newest message, where that is known
	Bytes    int64            `json:"bytes"`
	Tokens   int              `json:"tokens"`
	Counted  bool             `json:"counted"`            // else the tokens are estimated from the size
	Messages int              `json:"messages,omitempty"` // 0: not known without reading it
	USD      float64          `json:"usd,omitempty"`      // what its requests come to; 0: not known
	Requests int              `json:"requests,omitempty"` // whose usage is known
	Compacts int              `json:"compactions,omitempty"`
	Problem  string           `json:"problem,omitempty"` // why it cannot be read

	Entries uint64 `json:"-"` // in the store

	Of     string            `json:"-"` // the ID of the session that [Library.Copies] has this for
	Stored store.SessionInfo `json:"-"` // what the store says of it, also where it is a file's
	Budget fold.Budget       `json:"-"` // that a stored session was made with; zero: not known
	Head   fold.Parts        `json:"-"` // of its first requests
	ratio  float64           // see [MarkMade]; 0: the model's
}

// Filter chooses sessions. The zero value chooses all.
type Filter struct {
	Agent   string // of this agent
	Project string // in this folder or below it
	Offset  int
	Limit   int  // at most so many; 0: all
	Count   bool // read every session that is returned and count its tokens
	Plain   bool // do not look into files: no titles, projects or problems
	Any     bool // of a search: also sessions that have only some of the words, where others have all
	Last    bool // rehearsals come behind all other sessions, as they do for "last"
}

// Page is a part of a list.
type Page struct {
	Sessions []Info `json:"sessions"` // newest first
	Total    int    `json:"total"`    // how many the filter chooses
}

// List lists sessions, the newest first. It looks only into the files of the page, or, if
// the filter has a project, into all of them; what it saw of unchanged ones it remembers.
func (l *Library) List(ctx context.Context, f Filter) (Page, error) {
	if f.Agent != "" && !slices.Contains(Agents(), f.Agent) {
		return Page{}, fmt.Errorf("unknown agent %q: want one of %v", f.Agent, Agents())
	}
	all, err := l.all(ctx, f.Agent)
	if err != nil {
		return Page{}, err
	}
	if f.Last {
		lastFirst(all)
	}
	if f.Project != "" {
		if err := l.look(ctx, all, glance); err != nil {
			return Page{}, err
		}
		all = slices.DeleteFunc(all, func(i Info) bool { return !within(i.Project, f.Project) })
	}
	p := Page{Total: len(all)}
	all = all[min(max(f.Offset, 0), len(all)):]
	if f.Limit > 0 {
		all = all[:min(f.Limit, len(all))]
	}
	switch {
	case f.Count:
		err = l.look(ctx, all, tokensToo)
	case !f.Plain:
		err = l.look(ctx, all, glance)
	}
	p.Sessions = all
	return p, err
}

// IsRehearsal reports whether a stored session's name says that it is a rehearsal: a program played the
// model. What follows is its scenario.
func IsRehearsal(session string) bool { return strings.HasPrefix(session, "rehearsal-") }

// lastFirst puts rehearsals behind all else, as who has watched one goes on to their own work, and sub-agents.
func lastFirst(newest []Info) {
	played := func(i Info) int {
		if i.Parent != "" || isSubAgent(i) || i.Agent == "" && IsRehearsal(i.Key.Session) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(newest, func(a, b Info) int { return played(a) - played(b) })
}

// isSubAgent reports whether the name of a file says so, which Claude Code kept for each of its sub-agents.
func isSubAgent(i Info) bool {
	return i.Agent == string(sessionlog.ClaudeCode) && strings.HasPrefix(filepath.Base(i.File), "agent-")
}

// within reports whether a folder is another or below it.
func within(dir, top string) bool {
	top = strings.TrimRight(top, `/\`)
	rest, ok := strings.CutPrefix(dir, top)
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '\\')
}

// all lists what there is, the newest first, with what is known without looking into it.
func (l *Library) all(ctx context.Context, agent string) ([]Info, error) {
	var list []Info
	ours := make(map[string]int)
	for i, f := range l.scan(sessionlog.Format(agent)) {
		ours[f.id] = i
		list = append(list, f.info())
	}
	if l.o.Store != nil && !l.o.Shared && agent == "" {
		var err error
		if list, err = l.withStored(ctx, list, ours); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(list, func(a, b Info) int { return b.Used.Compare(a.Used) })
	return list, ctx.Err()
}

// Of is the session that a file has: the file that an agent keeps of it, or a copy of that with
// the agent's own ID in it.
func (l *Library) Of(name string, log sessionlog.Info) (Info, error) {
	name, _ = filepath.Abs(name)
	return l.file(log.Format, name, func(f file) bool { return f.path() == name }, func(f file) bool {
		return len(log.SessionID) >= 16 && strings.Contains(path.Base(f.name), log.SessionID)
	})
}
