package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// Edit is a change of a file that has not been written yet.
type Edit struct {
	Path          string
	Before, After []byte // nil: there is no such file

	// Of an edit that takes a change back: Exact if the file will be as it was before; Left are
	// the keys that have been changed since, which stay as they are and in the record.
	Exact bool
	Left  []string

	whole bool // the file is ours
	undo  string
	rec   *record // nil: the change is taken back as a whole
	steps []step  // that are made or taken back, for Diff
}

// Write does what was planned, unless somebody has written the file since.
func (e *Edit) Write() error {
	now, err := open(e.Path, e.undo)
	if err != nil {
		return err
	}
	if !e.replaces(now.Before) {
		return fmt.Errorf("%s has changed meanwhile: run it again", e.Path)
	}
	if e.rec != nil && e.Left == nil { // before the change, so that it can be taken back
		if err := e.rec.write(e.undo); err != nil {
			return err
		}
	}
	switch {
	case e.replaces(e.After):
	case e.After == nil:
		if err = os.Remove(e.Path); err == nil {
			removeOwn(filepath.Dir(e.Path))
		}
	default:
		err = term.WriteIn(e.Path, e.After)
	}
	switch {
	case err != nil:
		return err
	case e.rec == nil:
		return os.Remove(e.undo)
	case e.Left != nil:
		return e.rec.write(e.undo)
	}
	return nil
}

// replaces reports whether text is what the file has now.
func (e *Edit) replaces(text []byte) bool {
	return bytes.Equal(e.Before, text) && (e.Before == nil) == (text == nil)
}

// open reads a file, which need not exist. A link that leads nowhere would become a file.
func open(path, undo string) (_ *Edit, err error) {
	e := &Edit{Path: path, undo: undo}
	e.Before, err = term.ReadRegular(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return e, err
	}
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf(
			"edit %s: it is a link to a file that does not exist; make the file or remove the link", path)
	}
	return e, nil
}

// removeOwn removes a folder that only pleat's own files were in, and those above it up to one called pleat.
func removeOwn(dir string) {
	for above := dir; filepath.Dir(above) != above; above = filepath.Dir(above) {
		if filepath.Base(above) == "pleat" {
			for os.Remove(dir) == nil && dir != above {
				dir = filepath.Dir(dir)
			}
			return
		}
	}
}
