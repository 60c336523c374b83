package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/toolargs"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
)

func ledgerCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "ledger [FILE]",
		Short: "list every tool call of a session: what it touched, how it ended",
		Long: `Lists the tool calls of a session, derived by code from the calls and their results. FILE may be
the name of a session, last the newest one, "-" standard input.
Flags select calls; a call must match all of them. With --files it lists the files that the
session changed instead, and what became of them.

The column "newer" names the call that made a result stale. "pleat unfold" shows what a call did,
by its number. Kinds are read, create, edit, delete, run, net and other. Outcomes are ok, error,
running (in the background) and unanswered.`,
		Example: `# which files did the session change?
pleat ledger session.jsonl --files
# everything that was done to one file or folder
pleat ledger session.jsonl --path internal/store
# commands that failed
pleat ledger session.jsonl --kind run --failed
# what call 12 changed or showed
pleat unfold 12 --in session.jsonl
# what a session of the store did
pleat ledger run-20260102 --files`,
	}
	l := &ledgerFlags{fileCommand: declareFile(c)}
	l.declare(c.Flags())
	c.RunE = runs(p, l.run)
	return c
}

func (l *ledgerFlags) run(ctx context.Context, p *term.Console, args []string) error {
	filter, err := l.filter()
	if err != nil {
		return err
	}
	return l.fileCommand.run(ctx, p, args, func(f *sessionfile.File, _ *term.Progress) (term.Result, error) {
		all, times, err := ledgerOf(f)
		if err != nil {
			return nil, err
		}
		return &ledgerJSON{
			Format: "pleat/ledger/1", Source: f.Source(), Filter: filter, Counts: all.Counts(filter),
			Entries: sessionfile.Entries(all.Select(filter), times),
			Changed: keepPaths(all.Changed(), filter), ReadOnly: keepPaths(all.ReadOnly(), filter),
			all: all.Len(), files: l.files,
		}, nil
	})
}

// ledgerJSON is what "pleat ledger --json" prints.
type ledgerJSON struct {
	Format   string              `json:"format"`
	Source   sessionfile.Source  `json:"source"`
	Filter   ledger.Filter       `json:"filter"`
	Counts   ledger.Counts       `json:"counts"` // of the entries
	Entries  []sessionfile.Entry `json:"entries"`
	Changed  []ledger.PathState  `json:"changed"`   // files that the session changed
	ReadOnly []ledger.PathState  `json:"read_only"` // files that it only looked at

	all   int  // calls of the session
	files bool // for people: list the files, not the calls
}

// ledgerOf reads the calls of the file, and when its messages were said.
func ledgerOf(f *sessionfile.File) (*ledger.Ledger, []time.Time, error) {
	l := &ledger.Ledger{}
	var times []time.Time
	for rec, err := range f.Records() {
		if err != nil {
			return nil, nil, err
		}
		l.Add(len(times), rec.Message)
		times = append(times, rec.Time)
	}
	return l, times, nil
}

// ledgerFlags are the flags of ledger.
type ledgerFlags struct {
	*fileCommand
	choice        ledger.Filter
	kind, outcome string
	failed, files bool
}

func (l *ledgerFlags) declare(fs *pflag.FlagSet) {
	f := &l.choice
	fs.StringVar(&f.Path, "path", "",
		"calls that touch `PATH`: a file, a folder, the end of a path, or a pattern with *")
	fs.StringVar(&f.Tool, "tool", "", "calls of the tool `NAME`")
	fs.StringVar(&l.kind, "kind", "", "calls of these kinds: `KIND[,KIND]`")
	fs.StringVar(&f.Text, "text", "", "calls with `TEXT` in their arguments or error line")
	fs.StringVar(&l.outcome, "outcome", "", "calls that ended so: `OUTCOME[,OUTCOME]`")
	fs.BoolVar(&l.failed, "failed", false, "calls that failed")
	fs.BoolVar(&f.Effects, "changed", false, "calls that may have changed something")
	fs.IntVar(&f.From, "from", 0, "from call number `N` on")
	fs.IntVar(&f.To, "to", 0, "up to call number `N`")
	fs.BoolVar(&l.files, "files", false, "list the changed files instead of the calls")
}

func (l *ledgerFlags) filter() (f ledger.Filter, err error) {
	f = l.choice
	names := func(list string) []string { return strings.Fields(strings.ReplaceAll(list, ",", " ")) }
	if f.Kinds, err = toolargs.Named[toolcall.CallKind](names(l.kind)); err == nil {
		f.Outcomes, err = toolargs.Named[toolcall.Outcome](names(l.outcome))
	}
	if err != nil {
		return f, term.UsageError("ledger: " + err.Error())
	}
	if l.failed {
		f.Outcomes = append(f.Outcomes, toolcall.Failed)
	}
	return f, nil
}

