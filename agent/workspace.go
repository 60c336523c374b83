package agent

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// Workspace is the part of the file system that file tools may touch: a folder, and any
// others that are allowed. Paths are resolved, symbolic links and .. included, and
// whatever leads outside is refused. Commands are not confined by it: they need
// permission. It is safe for concurrent use.
type Workspace struct {
	mu sync.Mutex // one change to a file at a time

	dir root // the workspace's folder

	rootsMu sync.RWMutex
	roots   []root // all folders
	spill   string // folder of outputs that were too long; empty: none yet
	made    bool   // the folder was made here
}

type root struct {
	*os.Root
	dir  string // as it was named, absolute
	real string // with symbolic links resolved
}

// errOutside means that a path leads out of the workspace.
var errOutside = errors.New("outside of the workspace")

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
	w.dir = w.roots[0]
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

// Close closes the folders. It deletes outputs that were spilled into a temporary folder.
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
func (w *Workspace) Dir() string { return w.dir.real }

// spillFile makes a file for an output that is too long, where it can be read from: in
// dir, or in a temporary folder if that is empty. All such files go into one folder.
func (w *Workspace) spillFile(dir string) (*os.File, error) {
	w.rootsMu.Lock()
	defer w.rootsMu.Unlock()
	if w.spill == "" {
		err, made := error(nil), dir == ""
		if made {
			dir, err = os.MkdirTemp("", "pleat-output-")
		} else {
			err = os.MkdirAll(dir, 0o700)
		}
		if err != nil {
			return nil, err
		}
		r, err := openRoot(dir)
		if err != nil {
			return nil, err
		}
		w.roots = append(w.roots, r)
		w.spill, w.made = r.real, made
	}
	return os.CreateTemp(w.spill, "output-*.txt")
}

// current returns a text file as it is now, for [pleat.Options].ReadFile.
func (w *Workspace) current(_ context.Context, path string) ([]byte, error) {
	f, err := w.resolve(path)
	if err != nil {
		return nil, err
	}
	if _, err := f.root.Stat(f.rel); errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return f.readText()
}

// Keep writes a plain copy into the workspace's folder, for [pleat.Options].KeepFile. If there
// is a file of that name with something else in it, the copy gets a number. Keep returns the
// copy's name.
func (w *Workspace) Keep(name string, data []byte) (string, error) {
	root := w.dir
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return "", fmt.Errorf("keep %s: %w", name, err)
	}
	ext := path.Ext(name)
	for n := 1; ; n++ {
		as := name
		if n > 1 {
			as = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
		}
		out, err := root.OpenFile(as, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			if old, err := readRegular(root.Root, as, int64(len(data))); err == nil && bytes.Equal(old, data) {
				return as, nil
			}
			continue
		}
		if err == nil {
			_, err = out.Write(data)
			err = errors.Join(err, out.Close())
		}
		if err != nil {
			return "", fmt.Errorf("keep %s: %w", as, err)
		}
		return as, nil
	}
}

// file is a file that may be touched.
type file struct {
	root root
	rel  string // below the root, with no symbolic link in it
	name string // for people and for rules: relative in the workspace, else absolute; with slashes
}

// resolve returns the file that a path means and refuses what is not in the workspace.
func (w *Workspace) resolve(path string) (file, error) {
	if path == "" {
		return file{}, errors.New("a path is needed")
	}
	if strings.ContainsRune(path, 0) {
		return file{}, errors.New("the path has a NUL byte")
	}
	abs := filepath.FromSlash(path)
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(w.Dir(), abs)
	}
	abs = filepath.Clean(abs)
	if _, ok := w.find(abs); !ok {
		return file{}, w.outside(path, "it leads")
	}
	real, err := evalExisting(abs)
	if err != nil {
		return file{}, fmt.Errorf("resolve %s: %w", path, err)
	}
	f, ok := w.find(real)
	if !ok {
		return file{}, w.outside(path, "a symbolic link in it leads")
	}
	return f, nil
}

// subject gives rules the real path of a file: a link must not make one path pass for
// another.
func (w *Workspace) subject(path string) string {
	f, err := w.resolve(path)
	if err != nil {
		return path
	}
	return f.name
}

func (w *Workspace) outside(path, how string) error {
	w.rootsMu.RLock()
	defer w.rootsMu.RUnlock()
	allowed := make([]string, len(w.roots))
	for i, r := range w.roots {
		allowed[i] = r.dir
	}
	return fmt.Errorf("%s is refused: %s %w (%s)", path, how, errOutside, strings.Join(allowed, ", "))
}

// find returns the file at an absolute path in one of the roots.
func (w *Workspace) find(abs string) (file, bool) {
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
			return file{r, rel, name}, true
		}
	}
	return file{}, false
}

// evalExisting resolves the symbolic links of a path whose end need not exist.
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

const maxFile = 64 << 20

func (f file) read() ([]byte, error) {
	data, err := readRegular(f.root.Root, f.rel, maxFile)
	if err != nil {
		return nil, plainError(f.name, err)
	}
	return data, nil
}

// readText reads a file that is not binary.
func (f file) readText() ([]byte, error) {
	data, err := f.read()
	if err == nil && bytes.IndexByte(data[:min(len(data), 8<<10)], 0) >= 0 {
		return nil, fmt.Errorf("%s is not a text file (%d bytes): look at it with a command", f.name, len(data))
	}
	return data, err
}

// openRegular opens a regular file for reading and returns its size. It opens nothing else,
// because opening a pipe waits for another program, and a device has no end.
func openRegular(root *os.Root, name string) (*os.File, int64, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, 0, err
	}
	if err := checkRegular(info); err != nil {
		return nil, 0, err
	}
	in, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, 0, err
	}
	if info, err = in.Stat(); err == nil {
		err = checkRegular(info) // it may be another file by now
	}
	if err != nil {
		return nil, 0, errors.Join(err, in.Close())
	}
	return in, info.Size(), nil
}

func checkRegular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errors.New("it is a folder: list it with glob")
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	}
	return nil
}

// readRegular reads a regular file, also one that grows, of at most so many bytes.
func readRegular(root *os.Root, name string, most int64) ([]byte, error) {
	in, size, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var data []byte
	if size <= most {
		data, err = io.ReadAll(io.LimitReader(in, most+1))
		size = max(size, int64(len(data)))
	}
	if err == nil && size > most {
		err = fmt.Errorf("it has %d bytes, too many to read at once: use grep, or a command that shows a part", size)
	}
	return data, err
}

// write replaces a file's content: all of it, or nothing.
func (f file) write(data []byte) error {
	dir, mode := filepath.Dir(f.rel), fs.FileMode(0o644)
	if err := f.root.MkdirAll(dir, 0o755); err != nil {
		return plainError(f.name, err)
	}
	if info, err := f.root.Stat(f.rel); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", f.name)
		}
		mode = info.Mode().Perm()
	}
	temp := filepath.Join(dir, ".pleat-"+rand.Text())
	out, err := f.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return plainError(f.name, err)
	}
	_, err = out.Write(data)
	if err = errors.Join(err, out.Chmod(mode), out.Sync(), out.Close()); err == nil {
		err = f.root.Rename(temp, f.rel)
	}
	if err != nil {
		return plainError(f.name, errors.Join(err, f.root.Remove(temp)))
	}
	return nil
}

// plainError says what went wrong without the names of calls and folders.
func plainError(name string, err error) error {
	var pe *os.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist", name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: permission denied by the system", name)
	case errors.As(err, &pe):
		err = pe.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}
