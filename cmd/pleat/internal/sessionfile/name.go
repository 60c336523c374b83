package sessionfile

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/store"
)

// Find is the file that a user means: the one of that name, or else a session that "pleat
// sessions" lists, by its name there, the beginning of that, the agent's own ID, or "last".
// What it does not find it returns as it is: it may be the name of a stored session, as the one that
// is last may be. Without a name it asks, if there is a terminal.
func Find(ctx context.Context, p *term.Console, flags *stores.Flags, name string) (string, error) {
	if name == "" {
		return pick(ctx, p, flags)
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) || name == "-" || filepath.Base(name) != name {
		return name, nil // whatever is wrong with it is found out when it is read
	}
	if name == stores.Last {
		lib := open(ctx, p, flags)
		defer lib.close()
		list, err := lib.newest(ctx)
		if err == nil && len(list) == 0 {
			err = errors.New("agents have left no session files on this machine (\"pleat sessions\" lists where it " +
				"looks), and the store has no session")
		}
		if err != nil {
			return "", err
		}
		return nameOf(list[0]), nil
	}
	lib := stores.Library(p, nil, "")
	defer lib.Close()
	info, err := lib.Find(ctx, name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return name, nil
	case err == nil && info.ID != name && strings.HasPrefix(info.ID, name):
		p.Note("pleat: %s is the beginning of %s\n", name, info.ID)
	}
	return info.File, err
}

// opened is all that the user has. Sessions of a store that is shared are others' too, and have to be
// named.
type opened struct {
	*library.Library
	st stores.Store
}

func open(ctx context.Context, p *term.Console, flags *stores.Flags) (o opened) {
	flags = cmp.Or(flags, &stores.Flags{})
	var have library.Store
	if stores.Scheme(flags.Path) == "" {
		if st, _, err := stores.OpenAs(ctx, p, flags, stores.ReadOnly); err == nil {
			o.st, have = st, st
		}
	}
	o.Library = stores.Library(p, have, flags.Tenant)
	return o
}

func (o opened) close() {
	o.Close()
	if o.st != nil {
		o.st.Close()
	}
}

// newest lists the sessions of agents and of the store, the one that is last first.
func (o opened) newest(ctx context.Context) ([]library.Info, error) {
	all, err := o.List(ctx, library.Filter{Plain: true, Last: true})
	return all.Sessions, err
}

// nameOf is what a session is read by: its file, or its name in the store.
func nameOf(s library.Info) string {
	return cmp.Or(s.File, s.Key.Tenant+"/"+s.Key.Session)
}

// hint says what a session can be called instead of a name that none has.
func hint(ctx context.Context, p *term.Console, flags *stores.Flags, name string) string {
	names := []string{stores.Last}
	lib := open(ctx, p, flags)
	defer lib.close()
	list, _ := lib.newest(ctx) // those that can be listed will do
	for _, s := range list {
		names = append(names, s.Name)
	}
	return term.DidYouMean("", name, names) +
		` ("pleat sessions" lists the sessions of agents, "pleat store list" those in the store; "last" is the newest)`
}

// listed is the session of "pleat sessions" that a file has; "": it has none, or several.
func listed(p *term.Console, f *File) string {
	lib := stores.Library(p, nil, "")
	defer lib.Close()
	if info, ok := lib.Of(f.Name, f.Info); ok && f.number == 1 {
		return info.ID
	}
	return ""
}

// pick lets a person choose one of the newest sessions.
func pick(ctx context.Context, p *term.Console, flags *stores.Flags) (string, error) {
	if !p.Interactive() {
		if name := only(ctx, p, flags); name != "" {
			return name, nil
		}
		return "", term.UsageError(`name a session: a file, last, a name that "pleat sessions" lists, ` +
			`or - for standard input`)
	}
	list, err := offer(ctx, p, flags)
	if err != nil {
		return "", err
	}
	p.Note("Which session? [1] ")
	answer := make(chan string, 1)
	go func() { // may run until the program ends: reading from a terminal cannot be stopped
		line, _ := bufio.NewReader(p.Stdin).ReadString('\n')
		answer <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		p.Note("\n")
		return "", ctx.Err()
	case a := <-answer:
		n, err := strconv.Atoi(cmp.Or(a, "1"))
		if err != nil || n < 1 || n > len(list) {
			return "", term.UsageError(fmt.Sprintf("%q is none of them", a))
		}
		return nameOf(list[n-1]), nil
	}
}

// only is the one session of a store that was named; "": there is no such store, or it has another
// number of them.
func only(ctx context.Context, p *term.Console, flags *stores.Flags) string {
	if flags == nil || flags.Path == "" {
		return ""
	}
	st, _, err := stores.OpenAs(ctx, p, flags, stores.ReadOnly)
	if err != nil {
		return ""
	}
	defer st.Close()
	one, err := stores.Find(ctx, p, st, flags, "")
	if err != nil {
		return ""
	}
	return one.Key.Tenant + "/" + one.Key.Session
}

// offer prints the newest sessions, as they are called everywhere.
func offer(ctx context.Context, p *term.Console, flags *stores.Flags) ([]library.Info, error) {
	lib := open(ctx, p, flags)
	defer lib.close()
	all, err := lib.newest(ctx)
	list := all[:min(len(all), 9)]
	if err == nil {
		tell := p.Progress()
		tell.Say("reading the newest sessions")
		err = lib.Count(ctx, list)
		tell.Done()
	}
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
	if more := len(all) - len(list); more > 0 {
		line := fmt.Sprintf("%d older ones: \"pleat sessions\" and \"pleat store list\" name them", more)
		p.Note("%s\n", term.Clip(line, width))
	}
	return list, nil
}
