//go:build unix

package term

import (
	"io/fs"
	"os"
	"syscall"
)

// nonblock opens a pipe without waiting for its other end.
const nonblock = syscall.O_NONBLOCK

// keepOwner gives a file the owner of another, such as the one that it will replace, as far as that is
// allowed.
func keepOwner(file *os.File, old fs.FileInfo) {
	if stat, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = file.Chown(int(stat.Uid), int(stat.Gid))
	}
}

// isRoot: what root makes in another's home would be closed to its owner.
func isRoot() bool { return os.Geteuid() == 0 }

// giveFolder gives a folder the owner of another. It follows no link that somebody put in its place.
func giveFolder(name string, like fs.FileInfo) {
	dir, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
	if err != nil {
		return
	}
	defer dir.Close()
	keepOwner(dir, like)
}
