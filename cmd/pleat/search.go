package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/query"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
)

func searchCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "search QUERY [--in FILE]",
		Short: "find lines in your sessions",
		Long: `Looks for the words of QUERY in everything that was said and done: in the sessions that "pleat
sessions" lists and in those of the store, with most of the words first; with --in in one session
file, with --session in one stored session, with --store in that store alone. Names are found
by their parts ("upload limit" finds uploadLimit), and words in double quotes next to each
other. In the store, a word that nothing has is taken for one that differs by a letter. These
narrow a search:

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
		"look in this session `FILE` alone; a name that \"pleat sessions\" lists, last or - will do")
	fs.StringVar(&f.session, "session", "",
		"look only in the stored session `NAME`, its beginning, or last: the newest there")
	fs.BoolVar(&f.json, "json", false, "print one JSON object")
	fs.IntVar(&f.req.Hits, "hits", 6, "at most `N` hits in each session (2 when all are searched)")
	fs.IntVar(&f.req.Around, "around", 2,
		"`LINES` to show before and after each hit; 0, and when all are searched: none")
	c.RunE = runs(p, f.run)
	return c
}

type searchFlags struct {
	set           *pflag.FlagSet
	src           sessionfile.Flags
	file, session string
	store         *stores.Flags
	json          bool
	req           recall.SearchRequest
}

func (f *searchFlags) run(ctx context.Context, p *term.Console, args []string) error {
	query := strings.Join(args, " ")
	switch {
	case strings.TrimSpace(query) == "":
		return term.UsageError("search needs words to look for")
	case f.file != "" && f.session != "":
		return term.UsageError("--in and --session cannot be used together")
	case f.req.Around < 0:
		return term.UsageError("--around is a number of lines")
	case f.req.Around == 0:
		f.req.Around = -1 // the engine takes 0 for its default
	}
	f.req.Queries, f.req.Strict = []string{query}, strings.Contains(query, `"`)
	j := searchJSON{Format: "pleat/search/1", Query: query, Sessions: []foundJSON{}, req: f.req}
	j.store, j.told, j.files = f.store.Path, make(map[string]bool), make(map[string]bool)
	var err error
	switch {
	case f.file != "":
		f.src.Store = f.store
		err = j.inFile(ctx, p, f.file, f.src)
	case f.session != "" || f.store.Path != "":
		err = j.inStore(ctx, p, f.store, f.session)
	default:
		err = f.everywhere(ctx, p, &j)
	}
	if err != nil {
		return err
	}
	j.rank()
	return p.Output(f.json, &j)
}

