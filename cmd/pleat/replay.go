package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/library"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// replayJSON is what "pleat compact --replay --json" prints.
type replayJSON struct {
	Format string             `json:"format"`
	Source sessionfile.Source `json:"source"`
	Policy string             `json:"policy"`
	Window int                `json:"window"`
	Before sideJSON           `json:"before"` // everything that was said
	After  sideJSON           `json:"after"`  // what the model would be shown at the end
	Epochs []epochJSON        `json:"epochs"`

	whats map[transcript.BlockRef]string
	all   bool // for people: list the folds of every epoch
}

type sideJSON struct {
	Messages int        `json:"messages"`
	Tokens   int        `json:"tokens"`
	Parts    fold.Parts `json:"parts"`
}

type epochJSON struct {
	Epoch   int                  `json:"epoch"`
	Message int                  `json:"message"` // opened before the answer that is this message, from 1
	Trigger fold.Trigger         `json:"trigger"`
	Before  int                  `json:"tokens_before"`
	After   int                  `json:"tokens_after"`
	Removed fold.Parts           `json:"removed"` // tokens; negative: added
	Levers  []library.LeverShare `json:"levers"`
	Folds   []sessionfile.Fold   `json:"folds"`
	Warning string               `json:"warning,omitempty"`

	folds []*fold.Fold
}

// replay sends a session through the engine as its agent would have, in a window of so many
// tokens.
func (c *compactFlags) replay(ctx context.Context, f *sessionfile.File, tell *term.Progress) (term.Result, error) {
	policy, err := sessionfile.LoadPolicy(c.fold.Policy)
	if err != nil {
		return nil, err
	}
	j := &replayJSON{
		Format: "pleat/replay/1", Source: f.Source(), Policy: policy.Name, Window: int(c.fold.Budget),
		Epochs: []epochJSON{}, all: c.all,
	}
	return j, j.fill(ctx, f, tell, policy)
}

func (j *replayJSON) fill(ctx context.Context, f *sessionfile.File, tell *term.Progress, policy fold.Policy) error {
	var before fold.Snapshot
	at := 0
	opts := f.Options()
	opts.Policy, opts.Budget = policy, fold.Budget{Window: j.Window}
	opts.Tokens = library.Counter(policy, f.Model)
	opts.Observe = func(_ context.Context, _ store.SessionKey, e pleat.Event) {
		switch e.Kind {
		case pleat.EventSnapshot:
			before = *e.Snapshot
		case pleat.EventEpoch:
			j.Epochs = append(j.Epochs, epochOf(e, before, at))
		}
	}
	s, err := pleat.OpenSession(ctx, store.NewMemory(), f.Key(), &opts)
	if err != nil {
		return err
	}
	answering := false
	for rec, err := range f.Records() {
		if err != nil {
			return err
		}
		at++
		answer := rec.Message.Role() == transcript.RoleAssistant
		if answer && !answering && at > 1 { // a request went before the answer
			if _, err := s.View(ctx, pleat.Turn{}); err != nil {
				return fmt.Errorf("replay %s: before message %d: %w", f.Name, at, err)
			}
		}
		answering = answer
		if err := s.Append(ctx, rec.Message); err != nil {
			return err
		}
		tell.Share(at, f.Count, "replaying messages")
	}
	at = f.Count + 1
	v, err := s.View(ctx, pleat.Turn{})
	if err != nil {
		return fmt.Errorf("replay %s: %w", f.Name, err)
	}
	whole, err := wholeParts(ctx, f, opts, tell)
	if err != nil {
		return err
	}
	snap := s.Snapshot()
	j.Before = sideJSON{f.Count, whole.Total(), whole}
	j.whats = library.Whats(s)
	j.After = sideJSON{len(v.Messages), snap.Parts.Total(), snap.Parts}
	return nil
}

// wholeParts counts the parts of the session with nothing folded.
func wholeParts(ctx context.Context, f *sessionfile.File, opts pleat.Options, tell *term.Progress) (fold.Parts, error) {
	opts.Policy, opts.Budget, opts.Observe = policy.None(), library.Fit(1<<40), nil
	s, err := pleat.OpenSession(ctx, store.NewMemory(), f.Key(), &opts)
	if err != nil {
		return fold.Parts{}, err
	}
	if err := f.AppendTo(ctx, s, 0, tell); err != nil {
		return fold.Parts{}, err
	}
	return s.Snapshot().Parts, nil
}

