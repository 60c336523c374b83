package sessionfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// Overview reads a session once and adds up what show prints.
func Overview(f *File, most int, tell *term.Progress) (*overviewJSON, error) {
	b := overviewBuilder{
		o: &overviewJSON{
			Format: "pleat/show/1", Source: f.Source(), Compactions: []compactionJSON{},
			Largest: []blockShare{}, Tools: []toolShare{}, View: f.view,
		},
		count:  tokens.NewTokenizer(f.Model, nil),
		kinds:  make(map[string]*Share),
		tools:  make(map[string]*toolShare),
		f:      f,
		most:   most,
		ledger: &ledger.Ledger{},
	}
	b.o.Tokens.Model = f.Model.ID
	b.o.Messages.Sidechain, b.o.Messages.Abandoned = f.Info.Sidechain, f.Info.Abandoned
	head := f.head
	if f.Info.System != "" {
		head.System = b.count.CountText(f.Info.System)
	}
	if len(f.Info.Tools) > 0 {
		head.Tools = b.count.CountTools(f.Info.Tools)
	}
	b.beside("system prompt", head.System)
	b.beside(toolsBeside, head.Tools)
	if f.view != nil {
		b.beside("added by the provider", f.view.added)
	}
	for _, s := range b.o.Tokens.Beside {
		b.gauge.Head += s.Tokens
	}
	i := 0
	for rec, err := range f.Records() {
		if err != nil {
			return nil, err
		}
		b.message(i, rec)
		i++
		tell.Share(i, f.Count, "counting messages")
	}
	if rec := (sessionlog.Record{Usage: f.last}); f.last != nil {
		b.usage(rec)
		b.gauge.Add(i, rec, 0, nil)
	}
	if f.view != nil { // as the numbers below add up
		f.view.Whole = b.o.Tokens.All + b.gauge.Head
	}
	for _, r := range f.tally.Spent {
		if b.o.Recorded += r.USD; r.Unpriced {
			b.o.unpriced++
		}
	}
	b.o.USD += b.o.Recorded
	b.finish()
	return b.o, nil
}

type overviewBuilder struct {
	o      *overviewJSON
	f      *File
	most   int
	count  *tokens.Tokenizer
	kinds  map[string]*Share
	tools  map[string]*toolShare
	ledger *ledger.Ledger

	gauge    library.Gauge
	inRound  bool // only the assistant has spoken since the last round's first call
	thought  int  // tokens of thinking since the last report
	answered int  // tokens of the model's answers since the last report
	hidden   int  // tokens of reasoning that the log does not hold
}

// named returns the value under a name, and adds one if there is none.
func named[T any](m map[string]*T, name string) *T {
	if m[name] == nil {
		m[name] = new(T)
	}
	return m[name]
}

func (b *overviewBuilder) kind(name string, tokens int) {
	k := named(b.kinds, name)
	k.Blocks++
	k.Tokens += tokens
	b.o.Tokens.All += tokens
}

// toolsBeside are the tools among what requests have beside the messages.
const toolsBeside = "tool definitions"

// beside counts what requests have beside the messages.
func (b *overviewBuilder) beside(name string, tokens int) {
	if tokens > 0 {
		b.o.Tokens.Beside = append(b.o.Tokens.Beside, Share{Name: name, Blocks: 1, Tokens: tokens})
	}
}

func (b *overviewBuilder) message(i int, rec sessionlog.Record) {
	b.times(rec.Time)
	m, c := rec.Message, &b.o.Messages
	c.All++
	answer := m.Role() == transcript.RoleAssistant
	if called := answer && m.Blocks().Has(transcript.KindToolCall); !answer || called {
		if called && !b.inRound {
			b.o.Rounds++
		}
		b.inRound = called
	}
	switch role := m.Role(); {
	case answer:
		c.Assistant++
	case role == transcript.RoleTool, role == transcript.RoleUser && m.Blocks().Has(transcript.KindToolResult):
		c.Tool++
	case role == transcript.RoleUser:
		c.User++
	default:
		c.System++
	}
	if _, typed := userwords.TypedText(m); typed {
		c.Typed++
	}
	before := b.o.Tokens.All
	for j, blk := range m.Blocks().All() {
		b.block(transcript.BlockRef{Message: i, Block: j}, m, blk, rec.Line)
	}
	if answer {
		b.answered += b.o.Tokens.All - before
	}
	b.usage(rec)
	tokens := b.count.CountMessage(m)
	if around := tokens - (b.o.Tokens.All - before); around > 0 {
		b.kind("message overhead", around)
	}
	b.gauge.Add(i, rec, tokens, b.f.Info.Compactions)
}

// usage takes what a provider reported for the request that a record answers. Reasoning that
// the log does not hold is known only from there. Versions of Claude Code log the usage before
// the answer is complete; then the answer itself says more.
func (b *overviewBuilder) usage(rec sessionlog.Record) {
	if rec.Usage == nil || rec.Usage.Prompt() == 0 {
		return
	}
	u := *rec.Usage
	b.hidden += max(u.Reasoning-b.thought, 0)
	if b.f.Info.Format == sessionlog.ClaudeCode && u.Output < (b.answered-b.thought)/2 {
		r := library.Request{Model: cmp.Or(rec.Model, b.f.Info.Model), Usage: u}
		counted, _ := r.Cost()
		r.Usage.Output = b.answered
		more, _ := r.Cost()
		b.o.USD += more - counted
	}
	b.thought, b.answered = 0, 0
}

func (b *overviewBuilder) times(t time.Time) {
	if t.IsZero() {
		return
	}
	if b.o.Begin == nil || t.Before(*b.o.Begin) {
		b.o.Begin = &t
	}
	if b.o.End == nil || t.After(*b.o.End) {
		b.o.End = &t
	}
}

