package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/pleat-dev/pleat"
)

var gcCommand = command{
	name:    "gc",
	args:    "[--before DATE] [--name PATTERN] [--yes]",
	summary: "delete old sessions from the store: only those you name",
	help: `Chooses sessions by the time of their newest entry, by name, or by both, and lists them.
With --yes they are deleted for good, as "pleat forget" does. Nothing is ever chosen that
the command line does not name, and pleat never deletes by itself.`,
	examples: `# which sessions were last used before this year?
pleat gc --before 2026-01-01
# delete those that were made from files
pleat gc --before 2026-01-01 --name 'file:*' --yes`,
	flags: func(fs *flag.FlagSet) runFunc {
		g := &gcFlags{storeFlags: declareStore(fs)}
		fs.StringVar(&g.before, "before", "", "sessions whose newest entry is older than `DATE`: 2026-01-31, or with a time as 2026-01-31T12:00:00Z")
		fs.StringVar(&g.name, "name", "", "sessions whose name matches `PATTERN`; * stands for anything, ? for one character")
		fs.BoolVar(&g.yes, "yes", false, "delete them")
		fs.BoolVar(&g.dry, "dry-run", false, "only list them (this is what happens without --yes)")
		fs.BoolVar(&g.json, "json", false, "print JSON")
		return func(ctx context.Context, p *program, args []string) error {
			if len(args) > 0 {
				return usageError{"gc takes no arguments, only flags that name what to delete"}
			}
			chosen, err := g.choice()
			if err != nil {
				return usageError{"gc: " + err.Error()}
			}
			store, err := p.readStore(ctx, g.storeFlags)
			if err != nil {
				return err
			}
			defer store.Close()
			all, err := allSessions(ctx, store, g.tenant)
			if err != nil {
				return err
			}
			list := make([]pleat.SessionInfo, 0, len(all))
			for _, info := range all {
				if chosen(info) {
					list = append(list, info)
				}
			}
			return g.run(ctx, p, store, list)
		}
	},
}

type gcFlags struct {
	*storeFlags
	before, name   string
	yes, dry, json bool
}

// choice says which sessions the flags name.
func (g *gcFlags) choice() (func(pleat.SessionInfo) bool, error) {
	switch {
	case g.before == "" && g.name == "":
		return nil, errors.New("nothing is named: say which sessions with --before or --name")
	case g.yes && g.dry:
		return nil, errors.New("--yes and --dry-run exclude one another")
	}
	var limit time.Time
	if g.before != "" {
		var err error
		if limit, err = parseDate(g.before); err != nil {
			return nil, err
		}
	}
	pattern := regexp.QuoteMeta(g.name)
	if g.name == "" {
		pattern = `\*`
	}
	pattern = strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(pattern)
	name := regexp.MustCompile(`(?s)\A` + pattern + `\z`)
	return func(info pleat.SessionInfo) bool {
		return name.MatchString(info.Key.Session) && (limit.IsZero() || info.Last.Before(limit))
	}, nil
}

// parseDate reads a day, which begins at midnight here, or a time.
func parseDate(s string) (time.Time, error) {
	if t, err := time.ParseInLocation(time.DateOnly, s, time.Local); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("--before %s: want a date such as 2026-01-31 or 2026-01-31T12:00:00Z", s)
}

func (g *gcFlags) run(ctx context.Context, p *program, store anyStore, list []pleat.SessionInfo) error {
	out := struct {
		Format   string       `json:"format"`
		Deleted  bool         `json:"deleted"`
		Sessions []storedJSON `json:"sessions"`
	}{formatGC, g.yes, storedInfo(ctx, store, list)}
	if !g.json {
		if len(list) == 0 {
			fmt.Fprintln(p.stdout, "No session is meant.")
			return nil
		}
		if err := printSessions(p, out.Sessions); err != nil {
			return err
		}
	}
	if g.yes {
		if err := forgetAll(ctx, p, store, list); err != nil {
			return err
		}
	}
	switch {
	case g.json:
		return writeJSON(p.stdout, out)
	case g.yes:
		fmt.Fprintf(p.stdout, "Deleted %s.\n", plural(len(list), "session"))
	default:
		fmt.Fprintln(p.stdout, "Nothing was deleted; --yes deletes these for good.")
	}
	return nil
}

func forgetAll(ctx context.Context, p *program, store pleat.Keeper, list []pleat.SessionInfo) error {
	tell := p.progress()
	defer tell.done()
	for i, info := range list {
		tell.say("deleting %d of %s", i+1, plural(len(list), "session"))
		err := store.Forget(ctx, info.Key)
		if err != nil && !errors.Is(err, pleat.ErrNotFound) { // somebody else was faster
			return fmt.Errorf("after %s: %w", plural(i, "deleted session"), err)
		}
	}
	return nil
}
