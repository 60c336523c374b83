package library

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/internal/secrets"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/store"
)

// At is the session in a file of an agent, wherever the agent keeps its files. Whoever names
// the file knows that the agent waits: its last message counts as complete.
func (l *Library) At(agent sessionlog.Format, name string) (Info, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return Info{}, fmt.Errorf("find session file: %w", err)
	}
	r := root{folder: filepath.Dir(name)}
	for _, a := range sessionlog.Agents() {
		if a.Format == agent {
			a.Join, a.Parts = nil, nil // it is the whole session
			r.agent, r.folder = a, folderOf(a, name)
		}
	}
	if r.agent.Format == "" {
		return Info{}, fmt.Errorf("unknown agent %q: want one of %v", agent, Agents())
	}
	if err := r.open(); err != nil || r.Folder == nil {
		return Info{}, fmt.Errorf("open the folder of session file %s: %w", name, errors.Join(err))
	}
	below, err := filepath.Rel(r.folder, name)
	f := file{}
	if err == nil {
		f, err = r.file(filepath.ToSlash(below))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.roots = append(l.roots, r) // Close closes it
	if err != nil {
		return Info{}, fmt.Errorf("find session file: %w", err)
	}
	f.whole = true
	l.files[f.id] = f
	return f.info(), nil
}

// folderOf is the folder of the agent that a file is in, or one like it elsewhere: a session
// has the same ID wherever its agent was told to keep its files.
func folderOf(a sessionlog.Agent, name string) string {
	for folder, patterns := range a.Folders {
		for _, pattern := range patterns {
			dir := name
			for range strings.Split(pattern, "/") {
				dir = filepath.Dir(dir)
			}
			if filepath.Base(dir) == path.Base(folder) {
				return dir
			}
		}
	}
	return filepath.Dir(name)
}

// pageHead follows the line that a page begins with.
const pageHead = `It is a record, not a new request. All of the conversation is stored. Eight characters in brackets, or in
unfold("…"), are the handle of something that is not all here: pleat's MCP tools unfold, search and ledger
show it exactly, with session: %q as an argument; without them, %s unfold HANDLE --session %[1]s does.
`

// kept is a page as the store has it: an entry of kind [store.EntryPrefix] in its session.
type kept struct {
	Size int64  `json:"size"` // of the session's file when it was written
	Page string `json:"page"`
}

const pageLabel = "page:"

// PageOptions say what an agent takes of a page.
type PageOptions struct {
	Most    int                   // of what Size counts
	Size    func(text string) int // nil: bytes
	Program string                // how the agent's shell runs pleat; "": by its name
	Seen    bool                  // the agent keeps the newest results by itself
}

// Page tells the agent of a session what it loses of the session: what the user typed, files,
// outcomes, what is open, and handles. It has no secrets of known shapes. It is kept with the session.
func (l *Library) Page(ctx context.Context, info Info, o PageOptions) (string, error) {
	s, err := l.open(ctx, info)
	if err != nil {
		return "", err
	}
	k := kept{Size: info.Bytes}
	if k.Page, err = writePage(ctx, s, o); err != nil {
		return "", err
	}
	data, err := json.Marshal(k)
	if err != nil {
		return "", fmt.Errorf("encode page: %w", err)
	}
	for try := 0; ; try++ {
		_, err = inside.Of(s).Mark(ctx, []string{pageLabel + info.ID}, data)
		if !errors.Is(err, store.ErrConflict) || try == 3 { // else another process reads the same file
			return k.Page, err
		}
	}
}

// KeptPage is the page that was written last for a session, and how many bytes its file had
// then; "" if there is none. The session is not read for it.
func (l *Library) KeptPage(ctx context.Context, id string) (page string, size int64, err error) {
	if l.o.Store == nil {
		return "", 0, nil
	}
	found, err := l.o.Store.Find(ctx, l.o.Tenant, store.EntryPrefix, pageLabel+id)
	for _, f := range found {
		var k kept
		if json.Unmarshal(f.Entry.Data, &k) == nil {
			page, size = k.Page, k.Size
		}
	}
	return page, size, err
}

func writePage(ctx context.Context, s *pleat.Session, o PageOptions) (string, error) {
	if o.Size == nil {
		o.Size = func(text string) int { return len(text) }
	}
	head := fmt.Sprintf(pageHead, s.Key().Session, cmp.Or(o.Program, "pleat"))
	for room := (o.Most - len(head)) / 4; room > 0; { // a token is about four characters
		page, err := inside.Of(s).Page(ctx, fold.PageRoom{Total: room, Words: room / 2, Beside: true, Seen: o.Seen})
		if err != nil {
			return "", err
		}
		first, rest, _ := strings.Cut(page, "\n")
		text := first + "\n" + head + secrets.Redact(rest)
		over := o.Size(text) - o.Most
		if over <= 0 {
			return text, nil
		}
		room -= over/4 + room/20 + 1
	}
	return "", fmt.Errorf("write page of session %s: %d are too few", s.Key(), o.Most)
}
