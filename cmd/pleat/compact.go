package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/models"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

func compactCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "compact FILE",
		Short: "fold a session to a budget, keeping every original in the store",
		Long: `Folds the session in FILE ("-" is standard input) so that what is left has at most --budget
tokens, and prints it. The whole session is stored first, so "pleat unfold HANDLE" gives back
anything that was folded, exactly. A session that fits already is not folded. Without
--digest-model no model is asked, and the same file, policy and budget give the same bytes.

Formats:
  text              the view as plain text
  markdown          the same, for people to read
  prompt            a text to paste into a new session, to continue this one there
  anthropic         a request body for Anthropic Messages
  openai-chat       a request body for OpenAI Chat Completions
  openai-responses  a request body for OpenAI Responses
  gemini            a request body for Gemini's generateContent

The budget is for the messages; in request bodies the system prompt and the tools count too.
With --json, one object holds the view, the folds, the ledger, pins, anchors and the report.
A summary of what was folded goes to standard error.`,
		Example: `# continue an old session in a new one
pleat compact session.jsonl --budget 20k --format prompt | pbcopy
# a request of at most 60,000 tokens
pleat compact session.jsonl --budget 60k --format anthropic -o request.json
# what was folded, and how to get it back
pleat compact session.jsonl --json | jq '.folds[] | {handle, reason}'`,
	}
	fs := c.Flags()
	on := declareFile(c)
	var fold sessionfile.FoldFlags
	fold.Declare(fs)
	fs.StringVar(&fold.Dir, "dir", ".", "write plain copies into `FOLDER`, where the policy keeps some: .task_outputs, .transcripts")
	digests := fs.String("digest-model", "", "let `MODEL` write the digests, as with \"pleat run\"; none: code writes them")
	store := stores.Declare(fs)
	out := fs.StringP("output", "o", "", "write the result to `OUT` instead of standard output")
	format := fs.String("format", "text", "form of the result: `FORMAT` is text, markdown, prompt, anthropic, openai-chat, openai-responses or gemini")
	quiet := fs.Bool("quiet", false, "no report on standard error")
	fs.Lookup("json").Usage = "print one JSON object instead"
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, args []string) error {
		var err error
		if fold.Format, err = sessionfile.FormatNamed(*format, on.json); err != nil {
			return err
		}
		f, err := sessionfile.Read(ctx, p, args[0], on.Flags)
		if err != nil {
			return err
		}
		defer f.Close()
		if *digests != "" && *digests != "none" {
			if fold.Writer, err = models.Open(ctx, *digests, p.Getenv); err != nil {
				return err
			}
		}
		db, err := stores.Open(ctx, p, store)
		if err != nil {
			return err
		}
		defer db.Close()
		tell := p.Progress()
		fold.Tenant = store.Tenant
		r, err := f.Fold(ctx, tell, db, fold)
		tell.Done()
		if err != nil {
			return err
		}
		err = p.WriteTo(*out, func(w io.Writer) error { return r.Write(w, p) })
		if err == nil && !*quiet {
			r.Tell(p)
		}
		return err
	})
	return c
}
