package term

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// DataFolder is where programs keep a user's data; "" if the environment does not say.
func DataFolder(goos string, getenv func(string) string) string {
	return UserFolder(goos, getenv, "LocalAppData", "AppData/Local", "XDG_DATA_HOME", ".local/share")
}

// UserFolder is a folder that an environment variable names, or else a folder in the user's
// home. Windows and macOS have their own.
func UserFolder(goos string, getenv func(string) string, windowsName, windows, name, folder string) string {
	home := getenv("HOME")
	switch goos {
	case "windows":
		home, name, folder = getenv("USERPROFILE"), windowsName, windows
	case "darwin":
		name, folder = "", "Library/Application Support"
	}
	// The XDG specification says that a relative path counts as not set.
	if dir := getenv(name); dir != "" && (goos == "windows" || filepath.IsAbs(dir)) {
		return dir
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, filepath.FromSlash(folder))
}

// mostRead is how many bytes the largest settings may have: some agents keep their history in them.
const mostRead = 64 << 20

// ReadRegular reads a file that others keep, such as settings. What would wait or never end, as a pipe or
// a device does, is refused.
func ReadRegular(name string) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: it is not a regular file", name)
	}
	data, err := io.ReadAll(io.LimitReader(file, mostRead+1))
	if err == nil && len(data) > mostRead {
		return nil, fmt.Errorf("read %s: it has more than %d MB", name, mostRead>>20)
	}
	return data, err
}

// Missing reports whether there is nothing at a path.
func Missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// Waits reports whether what a name means may wait for who writes into it: standard input, or a pipe.
func Waits(name string) bool {
	info, err := os.Stat(name)
	return name == "-" || err == nil && info.Mode()&fs.ModeNamedPipe != 0
}

// Wait reads standard input, or a pipe with this name. The end of the context ends it at once: nothing
// else would end the opening of a pipe into which nobody writes.
func (p *Console) Wait(ctx context.Context, name string) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		in, err := io.NopCloser(p.Stdin), error(nil)
		if name != "-" {
			in, err = os.Open(name)
		}
		if err == nil {
			_, err = io.Copy(w, in)
			_ = in.Close()
		}
		_ = w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { _ = w.CloseWithError(ctx.Err()) })
	return r
}

// WriteTo writes to standard output, or to a file with that mode, which appears only when it is complete.
func (p *Console) WriteTo(name string, mode fs.FileMode, write func(io.Writer) error) error {
	if name == "" || name == "-" {
		return buffered(p.Contents(), "output", write)
	}
	return replaceFile(name, mode, nil, write)
}

// MayWrite says early what writing a file would say late: it refuses a folder, a file that exists
// unless it is to be replaced, and a place that takes no files. A device or a pipe loses nothing.
func MayWrite(name string, replace bool) error {
	info, err := os.Stat(name)
	switch {
	case name == "" || name == "-":
		return nil
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a folder: name a file", name)
	case err == nil && !info.Mode().IsRegular():
		return nil
	case err == nil && !replace:
		return fmt.Errorf("%s exists already (use --force to replace it)", name)
	}
	file, err := beside(name)
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// beside makes a temporary file in the folder of another.
func beside(name string) (*os.File, error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".new-*")
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = &fs.PathError{Op: "write", Path: name, Err: e.Err} // nobody knows the temporary one
	}
	return file, err
}

// WriteIn writes a file of a user's, which appears only when it is complete, and makes the folders that it needs. A file
// keeps its permissions; a new one, and new folders, are their owner's alone, who is that of the folder
// around them if root makes them.
func WriteIn(name string, data []byte) error {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	var folders []string
	around, err := os.Stat(filepath.Dir(name))
	for dir := filepath.Dir(name); errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir); {
		folders = append(folders, dir)
		dir = filepath.Dir(dir)
		around, err = os.Stat(dir)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	for _, dir := range folders {
		if around != nil {
			giveTo(around, func(uid, gid int) error { return os.Lchown(dir, uid, gid) })
		}
	}
	return replaceFile(name, mode, around, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// replaceFile writes a temporary file and renames it when it is complete, so that nobody
// reads half a file. It writes directly to a device or a pipe: renaming a file to /dev/null
// would replace the device for everybody. A new file belongs to the owner of around, if that is not nil.
func replaceFile(name string, mode fs.FileMode, around fs.FileInfo, write func(io.Writer) error) (err error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target // write to what the link points to
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(buffered(file, name, write), file.Close())
	}
	file, err := beside(name)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = os.Remove(file.Name())
		}
	}()
	if info, err := os.Stat(name); err == nil {
		around = info
	}
	if around != nil {
		giveTo(around, file.Chown)
	}
	fill := func() error { return buffered(file, name, write) }
	chmod := func() error { return file.Chmod(mode) }
	rename := func() error { return os.Rename(file.Name(), name) }
	for _, step := range []func() error{fill, chmod, file.Sync, file.Close, rename} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func buffered(to io.Writer, name string, write func(io.Writer) error) error {
	w := bufio.NewWriter(to)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
