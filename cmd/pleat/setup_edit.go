package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clientconfig"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/spf13/pflag"
)

// editFlags are the flags of the commands that change the configuration of a client.
type editFlags struct {
	show, yes, undo bool
	done            string // is said when the change is made
}

func (f *editFlags) declare(fs *pflag.FlagSet) {
	fs.BoolVar(&f.show, "dry-run", false, "show the change and write nothing")
	fs.BoolVar(&f.yes, "yes", false, "do not ask")
	fs.BoolVar(&f.undo, "undo", false, "take the change back")
}

// change is one file that a command changes. record names the file that keeps what was there
// before.
type change struct {
	record, path string
	keys         []clientconfig.Key
	text         string // of a file of our own; "": keys are set
}

func (c change) plan(undo string) (*clientconfig.Edit, error) {
	if c.text != "" {
		return clientconfig.Create(c.path, undo, c.text)
	}
	return clientconfig.Set(c.path, undo, c.keys...)
}

func (f *editFlags) run(ctx context.Context, p *term.Console, changes ...change) error {
	if f.undo {
		var records []string
		for _, c := range changes {
			records = append(records, c.record)
		}
		return f.takeBack(ctx, p, records...)
	}
	var edits []*clientconfig.Edit
	for _, c := range changes {
		undo, err := undoFile(p, c.record)
		if err != nil || c.path == "" {
			return cmp.Or(err, errors.New("there is no home folder"))
		}
		edit, err := c.plan(undo)
		if err != nil {
			return err
		}
		edits = append(edits, edit)
	}
	changed := f.diff(p, edits)
	if changed == "" {
		p.Printf("it is set up already: %s\n", paths(edits))
	}
	if f.show {
		return nil
	}
	if err := p.Confirm(ctx, f.yes || changed == "", "Change "+changed+"?"); err != nil {
		return err
	}
	for _, e := range edits {
		if err := e.Write(); err != nil {
			return err
		}
	}
	if changed != "" {
		p.Printf("%s\n", term.WithoutPassword(f.done))
	}
	return nil
}

// diff shows what changes, and returns where.
func (f *editFlags) diff(p *term.Console, edits []*clientconfig.Edit) string {
	var changed []*clientconfig.Edit
	for _, e := range edits {
		if diff := e.Diff(); diff != "" {
			p.Printf("%s", term.WithoutPassword(diff))
			changed = append(changed, e)
		}
	}
	return paths(changed)
}

func paths(edits []*clientconfig.Edit) string {
	var list []string
	for _, e := range edits {
		list = append(list, e.Path)
	}
	return strings.Join(list, " and ")
}

// undoOne takes back one of the two things that can be set up for an agent: the proxy, unless the
// other is asked for or is the only one. It says what stays.
func (f *editFlags) undoOne(ctx context.Context, p *term.Console, c client, inside bool) error {
	proxied, within := changed(p, c.name), changed(p, c.insideRecords()...)
	records := []string{c.name}
	if inside || within && !proxied {
		inside, records = true, c.insideRecords()
	}
	err := f.takeBack(ctx, p, records...)
	switch {
	case err != nil:
	case inside && proxied:
		p.Printf("%s still sends its requests to the proxy: pleat setup %s --undo\n", c.title, c.name)
	case !inside && within:
		p.Printf("%s still runs pleat when it compacts: pleat setup %s --inside --undo\n", c.title, c.name)
	}
	return err
}

// takeBack takes changes back, the newest first: each then finds its file as it left it.
func (f *editFlags) takeBack(ctx context.Context, p *term.Console, records ...string) error {
	var undos []string
	var edits []*clientconfig.Edit
	for _, record := range records {
		undo, err := undoFile(p, record)
		if err != nil {
			return err
		}
		edit, err := clientconfig.Undo(undo)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		undos, edits = append(undos, undo), append(edits, edit)
	}
	if len(edits) == 0 {
		return errors.New("nothing to undo: pleat has changed nothing here that could be taken back")
	}
	changed := f.diff(p, edits)
	if f.show {
		return nil
	}
	if err := p.Confirm(ctx, f.yes || changed == "", "Change "+changed+"?"); err != nil {
		return err
	}
	slices.SortStableFunc(undos, func(a, b string) int { return written(b).Compare(written(a)) })
	var errs []error
	edits = nil
	for _, undo := range undos {
		edit, err := clientconfig.Undo(undo) // two may be changes of one file
		if err == nil {
			err = edit.Write()
		}
		if err == nil {
			edits = append(edits, edit)
		}
		errs = append(errs, err)
	}
	for i, edit := range edits {
		again := func(e *clientconfig.Edit) bool { return e.Path == edit.Path && edit.Left == nil }
		if !slices.ContainsFunc(edits[i+1:], again) { // what the last change left is told
			errs = append(errs, taken(p, edit))
		}
	}
	return errors.Join(errs...)
}

func written(path string) (t time.Time) {
	if info, err := os.Stat(path); err == nil {
		t = info.ModTime()
	}
	return t
}

func taken(p *term.Console, edit *clientconfig.Edit) error {
	switch {
	case edit.Left != nil:
		return fmt.Errorf("%s was changed in %s since then and stays as it is",
			strings.Join(edit.Left, ", "), edit.Path)
	case edit.Diff() == "":
		p.Printf("%s has nothing of it any more.\n", edit.Path)
	case edit.After == nil:
		p.Printf("%s is deleted; it was not there before.\n", edit.Path)
	case edit.Exact:
		p.Printf("%s is as it was before.\n", edit.Path)
	default:
		p.Printf("What pleat had set in %s is taken back.\n", edit.Path)
	}
	return nil
}

// changed reports whether one of these changes was made and can be taken back.
func changed(p *term.Console, records ...string) bool {
	return slices.ContainsFunc(records, func(record string) bool {
		undo, err := undoFile(p, record)
		return err == nil && !missing(undo)
	})
}

// undoRecords are the names of all changes that can be taken back.
func undoRecords(p *term.Console) (names []string, err error) {
	any, err := undoFile(p, "*")
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(any)
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".json"))
	}
	return names, err
}

// undoFile is the file that records what was changed in the configuration of an agent.
func undoFile(p *term.Console, agent string) (string, error) {
	path, err := stores.Path(p, "")
	return filepath.Join(filepath.Dir(path), "setup", agent+".json"), err
}
