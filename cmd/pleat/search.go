package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
)

func searchCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "search QUERY [--in FILE]",
		Short: "find lines in your sessions",
		Long: `Looks for the words of QUERY in everything that was said and done: in the sessions that "pleat
sessions" lists and in those of the store, those with most of the words first; with --in in one
session file, with --session in one stored session, with --store in that store alone. Where sessions have
all the words, those with only some are counted; --any shows them. The first search
builds an index of all sessions next to the store, and each brings it up to date, unless
--index=false. Names are found by their parts ("upload limit" finds uploadLimit), and words in
double quotes next to each other. In the store, a word without a match
also matches words one letter off. These narrow a search:

  file:PATH    calls that touched the file, directory or pattern, and their results
  tool:NAME    calls of the tool, and their results
  by:user      what a person typed; also by:assistant, by:tool
  after:X      what came after the handle or message number X

The exit code is 0 even if nothing is found.`,
		Example: `# in the newest session of any agent
pleat search "port of the test server" --in last
# in all sessions, the best three hits of each
pleat search "migration failed" --hits 3
# in one session of the store
pleat search "upload limit" --session file:27a33e9`,
	}
	fs := c.Flags()
	f := &searchFlags{set: fs, store: stores.Declare(fs), req: recall.SearchRequest{Budget: -1}}
	fs.BoolVar(&f.src.Strict, "strict", false, "with --in: a damaged line is an error")
	fs.StringVar(&f.file, "in", "",
		"look in this session `FILE` alone, or a name that \"pleat sessions\" lists, last or -")
	fs.StringVar(&f.session, "session", "",
		"look only in the stored session `NAME`, its beginning, or last: the newest there")
	fs.BoolVar(&f.any, "any", false, "when all are searched, show the sessions that have only some of the words too")
	f.index = stores.DeclareIndex(fs)
	fs.IntVar(&f.req.Hits, "hits", 6, "at most `N` hits in each session (2 when all are searched)")
	fs.IntVar(&f.req.Around, "around", 2,
		"`LINES` to show before and after each hit; 0, and when all are searched: none")
	prints(p, c, f.run)
	return c
}

type searchFlags struct {
	set           *pflag.FlagSet
	src           sessionfile.Flags
	file, session string
	store         *stores.Flags
	any           bool
	index         stores.Index
	req           recall.SearchRequest
}

func (f *searchFlags) run(ctx context.Context, p *term.Console, args []string) (term.Result, error) {
	query := strings.Join(args, " ")
	switch {
	case strings.TrimSpace(query) == "":
		return nil, term.UsageError("search needs words to look for")
	case f.file != "" && f.session != "":
		return nil, term.UsageError("--in and --session cannot be used together")
	case f.req.Around < 0:
		return nil, term.UsageError("--around is a number of lines")
	case f.req.Around == 0:
		f.req.Around = -1 // the engine takes 0 for its default
	}
	f.req.Queries, f.req.Strict = []string{query}, strings.Contains(query, `"`)
	j := &searchJSON{Format: "pleat/search/1", Query: query, Sessions: []foundJSON{}, req: f.req, store: f.store.Path}
	var one library.Info // to look in; zero: it is not known
	var err error
	if f.file != "" {
		one, err = sessionfile.Find(ctx, p, f.store, f.file)
	}
	switch {
	case err != nil:
	case one.File != "":
		var s *pleat.Session
		var found foundJSON
		if s, found, err = sessionIn(ctx, p, one, f.src); err == nil {
			err = j.inSession(ctx, s, found)
		}
	default:
		err = f.inStore(ctx, p, j, one)
	}
	if err != nil {
		return nil, err
	}
	return j, nil
}

