// Package agentdb shows the SQLite databases in which agents keep their sessions as folders that have a file for
// each session, with its rows as lines that package sessionlog reads. Databases are only read, also while
// their agents write to them.
package agentdb

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Folder is a folder in which databases are folders too. Links in it that lead out of it are not followed.
// It is safe for concurrent use.
type Folder struct {
	*os.Root

	mu     sync.Mutex
	listed map[string]listing // by the name of the database
}

type listing struct {
	of    version
	files []fs.FileInfo
}

// Open opens a folder.
func Open(name string) (*Folder, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Folder{Root: root, listed: make(map[string]listing)}, nil
}

// OpenFile opens a file, or what is a file in the folder of a database.
func OpenFile(name string) (fs.File, error) {
	if dir, _, ok := split(filepath.ToSlash(name)); ok {
		if info, err := os.Stat(filepath.FromSlash(dir)); err == nil && info.Mode().IsRegular() {
			folder, err := Open(filepath.Dir(dir))
			if err != nil {
				return nil, err
			}
			defer folder.Close()
			return folder.Open(path.Join(path.Base(dir), filepath.Base(name)))
		}
	}
	return os.Open(name)
}

// Why says why a file that is a database cannot be opened as a session.
func Why(name string) error {
	folder, err := Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer folder.Close()
	list, err := folder.List(filepath.Base(name))
	if err != nil {
		return err
	}
	return fmt.Errorf("%s is a database of %d sessions; name one of them as \"pleat sessions\" does", name, len(list))
}

// split returns the database and the session of a file's name.
func split(name string) (database, id string, ok bool) {
	database, id = path.Dir(name), path.Base(name)
	id, err := url.PathUnescape(id)
	return database, id, err == nil && IsDatabase(database)
}

// split does so, unless what is called like a database is a folder.
func (f *Folder) split(name string) (database, id string, ok bool) {
	database, id, ok = split(name)
	if info, err := f.Root.Stat(filepath.FromSlash(database)); err == nil && info.IsDir() {
		ok = false
	}
	return database, id, ok
}

// IsDatabase reports whether a file is one by its name.
func IsDatabase(name string) bool { return strings.HasSuffix(name, ".db") }

// List lists the sessions of a database, the newest first.
func (f *Folder) List(name string) ([]fs.FileInfo, error) {
	file := filepath.Join(f.Name(), filepath.FromSlash(name))
	now, err := versionOf(file)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if last, ok := f.listed[name]; ok && last.of == now {
		return last.files, nil
	}
	list, err := f.sessions(name, "")
	if err == nil {
		f.listed[name] = listing{now, list}
	}
	return list, err
}

func (f *Folder) sessions(name, id string) (list []fs.FileInfo, err error) {
	err = f.read(name, func(ctx context.Context, conn *sql.Conn) error {
		list = nil
		found, err := sessions(ctx, conn, id)
		for _, s := range found {
			list = append(list, s)
		}
		return err
	})
	return list, err
}

// longestRead is how long a database may take: one that was made to take for ever is let go.
const longestRead = 2 * time.Minute

func (f *Folder) read(name string, visit func(context.Context, *sql.Conn) error) error {
	if _, err := f.Root.Stat(name); err != nil { // also if it is a link that leads out
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), longestRead)
	defer stop()
	file := filepath.Join(f.Name(), filepath.FromSlash(name))
	err := read(ctx, file, func(conn *sql.Conn) error { return visit(ctx, conn) })
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return nil
}

// Stat is what a file is now.
func (f *Folder) Stat(name string) (fs.FileInfo, error) {
	database, id, ok := f.split(name)
	if !ok {
		return f.Root.Stat(filepath.FromSlash(name))
	}
	list, err := f.sessions(database, id)
	if err == nil && len(list) == 0 {
		err = &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// Open opens a file. What is in it is read at once.
func (f *Folder) Open(name string) (fs.File, error) {
	database, id, ok := f.split(name)
	if !ok {
		return f.Root.Open(filepath.FromSlash(name))
	}
	o := &opened{}
	err := f.read(database, func(ctx context.Context, conn *sql.Conn) error {
		list, err := sessions(ctx, conn, id)
		if err == nil && len(list) == 0 {
			err = fmt.Errorf("it has no session %s: %w", id, fs.ErrNotExist)
		}
		if err != nil {
			return err
		}
		o.session = list[0]
		data, err := o.session.lines(ctx, conn, filepath.Join(f.Name(), database))
		o.Reader = bytes.NewReader(data)
		return err
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// opened is an open session.
type opened struct {
	*bytes.Reader
	session session
}

func (o *opened) Stat() (fs.FileInfo, error) { return o.session, nil }
func (o *opened) Close() error               { return nil }

var _ io.ReadSeekCloser = (*opened)(nil)

// A session is a file of its ID, whose size is that of what was said.

func (s session) Name() string       { return url.PathEscape(s.id) }
func (s session) Size() int64        { return s.size }
func (s session) Mode() fs.FileMode  { return 0o400 }
func (s session) ModTime() time.Time { return time.UnixMilli(s.changed).UTC() }
func (s session) IsDir() bool        { return false }
func (s session) Sys() any           { return nil }
