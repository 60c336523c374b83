package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clientconfig"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/clients"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// editFlags are the flags of the commands that change the configuration of a client.
type editFlags struct {
	show, yes, undo bool
	later           bool         // an agent may be pointed to a proxy that does not run yet
	before          func() error // must succeed before a change is shown and made; nil: nothing must
	done            string       // is said when the change is made
}

func (f *editFlags) declare(fs *pflag.FlagSet) {
	fs.BoolVar(&f.show, "dry-run", false, "show the change and write nothing")
	fs.BoolVar(&f.yes, "yes", false, "do not ask")
	fs.BoolVar(&f.undo, "undo", false, "take the change back")
}

// run makes changes, once they are shown and agreed to.
func (f *editFlags) run(ctx context.Context, p *term.Console, changes ...clients.Change) error {
	edits, err := records(p).Plan(changes...)
	if err != nil {
		return err
	}
	if f.before != nil && !f.show {
		if err := f.before(); err != nil {
			return err
		}
	}
	changed, ok, err := f.ask(ctx, p, edits)
	if !changed {
		p.Printf("it is set up already: %s\n", paths(edits))
	}
	if !ok {
		return err
	}
	for _, e := range edits {
		if err := e.Write(); err != nil {
			return err
		}
	}
	if changed {
		p.Printf("%s\n", term.WithoutPassword(f.done))
	}
	return nil
}

// ask shows what changes, and returns whether anything does, and whether it may be done.
func (f *editFlags) ask(ctx context.Context, p *term.Console, edits []*clientconfig.Edit) (changed, ok bool, _ error) {
	var list []*clientconfig.Edit
	for _, e := range edits {
		if diff := e.Diff(); diff != "" {
			p.Printf("%s", term.WithoutPassword(diff))
			list = append(list, e)
		}
	}
	changed = len(list) > 0
	if f.show {
		return changed, false, nil
	}
	err := p.Confirm(ctx, f.yes || !changed, "Change "+paths(list)+"?")
	return changed, err == nil, err
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
func (f *editFlags) undoOne(ctx context.Context, p *term.Console, c clients.Client, inside bool) error {
	made := records(p)
	proxied, within := made.Has(c.Name), made.Has(c.InsideRecords()...)
	names := []string{c.Name}
	if inside || within && !proxied {
		inside, names = true, c.InsideRecords()
	}
	if err := f.takeBack(ctx, p, names...); err != nil {
		return err
	}
	if inside && proxied {
		p.Printf("%s still sends its requests to the proxy: pleat setup %s --undo\n", c.Title, c.Name)
	} else if !inside && within {
		p.Printf("%s still runs pleat when it compacts: pleat setup %s --inside --undo\n", c.Title, c.Name)
	}
	return nil
}

// takeBack takes changes back.
func (f *editFlags) takeBack(ctx context.Context, p *term.Console, names ...string) error {
	edits, err := records(p).PlanBack(names...)
	if err != nil {
		return err
	}
	if _, ok, err := f.ask(ctx, p, edits); !ok {
		return err
	}
	var errs []error
	for i, e := range edits {
		again := func(later *clientconfig.Edit) bool { return later.Path == e.Path }
		err := e.Write()
		if err == nil && (e.Left != nil || !slices.ContainsFunc(edits[i+1:], again)) {
			err = taken(p, e)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// taken says what has become of a file, or what of it stays.
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

// dataFolder is where pleat keeps one kind of what it knows of agents: beside the user's store. "": nowhere.
func dataFolder(p *term.Console, name string) string {
	path, err := stores.Path(p, "")
	if err != nil {
		return ""
	}
	return filepath.Join(filepath.Dir(path), name)
}

// records are what can be taken back of what was changed in the configuration of agents.
func records(p *term.Console) clients.Records { return clients.Records(dataFolder(p, "setup")) }

// proxyOf is the address of the proxy that agents were set up for; the usual one if none was.
func proxyOf(p *term.Console) string { return cmp.Or(records(p).Proxy(), tally.Address) }