// everywhere looks into the files of agents and into the user's store, if there is one.
func (f *searchFlags) everywhere(ctx context.Context, p *term.Console, j *searchJSON) error {
	if !f.set.Changed("hits") {
		j.req.Hits = 2
	}
	if !f.set.Changed("around") {
		j.req.Around = -1
	}
	err := j.inFiles(ctx, p)
	if path, e := stores.Path(p, ""); err == nil && e == nil && !term.Missing(path) {
		err = j.inStore(ctx, p, f.store, "")
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
	told  map[string]bool // handles of hits: the same content is told once
	files map[string]bool // IDs of the session files that were searched
	store string          // as it was named; "": the user's own
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

func (j *searchJSON) inFile(ctx context.Context, p *term.Console, file string, src sessionfile.Flags) error {
	f, err := sessionfile.Read(ctx, p, file, src)
	if err != nil {
		return err
	}
	defer f.Close()
	title := f.Title()
	s, err := opened(ctx, p, f)
	if err != nil {
		return err
	}
	return j.inSession(ctx, s, foundJSON{File: f.Name, Title: title})
}

// inFiles looks into the session files that agents keep. Only those that have one of the words
// are read as sessions.
func (j *searchJSON) inFiles(ctx context.Context, p *term.Console) error {
	lib := stores.Library(p, nil, "")
	defer lib.Close()
	all, err := lib.List(ctx, library.Filter{Plain: true})
	if err != nil {
		return err
	}
	tell := p.Progress()
	defer tell.Done()
	quiet := *p
	quiet.Stderr = io.Discard // what is damaged in them was not asked
	words := library.WordsOf(j.Query)
	for i, info := range all.Sessions {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		tell.Share(i, len(all.Sessions), "searching sessions")
		j.files[info.ID] = true
		if has, err := hasWords(info.File, words); err != nil {
			continue
		} else if !has {
			j.Searched++
			continue
		}
		if full, err := lib.Find(ctx, info.ID); err == nil {
			info = full
		}
		if s, title, err := sessionIn(ctx, &quiet, info.File, sessionfile.Flags{}); err == nil {
			found := foundJSON{
				Session: info.ID, File: info.File, Title: cmp.Or(title, info.Title), Agent: info.Agent, Last: info.Used,
				name: info.ID,
			}
			if err := j.inSession(ctx, s, found); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// sessionIn reads a session file to be asked about, and what it has for a title, which may be at its end.
func sessionIn(
	ctx context.Context, p *term.Console, name string, src sessionfile.Flags,
) (s *pleat.Session, title string, err error) {
	f, err := sessionfile.Read(ctx, p, name, src)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	s, err = opened(ctx, p, f)
	return s, f.Info.Title, err
}

func opened(ctx context.Context, p *term.Console, f *sessionfile.File) (*pleat.Session, error) {
	opts := library.Roughly()
	opts.Policy = policy.None() // spills nothing
	s, err := pleat.OpenSession(ctx, store.NewMemory(), pleat.Key{Session: "file"}, opts)
	if err != nil {
		return nil, err
	}
	return s, f.AppendTo(ctx, s, 0, p.Progress())
}

// candidates lists all stored sessions, and those to search.
func candidates(
	ctx context.Context, p *term.Console, st stores.Store, flags *stores.Flags, name string,
) (all, list []store.SessionInfo, err error) {
	all, err = library.Conversations(ctx, st, "")
	switch list = slices.Clone(all); {
	case err != nil:
	case name != "":
		list, err = stores.Choose(ctx, p, st, flags, name)
	case flags.Tenant != "":
		list, err = library.Conversations(ctx, st, flags.Tenant)
	}
	return all, list, err
}

func (j *searchJSON) inStore(ctx context.Context, p *term.Console, flags *stores.Flags, name string) error {
	st, err := stores.OpenToSearch(ctx, p, flags)
	if err != nil {
		return err
	}
	defer st.Close()
	all, list, err := candidates(ctx, p, st, flags, name)
	if err != nil {
		return err
	}
	names := library.NamesOf(all)
	list = slices.DeleteFunc(list, func(s store.SessionInfo) bool { return j.files[library.OwnerOf(s.Key)] })
	tell := p.Progress()
	defer tell.Done()
	var failed []error
	look := func(info store.SessionInfo) {
		s, err := stores.Reopen(ctx, st, info.Key)
		if err == nil {
			title := library.Described(ctx, st, info).Title
			err = j.inSession(ctx, s, foundJSON{
				Tenant: info.Key.Tenant, Session: info.Key.Session, Title: title, Last: info.Last,
				name: names.Of(info.Key),
			})
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("session %s was not searched: %w", info.Key, err))
		}
	}
	var without []store.SessionInfo // they have none of the words
	for i, info := range list {
		tell.Share(i, len(list), "searching sessions")
		if hits, err := st.Search(ctx, info.Key, query.Read(j.Query).Asked, 1); err == nil && len(hits) == 0 &&
			len(list) > 1 {
			without = append(without, info)
			continue
		}
		look(info)
	}
	if len(j.Sessions) > 0 || j.req.Strict || !query.Read(j.Query).Guesses() { // they need not be opened
		j.Searched += len(without)
		without = nil
	}
	for i, info := range without { // one may have a word that is near
		tell.Share(i, len(without), "searching sessions for words that are near")
		look(info)
	}
	tell.Done()
	if err := ctx.Err(); err != nil {
		return err
	}
	if j.Searched == 0 {
		return errors.Join(failed...)
	}
	for _, err := range failed {
		p.Note("%v\n", err)
	}
	return nil
}

func (j *searchJSON) inSession(ctx context.Context, s *pleat.Session, found foundJSON) error {
	most, req := j.req.Hits, j.req
	req.Hits++ // tells whether there are more
	r, err := s.Search(ctx, req)
	if err != nil {
		return err
	}
	j.Searched++
	for _, a := range r.Answers {
		for _, h := range a.Hits {
			if found.More = found.More || len(found.Hits) == most; !j.told[h.Handle] && !found.More {
				j.told[h.Handle] = true
				found.Hits = append(found.Hits, h)
			}
		}
	}
	if len(found.Hits) > 0 {
		j.Sessions = append(j.Sessions, found)
	}
	return nil
}
