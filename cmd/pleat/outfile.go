package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// writeTo writes to a file that appears only when it is complete, or to standard output.
func (p *program) writeTo(name string, write func(io.Writer) error) error {
	if name == "" || name == "-" {
		return buffered(p.stdout, "output", write)
	}
	if err := replaceFile(name, 0o644, write); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// writeNewFile writes a file that only its owner can read. One that is there is replaced
// only if the user said so.
func writeNewFile(name string, replace bool, write func(io.Writer) error) error {
	if _, err := os.Stat(name); err == nil && !replace {
		return fmt.Errorf("%s exists already (use --force to replace it)", name)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return replaceFile(name, 0o600, write)
}

// replaceFile writes a temporary file and renames it when it is complete, so that nobody
// takes half a file for the whole. A device or a pipe is written to directly: renaming a
// file to /dev/null would replace the device for everybody.
func replaceFile(name string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target // write to what the link points to
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return writeThrough(name, write)
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = os.Remove(file.Name())
		}
	}()
	if err := buffered(file, name, write); err != nil {
		return err
	}
	if err := file.Chmod(mode); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}

func writeThrough(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(buffered(file, name, write), file.Close())
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