// parseTime reads a time, in the local zone unless it names another. An empty text sets nothing.
func parseTime(text string, at *time.Time) error {
	if text == "" {
		return nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		t, err := time.ParseInLocation(layout, text, time.Local)
		if err == nil {
			*at = t
			return nil
		}
	}
	return term.UsageError(fmt.Sprintf("%q is not a time: want 2006-01-02, 2006-01-02T15:04 or a time as in RFC 3339",
		text))
}

// keepPaths keeps the files that may match the filter's path.
func keepPaths(list []ledger.PathState, f ledger.Filter) []ledger.PathState {
	part := strings.Trim(f.Path, "*/")
	list = slices.DeleteFunc(list, func(s ledger.PathState) bool { return !strings.Contains(s.Path, part) })
	return append([]ledger.PathState{}, list...)
}

func (j *ledgerJSON) Print(p *term.Page) {
	p.Title(j.Source.File)
	if j.files {
		j.printFiles(p)
		return
	}
	about := term.Plural(len(j.Entries), "call")
	if len(j.Entries) < j.all {
		about = fmt.Sprintf("%s of %s", term.Thousands(len(j.Entries)), term.Plural(j.all, "call"))
	}
	if j.Filter.Effects {
		about += " (those that may have changed something)"
	}
	p.Line("%s", about)
	if len(j.Entries) == 0 {
		return
	}
	p.Line("")
	most, kind := 16, func(name string) string { return term.Pad(name, 8) }
	if !p.Whole && p.Width < 72 { // leave the room to the call itself
		most, kind = 10, func(string) string { return "" }
	}
	tool := min(max(term.Widest(j.Entries, func(e sessionfile.Entry) string { return e.Tool }), 4), most)
	ends := max(term.Widest(j.Entries, func(e sessionfile.Entry) string { return outcome(e.ResultFacts) }), 7)
	row := func(call, message any, of, by, end, newer string) string {
		by, end = term.Pad(p.Clip(by, tool), tool), term.Pad(end, ends)
		return fmt.Sprintf("%5v%8v  %s%s  %s  %5s  ", call, message, kind(of), by, end, newer)
	}
	p.Line("%s", p.Dim(row("call", "message", "kind", "tool", "outcome", "newer")+"what"))
	for _, e := range j.Entries {
		newer := ""
		if e.SupersededBy > 0 {
			newer = fmt.Sprint(e.SupersededBy)
		}
		line := row(e.Seq, e.Message, e.Kind.String(), e.Tool, outcome(e.ResultFacts), newer)
		clip := p.Clip
		if e.Command == "" && len(e.Paths) > 0 { // the name of a file is at its end
			clip = p.ClipMiddle
		}
		p.Line("%s", p.Clip(line+clip(term.OneLine(e.Args), max(p.Width-term.Columns(line), 12)), p.Width))
		if e.ErrorLine != "" && e.Outcome == toolcall.Failed {
			indent := 5 + 8 + 2 + len(kind(""))
			p.Line("%s%s", strings.Repeat(" ", indent), p.Dim(p.Clip("└ "+term.OneLine(e.ErrorLine), p.Width-indent)))
		}
	}
}

func outcome(r toolcall.ResultFacts) string {
	if r.ExitCode != nil && *r.ExitCode != 0 {
		return fmt.Sprintf("exit %d", *r.ExitCode)
	}
	return r.Outcome.String()
}

func (j *ledgerJSON) printFiles(p *term.Page) {
	p.Line("%s changed, %s only read", term.Plural(len(j.Changed), "file"), term.Thousands(len(j.ReadOnly)))
	if len(j.Changed) == 0 {
		return
	}
	p.Line("")
	p.Line("%s", p.Dim(fmt.Sprintf("  %-8s%7s%7s%7s  file", "now", "times", "first", "last")))
	for _, f := range j.Changed {
		state := "edited"
		if f.State == toolcall.CallDelete {
			state = "deleted"
		} else if f.Created || f.State == toolcall.CallCreate {
			state = "created"
		}
		line := fmt.Sprintf("  %-8s%7d%7d%7d  ", state, f.Count, f.First, f.Last)
		path := f.Path
		if f.Source != "" {
			path += " (from " + f.Source + ")"
		}
		p.Line("%s%s", line, p.ClipMiddle(term.OneLine(path), p.Width-term.Columns(line)))
	}
}
