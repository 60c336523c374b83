package library

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/agentdb"
	"github.com/pleat-dev/pleat/sessionlog"
)

// Agents lists the agents whose sessions are found.
func Agents() (names []string) {
	for _, a := range sessionlog.Agents() {
		names = append(names, string(a.Format))
	}
	return names
}

// root is a folder of an agent. Links in it that lead out of it are not followed.
type root struct {
	*agentdb.Folder // nil: it is not there
	folder          string
	agent           sessionlog.Agent
	patterns        []string
	problem         string // why it could not be opened, as it was logged
}

// open opens the folder, unless it is open and still the one of that name.
func (r *root) open() error {
	now, err := os.Stat(r.folder)
	if r.Folder != nil {
		if is, closed := r.Stat("."); err == nil && closed == nil && os.SameFile(is, now) {
			return nil
		}
		r.Close()
		r.Folder = nil
	}
	if err == nil {
		r.Folder, err = agentdb.Open(r.folder)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// openRoots opens the folders of an agent that are there now, or of all if none is named.
func (l *Library) openRoots(agent sessionlog.Format) (list []root) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.roots {
		r := &l.roots[i]
		if agent != "" && agent != r.agent.Format {
			continue
		}
		problem := ""
		if err := r.open(); err != nil {
			problem = err.Error()
		}
		if problem != "" && problem != r.problem {
			l.o.Logger.Warn("the folder of an agent cannot be opened; its sessions are left out",
				"agent", r.agent.Format, "error", problem)
		}
		if r.problem = problem; r.Folder != nil {
			list = append(list, *r)
		}
	}
	return list
}

// file is a session file.
type file struct {
	id       string
	root     root
	name     string // below the root, with slashes
	size     int64
	modified time.Time
	used     time.Time // see said
	whole    bool      // its last message is complete
}

func (f file) path() string { return filepath.Join(f.root.Name(), filepath.FromSlash(f.name)) }

func (f file) info() Info {
	return Info{
		ID: f.id, Name: f.id, Agent: string(f.root.agent.Format), File: f.path(), Modified: f.modified, Used: f.used,
		Bytes: f.size, Tokens: f.tokens(),
	}
}

// tokens is about how many tokens the session has.
func (f file) tokens() int { return int(f.size / f.root.agent.BytesPerToken) }

// file finds out what a file is now.
func (r root) file(name string) (file, error) {
	info, err := r.Stat(name)
	if err != nil {
		return file{}, err
	}
	return r.fileOf(name, info)
}

func (r root) fileOf(name string, info fs.FileInfo) (file, error) {
	if !info.Mode().IsRegular() {
		return file{}, errors.New("not a regular file")
	}
	f := file{root: r, name: name, size: info.Size(), modified: info.ModTime().UTC()}
	f.id = r.fileID(name)
	f.addParts(2) // the last question and its answer
	return f, nil
}

// addParts counts the other files of a session, those of its newest messages included.
func (f *file) addParts(newest int) {
	if f.root.agent.Parts == nil || f.inDatabase() {
		return
	}
	for _, info := range f.root.agent.Parts(f.root.FS(), f.name, newest) {
		f.size += info.Size()
		if info.ModTime().After(f.modified) {
			f.modified = info.ModTime().UTC()
		}
	}
}

func (r root) fileID(name string) string {
	return fileID(r.agent.Format, path.Base(filepath.ToSlash(r.Name()))+"/"+name)
}

// beside is the ID of the session that the agent keeps beside this one under an ID of its own; "" if that is.
func (f file) beside(own string) string {
	if own == "" {
		return ""
	}
	return f.root.fileID(path.Join(path.Dir(f.name), own+path.Ext(f.name)))
}

// fileID is the ID of a file's session, which is also its name in the store. It follows
// from the agent and from where the file is in its folder, so that it stays the same when
// the file grows.
func fileID(agent sessionlog.Format, name string) string {
	h := sha256.Sum256([]byte(name))
	return string(agent) + "-" + hex.EncodeToString(h[:5])
}

var fileIDPattern = regexp.MustCompile(`^[a-z]+(-[a-z]+)?-[0-9a-f]{10}$`)

func isFileID(id string) bool { return fileIDPattern.MatchString(id) }

// agentOf is the agent that the ID of a file begins with; "": it is no such ID.
func agentOf(id string) (agent sessionlog.Format) {
	if isFileID(id) {
		agent = sessionlog.Format(id[:len(id)-len("-0123456789")])
	}
	return agent
}

// scan lists the files of an agent, or of all if none is named. A file that cannot be
// looked at, such as a link that leads elsewhere, is left out.
func (l *Library) scan(agent sessionlog.Format) []file {
	var list []file
	for _, r := range l.openRoots(agent) {
		for _, pattern := range r.patterns {
			list = r.match(list, ".", strings.Split(pattern, "/"))
		}
	}
	list = once(list)
	for i := range list {
		l.keepFile(&list[i])
	}
	slices.SortFunc(list, func(a, b file) int {
		return cmp.Or(b.used.Compare(a.used), strings.Compare(a.name, b.name))
	})
	return list
}

// once leaves out files of sessions that a database has as well: opencode left them when it began one.
func once(list []file) []file {
	type id struct {
		agent sessionlog.Format
		name  string
	}
	of := func(f file) id {
		base := path.Base(f.name)
		return id{f.root.agent.Format, strings.TrimSuffix(base, path.Ext(base))}
	}
	kept := make(map[id]bool)
	for _, f := range list {
		kept[of(f)] = kept[of(f)] || f.inDatabase()
	}
	return slices.DeleteFunc(list, func(f file) bool { return kept[of(f)] && !f.inDatabase() })
}

// inDatabase reports whether the file is a session of a database.
func (f file) inDatabase() bool { return agentdb.IsDatabase(path.Dir(f.name)) }

// keepFile remembers a file, and completes it with when it was used.
func (l *Library) keepFile(f *file) {
	l.mu.Lock()
	last := l.files[f.id]
	l.mu.Unlock()
	if f.used = last.used; f.used.IsZero() || last.size != f.size || !last.modified.Equal(f.modified) {
		f.used = f.said()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.files[f.id] = *f
}

// said is when the newest message was said, as the end of the file tells: a copied file is younger.
// Where the end does not tell, it is when the file was changed.
func (f file) said() (newest time.Time) {
	if f.inDatabase() || f.root.agent.Join != nil {
		return f.modified
	}
	in, err := f.root.Open(f.name)
	if err != nil {
		return f.modified
	}
	defer in.Close()
	at := in.(io.ReaderAt)
	for size := int64(4 << 10); size <= 4<<20; size *= 8 {
		from := max(f.size-size, 0)
		log, err := sessionlog.Open(io.NewSectionReader(at, from, f.size-from), everything)
		if err == nil && log.Info().Format == f.root.agent.Format {
			for rec, err := range log.Records() {
				if err == nil && rec.Time.After(newest) {
					newest = rec.Time.UTC()
				}
			}
		}
		if !newest.IsZero() {
			return newest
		}
		if from == 0 {
			break
		}
	}
	return f.modified
}

// match appends the files in a folder that match a pattern. Only links are asked what they lead
// to: for everything else the directory entry says enough, which is several times as fast.
func (r root) match(list []file, dir string, pattern []string) []file {
	in, err := r.Open(dir)
	if err != nil {
		return list
	}
	entries, _ := in.(fs.ReadDirFile).ReadDir(-1) // what could be read of it
	in.Close()
	for _, e := range entries {
		if ok, _ := path.Match(pattern[0], e.Name()); !ok {
			continue
		}
		name, isLink := path.Join(dir, e.Name()), e.Type()&fs.ModeSymlink != 0
		if len(pattern) > 1 {
			if agentdb.IsDatabase(name) && !e.IsDir() {
				list = r.matchSessions(list, name)
			} else if e.IsDir() || isLink {
				list = r.match(list, name, pattern[1:])
			}
			continue
		}
		info, err := e.Info()
		if err == nil && isLink {
			info, err = r.Stat(name)
		}
		if err != nil {
			continue
		}
		if f, err := r.fileOf(name, info); err == nil {
			list = append(list, f)
		}
	}
	return list
}

// matchSessions appends the sessions in a database. One that cannot be read stands in the list itself, so that
// whoever looks into it is told why.
func (r root) matchSessions(list []file, name string) []file {
	sessions, err := r.List(name)
	if err != nil {
		if f, err := r.file(name); err == nil {
			list = append(list, f)
		}
	}
	for _, info := range sessions {
		if f, err := r.fileOf(path.Join(name, info.Name()), info); err == nil {
			list = append(list, f)
		}
	}
	return list
}

// fileNow is a file that a listing found, as it is now.
func (l *Library) fileNow(id string) (file, bool) {
	l.mu.Lock()
	f, ok := l.files[id]
	l.mu.Unlock()
	if !ok {
		return f, false
	}
	f, err := f.root.file(f.name)
	if err != nil {
		return f, false
	}
	l.keepFile(&f)
	return f, true
}

// content is what a file has, up to the size that it had when it was opened: its agent may
// be writing to it.
type content struct {
	*io.SectionReader
	io.Closer
}

// log opens the session in the content, and all opens it with what is [aside].
func (c content) log() (*sessionlog.Log, error) { return sessionlog.Open(c.SectionReader, nil) }

func (c content) all() (*sessionlog.Log, error) { return sessionlog.Open(c.SectionReader, everything) }

var everything = &sessionlog.Options{Sidechains: true, Abandoned: true}

// open opens the file for reading, as it is now, and updates what f says of it. A session that
// is kept in several files is read as one; without messages if only its head is wanted.
func (f *file) open(head bool) (content, error) {
	if agentdb.IsDatabase(f.name) {
		return content{}, agentdb.Why(f.path())
	}
	if join := f.root.agent.Join; join != nil && !f.inDatabase() {
		info, err := f.root.Stat(f.name)
		if err != nil {
			return content{}, err
		}
		data, err := join(f.root.FS(), f.name, head)
		if err != nil {
			return content{}, fmt.Errorf("read %s: %w", path.Base(f.name), err)
		}
		f.size = info.Size()
		f.addParts(math.MaxInt)
		return content{io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), io.NopCloser(nil)}, nil
	}
	in, err := f.root.Open(f.name)
	if err != nil {
		return content{}, err
	}
	info, err := in.Stat()
	if err != nil {
		return content{}, errors.Join(err, in.Close())
	}
	f.size, f.modified = info.Size(), info.ModTime().UTC()
	size := f.size
	if f.inDatabase() { // whose lines say more than was said
		size, _ = in.(io.Seeker).Seek(0, io.SeekEnd) // cannot fail
	}
	return content{io.NewSectionReader(in.(io.ReaderAt), 0, size), in}, nil
}

// OpenFile opens the session of a file, wherever it is. That may be one in a database, as DATABASE/ID, or one that
// its agent keeps in several files.
func OpenFile(name string) (io.ReadSeekCloser, error) {
	for _, a := range sessionlog.Agents() {
		folder := folderOf(a, name)
		below, err := filepath.Rel(folder, name)
		if a.Join == nil || err != nil || filepath.Dir(name) == folder || agentdb.IsDatabase(filepath.Dir(name)) {
			continue
		}
		data, err := a.Join(os.DirFS(folder), filepath.ToSlash(below), false)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		return content{io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), io.NopCloser(nil)}, nil
	}
	in, err := agentdb.OpenFile(name)
	if err != nil {
		return nil, err
	}
	info, err := in.Stat()
	switch file, ok := in.(io.ReadSeekCloser); {
	case err != nil:
	case info.IsDir():
		err = fmt.Errorf("%s is a folder; name a session file in it, or run \"pleat sessions\"", name)
	case !ok:
		err = errors.New("it cannot be read at any place")
	case agentdb.IsDatabase(name) && info.Mode().IsRegular():
		err = agentdb.Why(name)
	default:
		return file, nil
	}
	return nil, errors.Join(err, in.Close())
}