// inStore looks into a session of the store that was found or is named, else into the store that is named, or into
// the files of agents and the user's own store, if there is one.
func (f *searchFlags) inStore(ctx context.Context, p *term.Console, j *searchJSON, one library.Info) error {
	o := library.Options{Tenant: f.store.Tenant}
	everywhere := f.store.Path+f.session+f.file == ""
	if everywhere {
		var err error
		if o.Home = p.Home(); !f.set.Changed("hits") {
			j.req.Hits = 2
		}
		if !f.set.Changed("around") {
			j.req.Around = -1
		}
		if o.Index, err = f.index.Path(p, f.store); err != nil {
			return err
		}
	}
	if path, err := stores.Path(p, ""); everywhere && (err != nil || term.Missing(path)) {
		return f.inAll(ctx, p, j, o)
	}
	st, err := stores.OpenToSearch(ctx, p, f.store)
	if err != nil {
		return err
	}
	defer st.Close()
	if f.session != "" {
		if one, err = stores.Find(ctx, p, st, f.store, f.session); err != nil {
			return err
		}
	}
	if one.ID == "" {
		o.Store = st
		return f.inAll(ctx, p, j, o)
	}
	s, err := pleat.OpenSession(ctx, st, one.Key, library.Roughly())
	if err == nil {
		about, _ := library.Described(ctx, st, one)
		err = j.inSession(ctx, s, foundOf(about))
	}
	if err != nil {
		err = fmt.Errorf("session %s was not searched: %w", one.Key, err)
	}
	return err
}

// searchJSON is what "pleat search --json" prints.
type searchJSON struct {
	Format   string      `json:"format"`
	Query    string      `json:"query"`
	Searched int         `json:"searched"` // sessions
	Sessions []foundJSON `json:"sessions"` // those with hits

	req   recall.SearchRequest
	some  int    // sessions that have only some of the words and are not shown
	store string // as it was named; "": the user's own
}

type foundJSON struct {
	Tenant  string             `json:"tenant,omitempty"`
	Session string             `json:"session,omitempty"` // in the store
	File    string             `json:"file,omitempty"`
	Title   string             `json:"title,omitempty"`
	Agent   string             `json:"agent,omitempty"`
	Last    time.Time          `json:"last,omitzero"` // when it was written to
	Hits    []recall.SearchHit `json:"hits"`
	More    bool               `json:"more,omitempty"` // it has more than were asked for

	name string // that means no other; "": it is in a file that is not listed
}

func foundOf(i library.Info) foundJSON {
	return foundJSON{
		Tenant: i.Key.Tenant, Session: cmp.Or(i.Key.Session, i.ID), File: i.File, Title: i.Title, Agent: i.Agent,
		Last: i.Used, name: i.Name,
	}
}

// inAll looks into all sessions that a library has.
func (f *searchFlags) inAll(ctx context.Context, p *term.Console, j *searchJSON, o library.Options) error {
	tell := p.Progress()
	defer tell.Done()
	o.Progress = func(done, all int) { tell.Share(done, all, "searching sessions") }
	o.Logger = tally.Logger(p.Stderr, false, true)
	lib := library.New(o)
	defer lib.Close()
	found, err := lib.Search(ctx, library.Filter{Any: f.any}, j.req)
	if err != nil {
		return err
	}
	tell.Done()
	j.some = found.Some
	if j.Searched = found.Searched; j.Searched == 0 {
		return errors.Join(found.Problems...)
	}
	for _, in := range found.Found {
		found := foundOf(in.Info)
		found.More = in.More
		j.add(in.Result, found)
	}
	for _, err := range found.Problems {
		p.Note("%v\n", err)
	}
	return nil
}

// sessionIn reads a session file to be asked about.
func sessionIn(
	ctx context.Context, p *term.Console, info library.Info, src sessionfile.Flags,
) (s *pleat.Session, found foundJSON, err error) {
	f, err := sessionfile.ReadFound(ctx, p, info, src)
	if err != nil {
		return nil, found, err
	}
	defer f.Close()
	found = foundJSON{File: f.Name, Title: f.Info.Title}
	opts := library.Roughly()
	opts.Policy = policy.None() // spills nothing
	if s, err = pleat.OpenSession(ctx, store.NewMemory(), pleat.Key{Session: "file"}, opts); err == nil {
		err = f.AppendTo(ctx, s, 0, p.Progress())
	}
	return s, found, err
}

func (j *searchJSON) inSession(ctx context.Context, s *pleat.Session, found foundJSON) error {
	req := j.req
	req.Hits++ // tells whether there are more
	r, err := s.Search(ctx, req)
	j.Searched++
	j.add(r, found)
	return err
}

func (j *searchJSON) add(r recall.SearchResult, found foundJSON) {
	for _, a := range r.Answers {
		found.Hits = append(found.Hits, a.Hits...)
	}
	if len(found.Hits) > j.req.Hits {
		found.Hits, found.More = found.Hits[:j.req.Hits], true
	}
	if len(found.Hits) > 0 {
		j.Sessions = append(j.Sessions, found)
	}
}
