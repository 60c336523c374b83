package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"slices"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/openai"
)

var compactCommand = command{
	name:    "compact",
	args:    "FILE [FLAGS]",
	summary: "fold a session to a budget, keeping every original in the store",
	help: `Folds the session in FILE ("-" is standard input) so that what is left has at most --budget
tokens, and prints it. Every byte of the session is in the store first: what was folded comes
back with "pleat unfold HANDLE", exactly. A session that fits already is not folded. No model
is asked; the same file, policy and budget give the same bytes.

Formats:
  text              the view as plain text
  markdown          the same, to be read by people
  prompt            a text to paste into a new session, to go on where this one ended
  anthropic         a request body for Anthropic Messages
  openai-chat       a request body for OpenAI Chat Completions
  openai-responses  a request body for OpenAI Responses

The budget is for the messages; in request bodies the system prompt and the tools count too.
With --json one object holds the view, the folds, the ledger, pins, anchors and the report.
A summary of what was folded goes to standard error.`,
	examples: `# go on with an old session in a new one
pleat compact session.jsonl --budget 20k --format prompt | pbcopy
# a request of at most 60,000 tokens
pleat compact session.jsonl --budget 60k --format anthropic -o request.json
# what was folded, and how to get it back
pleat compact session.jsonl --json | jq '.folds[] | {handle, reason}'`,
	flags: func(fs *flag.FlagSet) runFunc {
		on := declareFile(fs)
		var fold foldFlags
		fold.declare(fs)
		store := declareStore(fs)
		out := fs.String("o", "", "write the result to `OUT` instead of standard output")
		format := fs.String("format", "text", "form of the result: `FORMAT` is text, markdown, prompt, anthropic, openai-chat or openai-responses")
		quiet := fs.Bool("quiet", false, "no report on standard error")
		fs.Lookup("json").Usage = "print one JSON object instead"
		return func(ctx context.Context, p *program, args []string) error {
			i := slices.IndexFunc(viewFormats, func(f viewFormat) bool { return f.name == *format })
			if i < 0 {
				return usageError{fmt.Sprintf("unknown format %q: want text, markdown, prompt, anthropic, openai-chat, openai-responses", *format)}
			}
			to := viewFormats[i]
			if on.json {
				to = viewFormat{write: writeViewJSON}
			}
			f, err := on.read(ctx, p, args)
			if err != nil {
				return err
			}
			defer f.Close()
			db, err := p.openStore(ctx, store)
			if err != nil {
				return err
			}
			defer db.Close()
			tell := p.progress()
			fold.request, fold.page = to.request, to.name == "prompt"
			r, err := f.fold(ctx, tell, db, fold)
			tell.done()
			if err != nil {
				return err
			}
			err = p.writeTo(*out, func(w io.Writer) error { return to.write(w, p, r) })
			if err == nil && !*quiet {
				r.tell(p.stderr)
			}
			return err
		}
	},
}

// viewFormat writes a folded session in a form that --format names.
type viewFormat struct {
	name    string
	write   func(io.Writer, *program, *folded) error
	request bool // it is a request body
}

var viewFormats = []viewFormat{
	{"text", writeViewText, false},
	{"markdown", writeViewMarkdown, false},
	{"prompt", writeViewPrompt, false},
	{"anthropic", requestBody(anthropic.Encode, anthropic.Decode), true},
	{"openai-chat", requestBody(openai.EncodeChat, openai.DecodeChat), true},
	{"openai-responses", requestBody(openai.EncodeResponses, openai.DecodeResponses), true},
}

// byLever sums folds up by lever, in the order in which the levers are pulled.
func byLever(folds []*fold.Fold) []leverShare {
	list := []leverShare{}
	for _, f := range folds {
		i := slices.IndexFunc(list, func(s leverShare) bool { return s.Lever == f.Lever })
		if i < 0 {
			i = len(list)
			list = append(list, leverShare{Lever: f.Lever})
		}
		list[i].Folds++
		list[i].Before += f.Before
		list[i].After += f.After
	}
	order := fold.Steps(lever.All()).Names()
	slices.SortStableFunc(list, func(a, b leverShare) int {
		return cmp.Compare(slices.Index(order, a.Lever), slices.Index(order, b.Lever))
	})
	return list
}

// tell reports what was folded.
func (r *folded) tell(w io.Writer) {
	rep := r.report
	fmt.Fprintf(w, "%s: %s → %s tokens (budget %s), %s → %s\n", fileName(r.file.name), thousands(rep.Whole),
		thousands(rep.Snapshot.Tokens), thousands(r.budget), thousands(rep.Messages), plural(len(r.view.Messages), "message"))
	if len(rep.Folds) == 0 {
		fmt.Fprintln(w, "nothing was folded: it fits")
	}
	for _, l := range byLever(rep.Folds) {
		fmt.Fprintf(w, "  %-10s %10s  %9s → %s tokens\n", l.Lever, plural(l.Folds, "fold"), thousands(l.Before), thousands(l.After))
	}
	if r.warning != "" {
		fmt.Fprintln(w, "warning:", r.warning)
	}
	if rep.Snapshot.Tokens > r.budget {
		fmt.Fprintf(w, "warning: the result is larger than the budget: the policy folds no more than this\n")
	}
	if len(rep.Folds) > 0 {
		fmt.Fprintf(w, "kept in the store as %s\nget anything back with: pleat unfold HANDLE\n", r.session.Key())
	}
}
