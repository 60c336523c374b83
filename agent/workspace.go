package agent

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Workspace is the part of the file system that file tools may touch: a folder, and
// others that are allowed besides. Paths are resolved, symbolic links and .. included,
// and whatever leads outside is refused. Commands are not confined by it: they are a
// matter of permission. It is safe for concurrent use.
type Workspace struct {
	mu sync.Mutex // one change to a file at a time

	rootsMu sync.RWMutex
	roots   []root
	spill   string // folder of outputs that were too long; empty: none yet
	made    bool   // the folder was made here
}

type root struct {
	*os.Root
	dir  string // as it was named, absolute
	real string // with symbolic links resolved
}

// ErrOutside says that a path leads out of the workspace.
var ErrOutside = errors.New("outside of the workspace")

// OpenWorkspace opens the workspace in a folder. Files in the other folders may be
// touched too, by absolute paths.
func OpenWorkspace(dir string, others ...string) (*Workspace, error) {
	w := new(Workspace)
	for _, d := range append([]string{dir}, others...) {
		r, err := openRoot(d)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open workspace: %w", err), w.Close())
		}
		w.roots = append(w.roots, r)
	}
	return w, nil
}

func openRoot(dir string) (root, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return root{}, err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return root{}, err
	}
	r, err := os.OpenRoot(real)
	return root{r, abs, real}, err
}

// Close lets go of the folders. Outputs that were spilled into a temporary folder are
// deleted.
func (w *Workspace) Close() error {
	w.rootsMu.Lock()
	defer w.rootsMu.Unlock()
	var errs []error
	if w.made {
		errs = append(errs, os.RemoveAll(w.spill))
	}
	for _, r := range w.roots {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// Dir is the workspace's folder.
func (w *Workspace) Dir() string {
	w.rootsMu.RLock()
	defer w.rootsMu.RUnlock()
	return w.roots[0].real
}

// spillDir is where outputs go that are too long, and where they can be read from.
func (w *Workspace) spillDir(dir string) (string, error) {
	w.rootsMu.Lock()
	defer w.rootsMu.Unlock()
	if w.spill != "" {
		return w.spill, nil
	}
	made := dir == ""
	if made {
		var err error
		if dir, err = os.MkdirTemp("", "pleat-output-"); err != nil {
			return "", err
		}
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	r, err := openRoot(dir)
	if err != nil {
		return "", err
	}
	w.roots = append(w.roots, r)
	w.spill, w.made = r.real, made
	return w.spill, nil
}

// place is a file that may be touched.
type place struct {
	root root
	rel  string // below the root, with no symbolic link in it
	name string // for people and for rules: relative in the workspace, else absolute; with slashes
}

// resolve finds out which file a path means and refuses what is not in the workspace.
func (w *Workspace) resolve(path string) (place, error) {
	if path == "" {
		return place{}, errors.New("a path is needed")
	}
	if strings.ContainsRune(path, 0) {
		return place{}, errors.New("the path has a NUL byte")
	}
	abs := filepath.FromSlash(path)
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(w.Dir(), abs)
	}
	abs = filepath.Clean(abs)
	if _, ok := w.find(abs); !ok {
		return place{}, w.outside(path, "it leads")
	}
	real, err := evalExisting(abs)
	if err != nil {
		return place{}, fmt.Errorf("resolve %s: %w", path, err)
	}
	p, ok := w.find(real)
	if !ok {
		return place{}, w.outside(path, "a symbolic link in it leads")
	}
	return p, nil
}

func (w *Workspace) outside(path, how string) error {
	w.rootsMu.RLock()
	defer w.rootsMu.RUnlock()
	allowed := make([]string, len(w.roots))
	for i, r := range w.roots {
		allowed[i] = r.dir
	}
	return fmt.Errorf("%s is refused: %s %w (%s)", path, how, ErrOutside, strings.Join(allowed, ", "))
}

// find gives the place of an absolute path in one of the roots.
func (w *Workspace) find(abs string) (place, bool) {
	w.rootsMu.RLock()
	defer w.rootsMu.RUnlock()
	for i, r := range w.roots {
		for _, dir := range []string{r.real, r.dir} {
			rel, err := filepath.Rel(dir, abs)
			if err != nil || !filepath.IsLocal(rel) {
				continue
			}
			name := filepath.ToSlash(rel)
			if i > 0 {
				name = filepath.ToSlash(filepath.Join(r.real, rel))
			}
			return place{r, rel, name}, true
		}
	}
	return place{}, false
}

// evalExisting resolves the symbolic links of a path of which the end need not exist.
func evalExisting(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if _, lerr := os.Lstat(path); lerr == nil {
		// A link to something that is not there: writing through it would create that.
		return "", fmt.Errorf("%s is a symbolic link to something that does not exist", path)
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path, nil
	}
	if dir, err = evalExisting(dir); err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// write replaces a file's content: all of it, or nothing.
func (w *Workspace) write(p place, data []byte) error {
	if dir := filepath.Dir(p.rel); dir != "." {
		if err := p.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	mode := fs.FileMode(0o644)
	if info, err := p.root.Stat(p.rel); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("write %s: it is not a regular file", p.name)
		}
		mode = info.Mode().Perm()
	}
	temp := filepath.Join(filepath.Dir(p.rel), ".pleat-"+rand.Text())
	f, err := p.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return errors.Join(err, p.root.Remove(temp))
	}
	if err := p.root.Rename(temp, p.rel); err != nil {
		return errors.Join(err, p.root.Remove(temp))
	}
	return nil
}
