package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/store"
)

func gcCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "gc [--before DATE|--older-than AGE] [--name PATTERN] [--yes]",
		Args:  takes(0, 0, "no arguments, only flags that choose sessions"),
		Short: "delete old sessions from the store: only those you choose",
		Long: `Chooses sessions by the time of their newest message, which "pleat store list" shows too, by name,
or by both, and lists them. Where it is not known, that of the newest entry counts.
With --yes it deletes them permanently, like "pleat store forget". It chooses only what the
flags say, and pleat never deletes on its own. Sessions that went through the proxy have a
tenant: they are chosen only with --all-tenants or --tenant.`,
		Example: `# which sessions have no message of this year?
pleat store gc --before 2026-01-01
# delete those that were made from files
pleat store gc --before 2026-01-01 --name 'file:*' --yes
# keep 90 days, in a database that many share, run by a timer
pleat store gc --older-than 90d --all-tenants --yes --store postgres://pleat@db/pleat`,
	}
	fs := c.Flags()
	g := &gcFlags{Flags: stores.Declare(fs)}
	fs.StringVar(&g.before, "before", "", "sessions with no message since `DATE`: 2026-01-31 or 2026-01-31T12:00:00Z")
	fs.StringVar(&g.older, "older-than", "", "sessions with no message for longer than `AGE`: 90d, 12w, 36h")
	fs.BoolVar(&g.all, "all-tenants", false, "sessions of all tenants: also those that went through the proxy")
	fs.StringVar(&g.name, "name", "",
		"sessions whose name matches `PATTERN`; * stands for anything, ? for one character")
	fs.BoolVar(&g.dry, "dry-run", false, "only list them, as without --yes")
	fs.BoolVar(&g.yes, "yes", false, "delete them; else they are only listed")
	prints(p, c, func(ctx context.Context, p *term.Console, _ []string) (term.Result, error) {
		chosen, err := g.choice(time.Now())
		if err != nil {
			return nil, term.UsageError("gc: " + err.Error())
		}
		how := stores.ReadOnly
		if g.yes {
			how = stores.MustExist
		}
		st, _, err := stores.OpenAs(ctx, p, g.Flags, how)
		if err != nil {
			return nil, err
		}
		defer st.Close()
		list, err := library.Stored(ctx, st, g.Tenant)
		if err != nil {
			return nil, err
		}
		list = slices.DeleteFunc(list, func(info store.SessionInfo) bool { return !chosen(info) })
		all := len(list)
		list = slices.DeleteFunc(list,
			func(info store.SessionInfo) bool { return !g.all && info.Key.Tenant != g.Tenant })
		return g.run(ctx, p, st, list, all-len(list))
	})
	return c
}

type gcJSON struct {
	Format   string           `json:"format"`
	Deleted  bool             `json:"deleted"`
	Sessions []stores.Session `json:"sessions"`
}

type gcFlags struct {
	*stores.Flags
	before, older, name string
	all                 bool
	dry, yes            bool
}

// choice reports for each session whether the flags choose it.
func (g *gcFlags) choice(now time.Time) (func(store.SessionInfo) bool, error) {
	switch {
	case g.before == "" && g.older == "" && g.name == "":
		return nil, errors.New("no sessions are named: choose them with --before, --older-than or --name")
	case g.before != "" && g.older != "":
		return nil, errors.New("--before and --older-than cannot be used together")
	case g.dry && g.yes:
		return nil, errors.New("--dry-run and --yes cannot be used together")
	case g.all && g.Tenant != "":
		return nil, errors.New("--tenant and --all-tenants cannot be used together")
	}
	var limit time.Time
	if err := parseTime(g.before, &limit); err != nil {
		return nil, fmt.Errorf("--before %s: want a date such as 2026-01-31 or 2026-01-31T12:00:00Z", g.before)
	}
	if g.older != "" {
		age, err := parseAge(g.older)
		if err != nil {
			return nil, err
		}
		limit = now.Add(-age)
	}
	pattern := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(cmp.Or(g.name, "*")))
	name := regexp.MustCompile(`(?s)\A` + pattern + `\z`)
	return func(info store.SessionInfo) bool {
		return info.Key.Tenant != bill.Tenant && name.MatchString(info.Key.Session) &&
			(limit.IsZero() || info.Last.Before(limit))
	}, nil
}

// parseAge reads a number of days, weeks or hours.
func parseAge(s string) (time.Duration, error) {
	units := map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour, "h": time.Hour}
	number := strings.TrimRight(s, "dwh")
	n, err := strconv.ParseUint(number, 10, 16)
	unit, ok := units[s[len(number):]]
	if err != nil || !ok || n == 0 || n > uint64(math.MaxInt64/unit) {
		return 0, fmt.Errorf("--older-than %s: want an age such as 90d, 12w or 36h", s)
	}
	return time.Duration(n) * unit, nil
}

// run describes the sessions, and deletes them if it may. Of other tenants, as many sessions would have been
// chosen too.
func (g *gcFlags) run(
	ctx context.Context, p *term.Console, store stores.Store, list []store.SessionInfo, others int,
) (term.Result, error) {
	out := gcJSON{"pleat/gc/1", g.yes, stores.Describe(ctx, store, list)}
	if others > 0 {
		p.Note("Left out: %s with a tenant, as those of the proxy (--all-tenants)\n", term.Plural(others, "session"))
	}
	if g.yes {
		if err := forgetAll(ctx, p, store, g.Flags, list); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (j gcJSON) Print(p *term.Page) {
	if len(j.Sessions) == 0 {
		p.Line("The flags match no session.")
		return
	}
	stores.List{Sessions: j.Sessions}.Print(p)
	if j.Deleted {
		p.Line("Deleted %s.", term.Plural(len(j.Sessions), "session"))
	} else {
		p.Line("Nothing was deleted; --yes deletes these permanently.")
	}
}

// forgetAll deletes sessions, and takes them off the proxy's bill and out of the search index.
func forgetAll(
	ctx context.Context, p *term.Console, st stores.Store, f *stores.Flags, list []store.SessionInfo,
) error {
	tell := p.Progress()
	defer tell.Done()
	var gone []store.SessionKey
	for i, info := range list {
		tell.Share(i, len(list), "deleting sessions")
		err := st.Forget(ctx, info.Key)
		if err != nil && !errors.Is(err, store.ErrNotFound) { // another process has deleted it
			return fmt.Errorf("after %s: %w", term.Plural(i, "deleted session"), err)
		}
		gone = append(gone, info.Key)
	}
	if err := (&bill.Book{Store: st}).Forget(ctx, gone...); err != nil || f.Path != "" {
		return err
	}
	path, err := stores.Path(p, "")
	if err != nil {
		return err
	}
	lib := library.New(library.Options{Home: p.Home(), Store: st, Index: stores.IndexBeside(path)})
	return errors.Join(lib.DropGone(ctx), lib.Close())
}
