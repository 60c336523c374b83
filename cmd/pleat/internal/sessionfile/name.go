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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/library"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/store"
)

// Last names the session that was used last: of the files of agents, and of what went through the
// proxy.
const Last = "last"

// Find is the file that a user means: the one of that name, or else a session that "pleat
// sessions" lists, by its name there, the beginning of that, the agent's own ID, or "last".
// What it does not find it returns as it is: it may be the name of a stored session, as the one that
// is last may be. Without a name it asks, if there is a terminal.
func Find(ctx context.Context, p *term.Console, flags *stores.Flags, name string) (string, error) {
	if name == "" {
		return pick(ctx, p)
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) || name == "-" || filepath.Base(name) != name {
		return name, nil // whatever is wrong with it is found out when it is read
	}
	lib := library.New(library.Options{Home: cmp.Or(p.Getenv("HOME"), p.Getenv("USERPROFILE"))})
	defer lib.Close()
	if name == Last {
		list, err := readable(ctx, lib, 1)
		if err != nil {
			return "", err
		}
		if s := proxied(ctx, p, flags); !s.Last.IsZero() && (len(list) == 0 || s.Last.After(list[0].Used)) {
			return s.Key.Tenant + "/" + s.Key.Session, nil
		}
		if len(list) == 0 {
			return "", errors.New("agents have left no session files on this machine (\"pleat sessions\" lists where it " +
				"looks), and nothing went through the proxy")
		}
		return list[0].File, nil
	}
	info, err := lib.Find(ctx, name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return name, nil
	case err == nil && info.Agent == string(sessionlog.OpenCode):
		id := strings.TrimSuffix(filepath.Base(info.File), ".json")
		err = fmt.Errorf("read session: opencode keeps it in many files: \"opencode export %s\" turns them into one", id)
	case err == nil && info.ID != name && strings.HasPrefix(info.ID, name):
		p.Note("pleat: %s is the beginning of %s\n", name, info.ID)
	}
	return info.File, err
}

// proxied is the session that went through the proxy last; zero: none did, or the store is shared
// with others.
func proxied(ctx context.Context, p *term.Console, flags *stores.Flags) (newest store.SessionInfo) {
	flags = cmp.Or(flags, &stores.Flags{})
	if stores.Scheme(flags.Path) != "" {
		return newest
	}
	st, _, err := stores.OpenAs(ctx, p, flags, stores.ReadOnly)
	if err != nil {
		return newest
	}
	defer st.Close()
	list, _ := library.Conversations(ctx, st, flags.Tenant) // what cannot be listed is not there
	for _, s := range list {
		_, copied := library.Copied(s.Key)
		if s.Key.Tenant != "" && !copied && s.Last.After(newest.Last) {
			newest = s
		}
	}
	return newest
}

// hint says what a session can be called instead of a name that none has.
func hint(ctx context.Context, p *term.Console, flags *stores.Flags, name string) string {
	names := []string{Last}
	lib := library.New(library.Options{Home: cmp.Or(p.Getenv("HOME"), p.Getenv("USERPROFILE"))})
	defer lib.Close()
	page, _ := lib.List(ctx, library.Filter{Plain: true}) // those that can be listed will do
	for _, s := range page.Sessions {
		names = append(names, s.ID)
	}
	if st, _, err := stores.OpenAs(ctx, p, cmp.Or(flags, &stores.Flags{}), stores.ReadOnly); err == nil {
		defer st.Close()
		list, _ := library.Conversations(ctx, st, "")
		names = append(names, stores.Names(list)...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return term.DidYouMean("", name, names) +
		` ("pleat sessions" lists the sessions of agents, "pleat store list" those in the store; "last" is the newest)`
}

// listed is the session of "pleat sessions" that a file has; "": it has none, or several.
func listed(p *term.Console, f *File) string {
	lib := library.New(library.Options{Home: cmp.Or(p.Getenv("HOME"), p.Getenv("USERPROFILE"))})
	defer lib.Close()
	if info, ok := lib.Of(f.Name, f.Info); ok && f.number == 1 {
		return info.ID
	}
	return ""
}

// readable lists the newest sessions that are one file each.
func readable(ctx context.Context, lib *library.Library, most int) ([]library.Info, error) {
	all, err := lib.List(ctx, library.Filter{Plain: true})
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(all.Sessions, func(i library.Info) bool { return i.Agent == string(sessionlog.OpenCode) })
	return list[:min(most, len(list))], nil
}

// pick lets a person choose one of the newest sessions.
func pick(ctx context.Context, p *term.Console) (string, error) {
	if !p.Interactive() {
		return "", term.UsageError(`name a session: a file, last, a name that "pleat sessions" lists, ` +
			`or - for standard input`)
	}
	lib := library.New(library.Options{Home: cmp.Or(p.Getenv("HOME"), p.Getenv("USERPROFILE"))})
	defer lib.Close()
	list, err := readable(ctx, lib, 9)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", term.UsageError("there are no sessions on this machine to choose from: name a session file")
	}
	width := p.Screen().Width
	for i, s := range list {
		if full, err := lib.Find(ctx, s.ID); err == nil {
			s = full
		}
		line := fmt.Sprintf("%d  %s  %-11s  %s", i+1, s.Used.Local().Format(time.DateOnly), s.Agent,
			cmp.Or(term.OneLine(s.Title), s.ID))
		p.Note("%s\n", term.Clip(line, width))
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
		return list[n-1].File, nil
	}
}
