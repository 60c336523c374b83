package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/library"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
)

func searchCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "search QUERY [--in FILE]",
		Short: "find lines in a session file, or in everything in the store",
		Long: `Looks for the words of QUERY in everything that was said and done: with --in in the session in
FILE, otherwise in every session of the store, folded or not. Names are found by their parts
("upload limit" finds uploadLimit), and words in double quotes next to each other. A word that
nothing has is taken for one that differs by a letter. These narrow a search:

  file:PATH    calls that touched the file, directory or pattern, and their results
  tool:NAME    calls of the tool, and their results
  by:user      what a person typed; also by:assistant, by:tool
  after:X      what came after the handle or message number X

The exit code is 0 even if nothing is found.`,
		Example: `# in a file, without a store
pleat search "port of the test server" --in session.jsonl
# in everything that was ever compacted here, the best three hits of each session
pleat search "migration failed" --hits 3
# in one session of the store
pleat search "upload limit" --session file:27a33e9`,
	}
	fs := c.Flags()
	var src sessionfile.Flags
	fs.BoolVar(&src.Strict, "strict", false, "with --in: a damaged line is an error")
	file := fs.String("in", "", "look in this session `FILE` (- is standard input) instead of the store")
	session := fs.String("session", "", "look only in the stored session `NAME`; the beginning of its name will do")
	store := stores.Declare(fs)
	asJSON := fs.Bool("json", false, "print one JSON object")
	req := recall.SearchRequest{Budget: -1}
	fs.IntVar(&req.Hits, "hits", 6, "at most `N` hits in each session")
	fs.IntVar(&req.Around, "around", 2, "`LINES` to show before and after each hit; 0 for the lines that match alone")
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, args []string) error {
		query := strings.Join(args, " ")
		switch {
		case strings.TrimSpace(query) == "":
			return term.UsageError("search needs words to look for")
		case *file != "" && *session != "":
			return term.UsageError("--in and --session cannot be used together")
		case req.Around < 0:
			return term.UsageError("--around is a number of lines")
		case req.Around == 0:
			req.Around = -1 // the engine takes 0 for its default
		}
		req.Queries = []string{query}
		j := searchJSON{Format: "pleat/search/1", Query: query, Sessions: []foundJSON{}, req: req}
		var err error
		if *file == "" {
			err = j.inStore(ctx, p, store, *session)
		} else {
			err = j.inFile(ctx, p, *file, src)
		}
		if err != nil {
			return err
		}
		return p.Output(*asJSON, &j)
	})
	return c
}

// searchJSON is what "pleat search --json" prints.
type searchJSON struct {
	Format   string      `json:"format"`
	Query    string      `json:"query"`
	Searched int         `json:"searched"` // sessions
	Sessions []foundJSON `json:"sessions"` // those with hits

	req recall.SearchRequest
}

type foundJSON struct {
	Session string             `json:"session,omitempty"` // in the store
	File    string             `json:"file,omitempty"`
	Hits    []recall.SearchHit `json:"hits"`
}

func (j *searchJSON) inFile(ctx context.Context, p *term.Console, file string, src sessionfile.Flags) error {
	s, err := sessionIn(ctx, p, file, src)
	if err != nil {
		return err
	}
	return j.inSession(ctx, s, foundJSON{File: file})
}

// sessionIn reads a session file to be asked about.
func sessionIn(ctx context.Context, p *term.Console, name string, src sessionfile.Flags) (*pleat.Session, error) {
	f, err := sessionfile.Read(ctx, p, name, src)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	opts := library.Roughly()
	opts.Policy = policy.None() // spills nothing
	s, err := pleat.OpenSession(ctx, store.NewMemory(), f.Key(), opts)
	if err != nil {
		return nil, err
	}
	return s, f.AppendTo(ctx, s, 0, p.Progress())
}

func (j *searchJSON) inStore(ctx context.Context, p *term.Console, flags *stores.Flags, name string) error {
	st, err := stores.OpenToSearch(ctx, p, flags)
	if err != nil {
		return err
	}
	defer st.Close()
	list, err := stores.Choose(ctx, st, flags, name)
	if err != nil {
		return err
	}
	tell := p.Progress()
	defer tell.Done()
	var failed []error
	look := func(info store.SessionInfo) {
		s, err := stores.Reopen(ctx, st, info.Key)
		if err == nil {
			err = j.inSession(ctx, s, foundJSON{Session: info.Key.Session})
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("session %s was not searched: %w", info.Key.Session, err))
		}
	}
	var without []store.SessionInfo // they have none of the words
	for i, info := range list {
		tell.Share(i, len(list), "searching sessions")
		if hits, err := st.Search(ctx, info.Key, recall.Words(j.Query), 1); err == nil && len(hits) == 0 &&
			len(list) > 1 {
			without = append(without, info)
			continue
		}
		look(info)
	}
	if len(j.Sessions) > 0 || !recall.Guesses(j.Query) { // they need not be opened
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
	r, err := s.Search(ctx, j.req)
	if err != nil {
		return err
	}
	j.Searched++
	for _, a := range r.Answers {
		found.Hits = append(found.Hits, a.Hits...)
	}
	if len(found.Hits) > 0 {
		j.Sessions = append(j.Sessions, found)
	}
	return nil
}

func (j *searchJSON) Print(p *term.Page) {
	if len(j.Sessions) == 0 {
		p.Line("nothing found in %s", term.Plural(j.Searched, "session"))
	}
	for i, f := range j.Sessions {
		if i > 0 {
			p.Line("")
		}
		p.Line("%s", p.Bold(p.ClipMiddle(cmp.Or(f.Session, term.FileName(f.File)), p.Width)))
		for _, h := range f.Hits {
			p.Line("")
			printHit(p, h)
		}
	}
}

func printHit(p *term.Page, h recall.SearchHit) {
	about := fmt.Sprintf("message %d, %s, handle %s", h.Message, term.Plural(h.Lines, "line"), h.Handle)
	if h.Stale != "" {
		about += ", " + term.OneLine(h.Stale)
	}
	p.Line("%s", p.ClipMiddle(term.OneLine(h.What), p.Width))
	p.Line("%s", p.Dim(p.Clip(about, p.Width)))
	last := 0
	for _, l := range h.Shown {
		if last > 0 && l.Number > last+1 {
			p.Line("%s", p.Dim("      …"))
		}
		last = l.Number
		number := fmt.Sprintf("%6d", l.Number)
		text := oneLineKeepIndent(l.Text)
		if !p.Whole {
			text = ansi.Wrap(text, p.Width-9, "")
		}
		for part := range strings.SplitSeq(text, "\n") {
			if l.Match {
				p.Line("%6s > %s", number, p.Bold(part))
			} else {
				p.Line("%6s   %s", number, part)
			}
			number = ""
		}
	}
}

// oneLineKeepIndent is oneLine for a line of code.
func oneLineKeepIndent(s string) string {
	body := strings.TrimLeft(s, " \t")
	indent := strings.ReplaceAll(s[:len(s)-len(body)], "\t", "    ")
	return indent + term.OneLine(body)
}
