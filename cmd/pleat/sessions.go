package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/sessionlog"
)

func sessionsCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:        "sessions",
		Args:       noArguments,
		SuggestFor: []string{"list", "ls"},
		Short:      "list sessions",
		Long: `Looks where agents keep their sessions in your home folder (--agent names those that are
known), and lists them by agent, newest first, with size, tokens, cost by the price list,
title, project and how often they were compacted. "pleat usage" adds up the cost. Sessions of
"pleat proxy", "wrap", "run" and "demo" are in "pleat store list".

A session in a database is called as a file in it is: FOLDER/opencode.db/ses_123.
Links that lead out of an agent's folder are not followed.`,
		Example: `# what is here?
pleat sessions
# the file of the newest Codex session
pleat sessions --agent codex --limit 1 --paths
# everything
pleat sessions --limit 0`,
	}
	fl := c.Flags()
	var o sessionsFlags
	fl.StringVar(&o.home, "home", "", "look in this `FOLDER` instead of your home folder")
	fl.StringVar(&o.agent, "agent", "", "only sessions of `AGENT`: "+strings.Join(library.Agents(), ", "))
	fl.IntVar(&o.limit, "limit", 10, "at most `N` sessions of each agent; 0 for all")
	fl.BoolVar(&o.paths, "paths", false, "print the files' paths and nothing else")
	prints(p, c, func(ctx context.Context, p *term.Console, _ []string) (term.Result, error) {
		return findSessions(ctx, p, o)
	})
	return c
}

// sessionsJSON is what "pleat sessions --json" prints.
type sessionsJSON struct {
	Format string      `json:"format"`
	Agents []agentJSON `json:"agents"` // those with sessions

	home  string
	paths bool // for people: the files alone
}

type agentJSON struct {
	Agent    string         `json:"agent"`
	Found    int            `json:"found"`    // all of its sessions
	Sessions []foundSession `json:"sessions"` // newest first
}

type foundSession struct {
	library.Info
	ID string `json:"id,omitempty"` // opencode's own
}

type sessionsFlags struct {
	home, agent string
	limit       int
	paths       bool
}

// files are those of agents in a home folder, of one agent if it is named, also as setup does: claude for claude-code.
func (o *sessionsFlags) files(p *term.Console, progress func(done, all int)) (*library.Library, error) {
	if o.home = cmp.Or(o.home, p.Home()); o.home == "" {
		return nil, errors.New("no home folder: name one with --home")
	}
	if o.agent != "" {
		names := library.Agents()
		i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n+"-", o.agent+"-") })
		if i < 0 {
			return nil, term.UsageError(fmt.Sprintf("unknown agent %q%s: want one of %s", o.agent,
				term.DidYouMean("", o.agent, names), strings.Join(names, ", ")))
		}
		o.agent = names[i]
	}
	return library.New(library.Options{Home: filepath.Clean(o.home), Progress: progress}), nil
}

func findSessions(ctx context.Context, p *term.Console, o sessionsFlags) (term.Result, error) {
	lib, err := o.files(p, nil)
	if err != nil {
		return nil, err
	}
	defer lib.Close()
	j := &sessionsJSON{Format: "pleat/sessions/1", Agents: []agentJSON{}, home: o.home, paths: o.paths}
	tell := p.Progress()
	defer tell.Done()
	for _, agent := range library.Agents() {
		if o.agent != "" && o.agent != agent {
			continue
		}
		tell.Say("looking at the sessions of %s", agent)
		found, err := lib.List(ctx,
			library.Filter{Agent: agent, Limit: o.limit, Count: !o.paths, Plain: o.paths})
		if err != nil {
			return nil, err
		}
		a := agentJSON{Agent: agent, Found: found.Total}
		for _, s := range found.Sessions {
			f := foundSession{Info: s}
			if agent == string(sessionlog.OpenCode) {
				f.ID = strings.TrimSuffix(filepath.Base(s.File), ".json")
			}
			a.Sessions = append(a.Sessions, f)
		}
		if a.Found > 0 {
			j.Agents = append(j.Agents, a)
		}
	}
	return j, nil
}

func (j *sessionsJSON) Print(p *term.Page) {
	if len(j.Agents) == 0 && !j.paths {
		p.Hang("", fmt.Sprintf("no sessions of %s in %s (\"pleat store list\" has what went through pleat)",
			strings.Join(library.Agents(), ", "), j.home))
	}
	for i, a := range j.Agents {
		if j.paths {
			for _, f := range a.Sessions {
				p.Line("%s", f.File)
			}
			continue
		}
		if i > 0 {
			p.Line("")
		}
		note := term.Plural(a.Found, "session")
		if len(a.Sessions) < a.Found {
			note += fmt.Sprintf(", the newest %d (--limit 0 lists all)", len(a.Sessions))
		}
		p.Line("%s  %s", p.Bold(a.Agent), p.Dim(note))
		p.Line("%s", p.Dim(fmt.Sprintf(foundColumns, "last used", "size", "tokens", "cost")))
		for _, f := range a.Sessions {
			f.print(p, j.home)
		}
	}
	if j.paths || len(j.Agents) == 0 {
		return
	}
	p.Line("")
	if !p.Whole {
		p.Hang("", "\"pleat show NAME\" says what fills a session, \"pleat compact NAME --dry-run\" what would be "+
			"folded. Names are in front of the files.")
	}
	p.Hang("",
		"\"pleat store list\" has what went through pleat (proxy, wrap, run, demo); \"last\" is the newest of both, "+
			"demos and sub-agents aside.")
}

const foundColumns = "  %-16s%9s%8s%9s  "

func (f foundSession) print(p *term.Page, home string) {
	tokens, spent := "–", "–" // a file with a problem is not counted
	if f.Counted {
		tokens = term.Short(f.Tokens)
	}
	if f.USD > 0 {
		spent = term.Cents(f.USD)
	}
	line := fmt.Sprintf(foundColumns, f.Used.Local().Format("2006-01-02 15:04"), term.ByteSize(f.Bytes), tokens, spent)
	title := cmp.Or(term.OneLine(f.Title), "(no title)")
	if f.Problem != "" {
		title = "(" + term.OneLine(f.Problem) + ")"
	}
	if room := p.Width - term.Columns(line); p.Whole || room >= 30 {
		p.Line("%s%s", line, p.Clip(title, room))
	} else { // a narrow terminal
		p.Line("%s", line)
		p.Line("      %s", p.Clip(title, p.Width-6))
	}
	where := strings.Replace(f.File, home+string(filepath.Separator), "~"+string(filepath.Separator), 1)
	name := f.Name + "  "
	about := f.Project
	if f.Parent != "" {
		about = strings.TrimSuffix("sub-agent of "+f.Parent+", "+about, ", ")
	}
	if f.Compacts > 0 {
		about = strings.TrimPrefix(about+", compacted "+term.Plural(f.Compacts, "time"), ", ")
	}
	if about != "" {
		p.Line("      %s", p.Dim(p.ClipMiddle(about, p.Width-6)))
	}
	p.Line("      %s", p.Dim(name+p.ClipMiddle(where, max(p.Width-6-len(name), 1))))
}
