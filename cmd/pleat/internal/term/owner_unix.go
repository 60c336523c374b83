//go:build unix

package term

import (
	"io/fs"
	"syscall"
)

// nonblock opens a pipe without waiting for its other end.
const nonblock = syscall.O_NONBLOCK

// giveTo gives something the owner of what it replaces or is in, as far as that is allowed, which it is to root.
func giveTo(like fs.FileInfo, chown func(uid, gid int) error) {
	if stat, ok := like.Sys().(*syscall.Stat_t); ok {
		_ = chown(int(stat.Uid), int(stat.Gid))
	}
}