func epochOf(e pleat.Event, before fold.Snapshot, at int) epochJSON {
	j := epochJSON{
		Epoch: e.Plan.Epoch, Message: at, Trigger: e.Plan.Trigger, Before: e.Plan.Before, After: e.Plan.After,
		Levers: library.ByLever(e.Plan.Folds), Folds: sessionfile.Folds(e.Plan.Folds),
		Warning: e.Plan.Warning, folds: e.Plan.Folds,
	}
	if e.Snapshot != nil {
		j.Removed = before.Parts.Sub(e.Snapshot.Parts)
	}
	return j
}

func (j *replayJSON) Print(p *term.Page) {
	p.Title(j.Source.File)
	p.Line("policy %s in a window of %s tokens: %s", j.Policy, term.Thousands(j.Window),
		term.Plural(len(j.Epochs), "epoch"))
	if len(j.Epochs) > 0 {
		p.Hang("", notStored)
		p.Head("Epochs", "")
		p.Line("%s",
			p.Dim(fmt.Sprintf("%5s%9s  %-8s%9s%9s  what it removed", "epoch", "message", "why", "before", "after")))
	}
	for _, e := range j.Epochs {
		line := fmt.Sprintf("%5d%9d  %-8s%9s%9s  ", e.Epoch, e.Message, e.Trigger, term.Thousands(e.Before),
			term.Thousands(e.After))
		p.Line("%s%s", line, p.Clip(removed(e.Removed), p.Width-term.Columns(line)))
		if e.Warning != "" {
			p.Line("       warning: %s", e.Warning)
		}
		if j.all {
			printFolds(p, e.folds, "     ", j.whats)
			p.Line("")
		}
	}
	for _, why := range whys(j.Epochs) {
		p.Line("%s", p.Dim(why))
	}
	p.Head("Before and after", "")
	j.printSides(p)
}

func whys(epochs []epochJSON) (list []string) {
	for _, e := range epochs {
		if why := fmt.Sprintf("%s: %s", e.Trigger, library.Triggers[e.Trigger]); !slices.Contains(list, why) {
			list = append(list, why)
		}
	}
	return list
}

// removed says what an epoch took away, largest first.
func removed(parts fold.Parts) string {
	var list []string
	names := sessionfile.PartNames(parts)
	slices.SortStableFunc(names, func(a, b sessionfile.Share) int { return cmp.Compare(b.Tokens, a.Tokens) })
	for _, n := range names {
		if n.Tokens > 0 {
			list = append(list, term.Short(n.Tokens)+" "+n.Name)
		}
	}
	return strings.Join(list, ", ")
}

func (j *replayJSON) printSides(p *term.Page) {
	before, after := sessionfile.PartNames(j.Before.Parts), sessionfile.PartNames(j.After.Parts)
	most := 1
	for i := range before {
		most = max(most, before[i].Tokens, after[i].Tokens)
	}
	const name = 18
	room := max((p.Width-2-name-2*11-1)/2, 0)
	p.Line("%s", p.Dim(fmt.Sprintf("  %s%11s%s%11s", term.Pad("tokens", name), "before", strings.Repeat(" ", room+1),
		"after")))
	for i := range before {
		if before[i].Tokens == 0 && after[i].Tokens == 0 {
			continue
		}
		line := fmt.Sprintf("  %s%11s %s%11s %s", term.Pad(before[i].Name, name), term.Thousands(before[i].Tokens),
			term.Bar(before[i].Tokens, most, room), term.Thousands(after[i].Tokens),
			term.Bar(after[i].Tokens, most, room))
		p.Line("%s", strings.TrimRight(line, " "))
	}
	p.Line("  %s%11s%s%11s", term.Pad("all", name), term.Thousands(j.Before.Tokens), strings.Repeat(" ", room+1),
		term.Thousands(j.After.Tokens))
	p.Line("  %s%11s%s%11s", term.Pad("messages", name), term.Thousands(j.Before.Messages), strings.Repeat(" ", room+1),
		term.Thousands(j.After.Messages))
}
