package sessionfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/store"
)

// Find finds the session that a user means: the file of that name, or else what [library.Library.Resolve] finds,
// the sessions of the store included. Without a name it asks, if there is a terminal.
func Find(ctx context.Context, p *term.Console, flags *stores.Flags, name string) (library.Info, error) {
	if _, err := os.Stat(name); name == "-" || name != "" && !errors.Is(err, fs.ErrNotExist) {
		return library.Info{File: name}, nil // whatever is wrong with it is found out when it is read
	}
	all, end := catalogue(ctx, p, cmp.Or(flags, &stores.Flags{}))
	defer end()
	if name == "" {
		return pick(ctx, p, all)
	}
	info, err := all.Resolve(ctx, name)
	if errors.Is(err, store.ErrNotFound) && name != library.Last {
		names := []string{library.Last}
		list, _ := all.List(ctx, newest) // those that can be listed will do
		for _, s := range list.Sessions {
			names = append(names, s.Name)
		}
		err = fmt.Errorf(`no session or file is called %s, and no title begins so%s ("pleat sessions" lists the sessions of agents, "pleat `+
			`store list" those in the store; "last" is the newest)`, name, term.DidYouMean("", name, names))
	}
	return info, err
}

// catalogue is all that the user has: the folders of agents, and the store if that can be read. The sessions of one
// that is shared are others' too, and have to be named. Afterwards end closes it.
func catalogue(ctx context.Context, p *term.Console, f *stores.Flags) (all *library.Library, end func()) {
	o := library.Options{Home: p.Home(), Tenant: f.Tenant, Shared: stores.Scheme(f.Path) != ""}
	st, _, err := stores.OpenAs(ctx, p, f, stores.ReadOnly)
	if err == nil {
		o.Store = st
	}
	all = library.New(o)
	return all, func() {
		all.Close()
		if err == nil {
			st.Close()
		}
	}
}

// newest lists the sessions of agents and of the store, the one that is last first.
var newest = library.Filter{Plain: true, Last: true}

// pick lets a person choose one of the newest sessions.
func pick(ctx context.Context, p *term.Console, all *library.Library) (none library.Info, err error) {
	if !p.Interactive() {
		return none, term.UsageError(`name a session: a file, last, a name that "pleat sessions" lists, ` +
			`or - for standard input`)
	}
	list, err := offer(ctx, p, all)
	if err != nil {
		return none, err
	}
	a, err := p.Ask(ctx, "Which session? [1]")
	if err != nil {
		return none, err
	}
	n, err := strconv.Atoi(cmp.Or(a, "1"))
	if err != nil || n < 1 || n > len(list) {
		return none, term.UsageError(fmt.Sprintf("%q is none of them", a))
	}
	return list[n-1], nil
}

// offer prints the newest sessions, as they are called everywhere.
func offer(ctx context.Context, p *term.Console, all *library.Library) ([]library.Info, error) {
	tell := p.Progress()
	tell.Say("reading the newest sessions")
	found, err := all.List(ctx, library.Filter{Last: true, Limit: 9, Count: true})
	tell.Done()
	list := found.Sessions
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, term.UsageError("there are no sessions on this machine to choose from: name a session file")
	}
	width := p.Screen().Width
	for i, s := range list {
		line := fmt.Sprintf("%d  %s  %-11s  %s", i+1, s.Used.Local().Format(time.DateOnly), cmp.Or(s.Agent, "stored"),
			cmp.Or(term.OneLine(s.Title), s.ID))
		p.Note("%s\n", term.Clip(line, width))
	}
	if more := found.Total - len(list); more > 0 {
		line := fmt.Sprintf("%d older ones: \"pleat sessions\" and \"pleat store list\" name them", more)
		p.Note("%s\n", term.Clip(line, width))
	}
	return list, nil
}
