package fold

import (
	"context"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/fault"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// Draft is a set of folds that levers are choosing: those in force now, and those that the
// levers have added. It belongs to one plan and changes nothing else. Its methods take a place
// outside of the conversation for its nearest end.
type Draft struct {
	Source  Source  // the conversation; Source.Block reads a block, and [transcript.BlockText] is its text
	Trigger Trigger // why the plan is made
	Focus   string  // what matters most to whoever asked; empty: nothing in particular
	Limits  Limits  // the budget in tokens
	Goal    int     // levers stop when the view has at most so many tokens; 0: they go as far as they can
	From    int     // with TriggerPays: levers leave results before this message alone
	Child   bool    // the session is a sub-agent's
	Before  int     // tokens of the view in force
	Epochs  []int   // lengths that the transcript had at the epochs in force, oldest first

	Keep   map[transcript.BlockRef]bool // results that stay whole for the rest of the draft
	Reread []string                     // files that are read again after every epoch: pages restore them first

	o      PlanOptions
	p      *Policy
	lay    Layout
	facts  transcript.Facts
	turn   int    // where the turn begins that the newest results belong to; see Layout.openTurn
	seen   int    // the messages before it count as seen by a model
	unseen bool   // results that no model has seen may be folded too
	safe   []bool // places where a cut splits no round; see Layout.Safe
	whole  []bool // the same for the transcript without folds
	total  int    // tokens of the view, head included
	added  []*Fold
	steps  []pulled                  // the levers that have changed the view
	made   made                      // those added
	spans  map[transcript.Place]Fold // what Span has measured
	pages  pageState

	refused []refusal

	prompt, opening, head int // see Marks
}

func newDraft(src Source, in Set, p *Policy, o PlanOptions) *Draft {
	d := &Draft{
		Source: src, Trigger: o.Trigger, Focus: o.Focus, Limits: o.Limits, Goal: o.Limits.Red - 1, From: o.From,
		Child: o.Child, Epochs: o.Epochs, Keep: make(map[transcript.BlockRef]bool),
		o: o, p: p, facts: src.Facts(), seen: o.Seen, spans: make(map[transcript.Place]Fold),
		made: make(made),
		lay:  Layout{Source: src, Head: o.Head, Recall: o.Recall, ThinkFirst: o.ThinkFirst},
	}
	d.prompt, d.opening = d.facts.Prompt(), d.facts.Opening()
	if d.head = d.opening; p.FoldHead {
		d.head = d.prompt
	}
	d.lay.In = d.made.lendAll(in)
	parts, _ := d.lay.Parts()
	d.Before, d.total = parts.Total(), parts.Total()
	if o.Fresh {
		d.lay.In = d.made.lendAll(o.Born)
		parts, _ = d.lay.Parts()
		d.total = parts.Total()
	}
	bare := d.lay
	bare.In = Set{}
	d.safe, d.whole, d.turn = d.lay.Safe(), bare.Safe(), d.lay.openTurn()
	if o.Steps != nil || o.Trigger == TriggerIdle {
		d.Goal = 0
	}
	for _, f := range d.lay.In.spans {
		d.seal(f)
	}
	return d
}

func (d *Draft) pull(ctx context.Context, steps Steps) error {
	for _, l := range steps {
		was := d.total
		if err := d.ask(l, func() error { return l.Pull(ctx, d) }); err != nil {
			return err
		}
		if d.total != was {
			d.steps = append(d.steps, pulled{l.Name(), was, d.total, d.Limits.State(d.total)})
		}
	}
	return nil
}

// ask calls a method of a lever, unless the lever is barred.
func (d *Draft) ask(l Lever, call func() error) error {
	var name string
	err := fault.Of(l, func() error {
		if name = l.Name(); slices.Contains(d.o.Barred, name) {
			return nil
		}
		return call()
	})
	if err == nil {
		err = d.intact(name)
	}
	return err
}

// pullEvery pulls the steps of every turn, whatever else the plan is made for before a request.
func (d *Draft) pullEvery(ctx context.Context) error {
	if d.Trigger == TriggerAsked || d.Trigger == TriggerRefused {
		return nil
	}
	goal := d.Goal
	d.Goal = 0
	err := d.pull(ctx, d.p.EveryTurn)
	d.Goal = goal
	return err
}

// Clone returns a copy of the draft to try something on. Assign it back to keep the change.
func (d *Draft) Clone() *Draft {
	c := *d
	c.lay.In, c.safe, c.added = d.lay.In.clone(), slices.Clone(d.safe), slices.Clone(d.added)
	c.refused = slices.Clone(d.refused)
	return &c
}

// Unseen says what else may be folded although this session's model has not seen it.
type Unseen int

// What may be folded unseen.
const (
	Answered  Unseen = iota + 1 // in a fork: what an answer follows, which another session has shown
	AnyUnseen                   // results that no model has seen
)

// Allow lets levers fold what they otherwise must not, until the function that it returns is
// called. Nothing that no model has seen is folded if the limits are a guess and the view may
// fit as it is.
func (d *Draft) Allow(what Unseen) (end func()) {
	seen, unseen := d.seen, d.unseen
	switch what {
	case Answered:
		d.seen = max(d.seen, d.o.Answered)
	case AnyUnseen:
		d.unseen = d.unseen || d.o.Sure == 0 || d.total > d.o.Sure
	}
	return func() { d.seen, d.unseen = seen, unseen }
}

// FoldBlock replaces a block by a stub, if that makes the view smaller, and returns the fold,
// else nil. Blocks that may not be folded stay: thinking, images outside of results, what
// pleat does not know, the system prompt but for what a program put there, and results that no
// model has seen; see [Draft.Allow]. The stub of a call is its new input, a JSON object if that is
// what it was. [Plan].Refused says why a lever got nothing folded.
func (d *Draft) FoldBlock(ref transcript.BlockRef, l Lever, reason, stub string) *Fold {
	if fault.IsNil(l) {
		d.refuse("nil", noLever, ref.Message)
		return nil
	}
	if why := d.barsBlock(ref, stub); why != "" {
		d.refuse(l.Name(), why, ref.Message)
		return nil
	}
	bf := d.facts.Block(ref)
	before := int(bf.Tokens)
	if old := d.lay.In.Block(ref); old != nil {
		before = old.After
	}
	parts := Parts{Stubs: d.Count(stub)}
	if bf.Empty || parts.Total() >= before {
		return nil
	}
	f := d.add(&Fold{
		Handle: bf.Handle.String(), Lever: l.Name(), Reason: reason,
		Start: ref.Message, End: ref.Message + 1, Block: ref.Block, Stub: stub,
		Before: before, After: parts.Total(), Hash: bf.Hash, Bytes: int(bf.Bytes), Lines: int(bf.Lines), Parts: parts,
	})
	d.lay.In.Replace(f)
	d.total += f.After - before
	return f
}

func (d *Draft) add(f *Fold) *Fold {
	f.ID = d.o.Folds + len(d.added) + 1
	d.added = append(d.added, f)
	d.made[f] = *f
	return f
}

// live lists the added folds that no later one replaced.
func (d *Draft) live() []*Fold {
	return slices.DeleteFunc(slices.Clone(d.added), func(f *Fold) bool { return !d.lay.In.has(f) })
}

// Show shows more of a folded block, if the view still meets the goal then and does not become
// red: another stub, or, if that is empty, all of it, down to the stub that it was born with.
// It reports whether it did. A lever that a program pulls by itself sets a goal first, or there is none.
func (d *Draft) Show(ref transcript.BlockRef, stub string) bool {
	f := d.lay.In.Block(ref)
	if f == nil {
		return false
	}
	full := int(d.facts.Block(ref).Tokens)
	room := min(d.Goal, d.Limits.Red-1) - d.total + f.After
	if stub != "" {
		if text.Blank(stub) {
			return false
		}
		more := *f
		more.Stub, more.Parts = stub, Parts{Stubs: d.Count(stub)}
		more.After = more.Parts.Total()
		if more.After <= f.After || more.After >= full || more.After > room {
			return false
		}
		d.lay.In.Replace(d.add(&more))
		d.total += more.After - f.After
		return true
	}
	born := d.o.Born.Block(ref)
	if born != nil {
		full = born.After
	}
	if full > room || d.lay.late(ref) {
		return false
	}
	d.total += full - f.After
	if d.lay.In.remove(ref); born != nil {
		d.lay.In.Replace(d.made.lend(born))
	}
	return true
}

// DropThinking shows messages before i without thinking.
func (d *Draft) DropThinking(i int) {
	i = min(i, d.len())
	if d.o.NoSpans || i <= d.lay.In.Bare {
		return // a message may have nothing but thinking
	}
	old := d.lay.In.Bare
	before := d.shownIn(old, i)
	d.lay.In.Bare = i
	d.total += d.shownIn(old, i) - before
}

// Stub returns the stub of a folded result: in the given format ({tool}, {call_id},
// {tokens}, {handle}), or pleat's own with a note, a sentence without its full stop, if the
// format is empty. The format is a setting: what a tool said does not belong into it.
func (d *Draft) Stub(ctx context.Context, ref transcript.BlockRef, format, note string) (string, error) {
	if !d.has(ref) {
		return "", fmt.Errorf("write stub: message %d has no block %d", ref.Message, ref.Block)
	}
	bf := d.facts.Block(ref)
	tool := "tool"
	s := stub{
		lines: int(bf.Lines), bytes: int(bf.Bytes), handle: bf.Handle.String(), recall: d.o.Recall, note: note,
		cut: d.lay.In.Block(ref) != nil,
	}
	if bf.Call > 0 {
		e := d.Source.Ledger().Entry(int(bf.Call))
		tool, s.args, s.outcome, s.ok = e.Tool, e.Args, e.OutcomeText(), wentWell(e)
	}
	if format != "" {
		return d.formatted(ctx, ref, format, tool)
	}
	s.tool = tool
	return s.text(d.Count), nil
}

// wentWell reports whether the call ran something that succeeded by its own exit code.
func wentWell(e ledger.Entry) bool {
	return e.Kind == toolcall.CallRun && e.Outcome == toolcall.Succeeded && !e.Filtered
}

// Recall returns how a stub says to get content back; empty: it does not say. A block's handle
// is among its facts, a stretch's in what [Draft.Span] returns.
func (d *Draft) Recall(handle string) string {
	if d.o.Recall == nil {
		return ""
	}
	return d.o.Recall(handle)
}
