//go:build !unix

package term

import (
	"io/fs"
	"os"
)

const nonblock = 0

func keepOwner(*os.File, fs.FileInfo) {}

func isRoot() bool { return false }

func giveFolder(string, fs.FileInfo) {}