func (b *overviewBuilder) compactions() {
	for _, c := range b.f.Info.Compactions {
		j := compactionJSON{
			Before: c.At + 1, Line: c.Line, Trigger: c.Trigger, Tokens: c.PreTokens, Partial: c.Partial,
			Opaque: c.Opaque,
		}
		if c.Summary != "" {
			j.Summary = b.count.CountText(c.Summary)
		}
		b.o.Compactions = append(b.o.Compactions, j)
	}
}

func (b *overviewBuilder) block(ref transcript.BlockRef, m transcript.Message, blk transcript.Block, line int) {
	tokens := b.count.CountBlock(blk)
	kind, what := kindOf(m, blk), ""
	switch blk := blk.(type) {
	case transcript.ToolCall:
		facts := toolcall.DescribeCall(blk)
		b.ledger.Call(ref, blk.ID, facts)
		b.tool(blk.Name, tokens, 0).Calls++
		what = blk.Name + " " + facts.Args
	case transcript.ToolResult:
		what = "answers no call"
		if n := b.ledger.Waiting(blk.CallID); n > 0 {
			facts := b.ledger.Entry(n).CallFacts
			result := toolcall.DescribeResult(facts, blk)
			b.ledger.Result(ref, blk.CallID, result)
			what = facts.Tool + " " + facts.Args
			if t := b.tool(facts.Tool, tokens, tokens); result.Outcome == toolcall.Failed {
				t.Failed++
			}
		}
	case transcript.Thinking:
		b.thought += tokens
		what = DescribeBlock(blk).Text
	default:
		d := DescribeBlock(blk)
		what = d.Text + d.Type
	}
	b.kind(kind, tokens)
	b.keepLargest(blockShare{ref.Message + 1, line, kind, what, tokens})
}

// keepLargest keeps the largest blocks so far, largest first, and the earlier of equals.
func (b *overviewBuilder) keepLargest(s blockShare) {
	list := b.o.Largest
	at := slices.IndexFunc(list, func(x blockShare) bool { return x.Tokens < s.Tokens })
	if at < 0 {
		at = len(list)
	}
	if at == b.most {
		return
	}
	if dir := b.f.Info.Dir; dir != "" {
		s.What = strings.ReplaceAll(s.What[:min(len(s.What), 2_000)], strings.TrimSuffix(dir, "/")+"/", "")
	}
	s.What = strings.Clone(term.Clip(term.OneLine(s.What), 200))
	list = slices.Insert(list, at, s)
	b.o.Largest = list[:min(len(list), b.most)]
}

func (b *overviewBuilder) tool(name string, tokens, results int) *toolShare {
	t := named(b.tools, name)
	t.Tokens += tokens
	t.Results += results
	return t
}

// kindNames are the kinds of blocks for people. Text is divided further: see kindOf.
var kindNames = map[transcript.Kind]string{
	transcript.KindThinking: "thinking", transcript.KindToolCall: "tool calls",
	transcript.KindToolResult: "tool results", transcript.KindImage: "images", transcript.KindOpaque: "other",
}

func kindOf(m transcript.Message, blk transcript.Block) string {
	switch {
	case kindNames[blk.Kind()] != "":
		return kindNames[blk.Kind()]
	case m.Role() == transcript.RoleAssistant:
		return "assistant text"
	case m.Origin() == transcript.OriginSummary:
		return "summaries"
	case m.Role() == transcript.RoleSystem || m.Role() == transcript.RoleDeveloper:
		return "system messages"
	}
	if _, typed := userwords.TypedText(m); typed {
		return "user text"
	}
	return "injected text"
}

func (b *overviewBuilder) finish() {
	b.compactions()
	b.beside("thinking that the file does not have", b.hidden)
	for name, k := range b.kinds {
		k.Name = name
		b.o.Tokens.ByKind = append(b.o.Tokens.ByKind, *k)
	}
	slices.SortFunc(b.o.Tokens.ByKind, func(x, y Share) int {
		return cmp.Or(cmp.Compare(y.Tokens, x.Tokens), cmp.Compare(x.Name, y.Name))
	})
	for name, t := range b.tools {
		t.Name = name
		b.o.Tools = append(b.o.Tools, *t)
	}
	slices.SortFunc(b.o.Tools, func(x, y toolShare) int {
		return cmp.Or(cmp.Compare(y.Tokens, x.Tokens), cmp.Compare(x.Name, y.Name))
	})
	b.o.toolCount = len(b.o.Tools)
	b.o.Tools = b.o.Tools[:min(len(b.o.Tools), b.most)]
	b.o.Calls.All = b.ledger.Len()
	for _, n := range b.ledger.Counts(ledger.Filter{}).Outcomes {
		switch n.Name {
		case toolcall.Failed.String():
			b.o.Calls.Failed = n.Count
		case toolcall.Unanswered.String():
			b.o.Calls.Unanswered = n.Count
		}
	}
	w := &b.o.Window
	seen := b.gauge.Read(b.f.Info, b.f.Model, b.f.known)
	w.Prompts = append([]int{}, seen.Requests...)
	w.Reported, w.Largest, w.Size = seen.Reported, seen.Largest, seen.Size
	if m := b.f.Model.Window; b.f.known && m > w.Size {
		from := "the file says"
		switch b.f.Info.Format {
		case sessionlog.ClaudeCode:
			from = "it compacted by itself below that"
		case stored:
			from = "as it was opened"
		}
		w.why = fmt.Sprintf(" (%s; the model's is %s)", from, term.Short(m))
	}
}
