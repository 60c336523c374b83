package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
)

var searchCommand = command{
	name:    "search",
	args:    "QUERY [--in FILE] [FLAGS]",
	summary: "find lines in a session file, or in everything in the store",
	help: `Looks for the words of QUERY in everything that was said and done: in the session in FILE, or
without --in in every session of the store, folded or not. Names are found by their parts
("upload limit" finds uploadLimit). Nothing in a query is an operator.

The exit code is 0 also if nothing is found.`,
	examples: `# in a file, without a store
pleat search "port of the test server" --in session.jsonl
# in everything that was ever compacted here, the best three places of each session
pleat search "migration failed" --hits 3
# in one session of the store
pleat search "upload limit" --session file:27a33e9`,
	flags: func(fs *flag.FlagSet) runFunc {
		var src sourceFlags
		fs.BoolVar(&src.strict, "strict", false, "with --in: a damaged line is an error")
		file := fs.String("in", "", "look in this session `FILE` (- is standard input) instead of the store")
		session := fs.String("session", "", "look only in the stored session `NAME`, or the one whose name begins so")
		store := declareStore(fs)
		asJSON := fs.Bool("json", false, "print one JSON object")
		req := recall.SearchRequest{Budget: -1}
		fs.IntVar(&req.Hits, "hits", 6, "at most `N` places for each session")
		fs.IntVar(&req.Around, "around", 2, "`LINES` to show before and after each place; -1 for none")
		return func(ctx context.Context, p *program, args []string) error {
			query := strings.Join(args, " ")
			if strings.TrimSpace(query) == "" {
				return usageError{"search needs words to look for"}
			}
			if *file != "" && *session != "" {
				return usageError{"--in and --session cannot be used together"}
			}
			req.Queries = []string{query}
			if req.Around == 0 {
				req.Around = -1
			}
			j := searchJSON{Format: "pleat/search/1", Query: query, Sessions: []foundJSON{}}
			var err error
			if *file != "" {
				src.number = 1
				err = j.inFile(ctx, p, *file, src, req)
			} else {
				err = j.inStore(ctx, p, store, *session, req)
			}
			if err != nil {
				return err
			}
			return p.output(*asJSON, &j)
		}
	},
}

// searchJSON is what "pleat search --json" prints.
type searchJSON struct {
	Format   string      `json:"format"`
	Query    string      `json:"query"`
	Searched int         `json:"searched"` // sessions
	Sessions []foundJSON `json:"sessions"` // those with hits
}

type foundJSON struct {
	Session string             `json:"session,omitempty"` // in the store
	File    string             `json:"file,omitempty"`
	Hits    []recall.SearchHit `json:"hits"`
}

func (j *searchJSON) inFile(ctx context.Context, p *program, name string, src sourceFlags, req recall.SearchRequest) error {
	f, err := p.readSession(ctx, name, src)
	if err != nil {
		return err
	}
	defer f.Close()
	opts := roughly()
	opts.Policy = policy.None() // nothing is to be spilled
	s, err := pleat.OpenSession(ctx, store.NewMemory(), f.key(), opts)
	if err != nil {
		return err
	}
	if err := f.appendTo(ctx, s, 0, p.progress()); err != nil {
		return err
	}
	return j.inSession(ctx, s, foundJSON{File: name}, req)
}

func (j *searchJSON) inStore(ctx context.Context, p *program, flags *storeFlags, name string, req recall.SearchRequest) error {
	store, err := p.readStore(ctx, flags)
	if err != nil {
		return err
	}
	defer store.Close()
	list, err := chosenSessions(ctx, store, flags, name)
	if err != nil {
		return err
	}
	tell := p.progress()
	defer tell.done()
	for i, info := range list {
		key := info.Key
		tell.say("searching session %d of %d", i+1, len(list))
		// A session without a match need not be opened.
		if hits, err := store.Search(ctx, key, req.Queries[0], 1); err == nil && len(hits) == 0 {
			j.Searched++
			continue
		}
		s, err := reopen(ctx, store, key)
		if err == nil {
			err = j.inSession(ctx, s, foundJSON{Session: key.Session}, req)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (j *searchJSON) inSession(ctx context.Context, s *pleat.Session, found foundJSON, req recall.SearchRequest) error {
	r, err := s.Search(ctx, req)
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

func (j *searchJSON) print(p *page) {
	if len(j.Sessions) == 0 {
		p.line("nothing found in %s", plural(j.Searched, "session"))
	}
	for i, f := range j.Sessions {
		if i > 0 {
			p.line("")
		}
		name := f.Session
		if name == "" {
			name = fileName(f.File)
		}
		p.line("%s", p.bold(clipMiddle(name, p.width)))
		for _, h := range f.Hits {
			p.line("")
			p.printHit(h)
		}
	}
}

func (p *page) printHit(h recall.SearchHit) {
	about := fmt.Sprintf("message %d, %s, handle %s", h.Message, plural(h.Lines, "line"), h.Handle)
	p.line("%s", clip(oneLine(h.What), p.width))
	p.line("%s", p.dim(clip(about, p.width)))
	if h.Stale != "" {
		p.line("%s", p.dim(clip(oneLine(h.Stale), p.width)))
	}
	last := 0
	for _, l := range h.Shown {
		if last > 0 && l.Number > last+1 {
			p.line("%s", p.dim("      …"))
		}
		last = l.Number
		mark, text := " ", clip(oneLineKeepIndent(l.Text), p.width-9)
		if l.Match {
			mark, text = ">", p.bold(text)
		}
		p.line("%6d %s %s", l.Number, mark, text)
	}
}

// oneLineKeepIndent makes a line of code fit for a terminal.
func oneLineKeepIndent(s string) string {
	body := strings.TrimLeft(s, " \t")
	indent := strings.ReplaceAll(s[:len(s)-len(body)], "\t", "    ")
	return indent + oneLine(body)
}
