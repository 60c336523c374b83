//go:build unix

package clientconfig

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What is no regular file is refused before anything is read or written.
func TestOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "settings.json")
	for want, lay := range map[string]func() error{
		"not a regular file":         func() error { return os.Symlink(os.DevNull, path) },
		"not a regular file: no end": func() error { return os.Symlink("/dev/zero", path) },
		"not a regular file: a pipe": func() error { return syscall.Mkfifo(path, 0o600) },
		"not a regular file: folder": func() error { return os.Mkdir(path, 0o700) },
		"does not exist":             func() error { return os.Symlink(filepath.Join(dir, "nowhere"), path) },
	} {
		must(t, lay())
		what, _, _ := strings.Cut(want, ":")
		_, err := Set(path, filepath.Join(dir, "undo"), Key{[]string{"a"}, "b"})
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", want, err)
		}
		_, err1 := Get(path, "a")
		_, err2 := Undo(path)
		if what != "does not exist" && (err1 == nil || err2 == nil || err1.Error() != err.Error()) {
			t.Errorf("%s: read: %v; as a record: %v", want, err1, err2)
		}
		must(t, os.Remove(path))
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// A file keeps its owner when another user, such as root, changes it.
func TestKeepsOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files to others")
	}
	path := filepath.Join(t.TempDir(), "settings.json")
	write(t, path, "{}")
	must(t, os.Chown(path, 1234, 4321))
	set(t, path, path+".undo", Key{[]string{"a"}, "b"})
	info, err := os.Stat(path)
	must(t, err)
	if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 1234 || stat.Gid != 4321 {
		t.Errorf("it belongs to %d:%d", stat.Uid, stat.Gid)
	}
}

// What root makes in the home of another belongs to that home's owner, records and folders too.
func TestNewFilesInAnothersHome(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files to others")
	}
	home := t.TempDir()
	must(t, os.Chown(home, 1234, 4321))
	undo := filepath.Join(home, ".local", "share", "setup", "x.json")
	set(t, filepath.Join(home, ".claude", "settings.json"), undo, Key{[]string{"a"}, "b"})
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 1234 || stat.Gid != 4321 {
			t.Errorf("%s belongs to %d:%d", path, stat.Uid, stat.Gid)
		}
		return nil
	})
	must(t, err)
}
