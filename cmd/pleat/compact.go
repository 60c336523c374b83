package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/models"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/gemini"
	"github.com/pleat-dev/pleat/wire/openai"
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
	var fold foldFlags
	fold.declare(fs)
	fs.StringVar(&fold.dir, "dir", ".", "write plain copies into `FOLDER`, where the policy keeps some: .task_outputs, .transcripts")
	digests := fs.String("digest-model", "", "let `MODEL` write the digests, as with \"pleat run\"; none: code writes them")
	store := stores.Declare(fs)
	out := fs.StringP("output", "o", "", "write the result to `OUT` instead of standard output")
	format := fs.String("format", "text", "form of the result: `FORMAT` is text, markdown, prompt, anthropic, openai-chat, openai-responses or gemini")
	quiet := fs.Bool("quiet", false, "no report on standard error")
	fs.Lookup("json").Usage = "print one JSON object instead"
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, args []string) error {
		i := slices.IndexFunc(viewFormats, func(f viewFormat) bool { return f.name == *format })
		if i < 0 {
			return term.UsageError(fmt.Sprintf("unknown format %q: want text, markdown, prompt, anthropic, openai-chat, openai-responses, gemini", *format))
		}
		to := viewFormats[i]
		if on.json {
			to = viewFormat{write: writeViewJSON}
		}
		f, err := readSession(ctx, p, args[0], on.sourceFlags)
		if err != nil {
			return err
		}
		defer f.Close()
		if *digests != "" && *digests != "none" {
			if fold.writer, err = models.Open(ctx, *digests, p.Getenv); err != nil {
				return err
			}
		}
		db, err := stores.Open(ctx, p, store)
		if err != nil {
			return err
		}
		defer db.Close()
		tell := p.Progress()
		fold.request, fold.page, fold.tenant = to.request, to.name == "prompt", store.Tenant
		r, err := f.fold(ctx, tell, db, fold)
		tell.Done()
		if err != nil {
			return err
		}
		err = p.WriteTo(*out, func(w io.Writer) error { return to.write(w, p, r) })
		if err == nil && !*quiet {
			r.tell(p)
		}
		return err
	})
	return c
}

// compactJSON is what "pleat compact --json" prints.
type compactJSON struct {
	Format   string       `json:"format"`
	Source   sourceJSON   `json:"source"`
	Session  string       `json:"session"` // in the store
	Policy   string       `json:"policy"`
	Tokens   budgetJSON   `json:"tokens"`
	Messages []viewJSON   `json:"messages"`
	Folds    []foldJSON   `json:"folds"`
	Ledger   []entryJSON  `json:"ledger"`
	Pins     []pinJSON    `json:"pins"`
	Anchors  []anchorJSON `json:"anchors"`
	Report   reportJSON   `json:"report"`
}

// reportJSON is the engine's report without the folds.
type reportJSON struct {
	Messages int            `json:"messages"` // in the session
	Shown    int            `json:"shown"`    // in the view
	Levers   []leverShare   `json:"levers"`
	Epochs   []pleat.Epoch  `json:"epochs"`
	Snapshot fold.Snapshot  `json:"snapshot"`
	Cache    fold.CacheCost `json:"cache"`
	Warning  string         `json:"warning,omitempty"`
}

// viewJSON is one message of the view.
type viewJSON struct {
	Role    transcript.Role `json:"role"`
	Message int             `json:"message,omitempty"` // number in the session, from 1; none: pleat wrote it
	Handle  string          `json:"handle,omitempty"`  // if pleat wrote it: of the messages it stands for
	Blocks  []blockJSON     `json:"blocks"`
}

type blockJSON struct {
	Kind   string `json:"kind"`
	Text   string `json:"text,omitempty"` // also a call's input, or a result's text
	Tool   string `json:"tool,omitempty"`
	CallID string `json:"call_id,omitempty"`
	Error  bool   `json:"error,omitempty"`
	Type   string `json:"type,omitempty"`   // of images and of blocks that pleat does not know
	Handle string `json:"handle,omitempty"` // if the text is a stub: of what was folded
}

type pinJSON struct {
	Text string `json:"text"`
	Kind string `json:"kind"` // "pin"
}

// anchorJSON is an exact name in what was folded.
type anchorJSON struct {
	Text  string `json:"text"`
	Count int    `json:"count"` // how often what was folded has it
	Shown bool   `json:"shown"` // the view still has it
}

// viewFormat is a form that --format names.
type viewFormat struct {
	name    string
	write   func(io.Writer, *term.Console, *folded) error
	request bool // a request body
}

var viewFormats = []viewFormat{
	{"text", writeViewText, false},
	{"markdown", writeViewMarkdown, false},
	{"prompt", writeViewPrompt, false},
	{"anthropic", requestBody(anthropic.Encode, anthropic.Decode), true},
	{"openai-chat", requestBody(openai.EncodeChat, openai.DecodeChat), true},
	{"openai-responses", requestBody(openai.EncodeResponses, openai.DecodeResponses), true},
	{"gemini", requestBody(gemini.Encode, gemini.Decode), true},
}

// tell reports what was folded.
func (r *folded) tell(p *term.Console) {
	rep := r.report
	p.Note("%s: %s → %s tokens (budget %s), %s → %s\n", term.FileName(r.file.name), term.Thousands(rep.Whole),
		term.Thousands(rep.Snapshot.Tokens), term.Thousands(r.budget), term.Thousands(rep.Messages), term.Plural(len(r.view.Messages), "message"))
	if len(rep.Folds) == 0 {
		p.Note("nothing was folded: it fits\n")
	}
	for _, l := range byLever(rep.Folds) {
		p.Note("  %-10s %10s  %9s → %s tokens\n", l.Lever, term.Plural(l.Folds, "fold"), term.Thousands(l.Before), term.Thousands(l.After))
	}
	if r.warning != "" {
		p.Note("warning: %s\n", r.warning)
	}
	if rep.Snapshot.Tokens > r.budget {
		p.Note("warning: the result is larger than the budget: the policy folds no more than this\n")
	}
	if len(rep.Folds) > 0 {
		largest := slices.MaxFunc(rep.Folds, func(a, b *fold.Fold) int { return cmp.Compare(a.Before, b.Before) })
		p.Note("kept in the store as %s\nget anything back by its handle, such as the largest fold: pleat unfold %s\n", r.session.Key(), largest.Handle)
	}
}
