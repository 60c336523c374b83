package fold

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// Expand fills in a stub's format. The pairs are names in braces, such as {tool} or
// {handle}, and their values.
func Expand(format string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(format)
}

// formatted fills in a policy's own stub for a result.
func (d *Draft) formatted(ctx context.Context, ref transcript.BlockRef, format, tool string) (string, error) {
	bf, id := d.facts.Block(ref), ""
	if strings.Contains(format, "{call_id}") {
		b, err := d.Source.Block(ctx, ref)
		if err != nil {
			return "", err
		}
		r, _ := b.(transcript.ToolResult)
		id = r.CallID
	}
	tokens := strconv.Itoa(int(bf.Tokens))
	return Expand(format, "{tool}", tool, "{call_id}", id, "{tokens}", tokens, "{handle}", bf.Handle.String()), nil
}

// Result is what levers that fold single results see of one.
type Result struct {
	*transcript.BlockFacts
	Fold *Fold // in force in its place, for reading only; nil: none
	call toolcall.CallFacts
}

// Result returns what is known of the result at a position.
func (l *Layout) Result(ref transcript.BlockRef) Result {
	r := Result{BlockFacts: l.Facts().Block(ref), Fold: l.In.Block(ref)}
	if r.Call > 0 {
		r.call = l.Ledger().Entries[r.Call-1].CallFacts
	}
	return r
}

// Maskable reports whether the result may be folded; see [Draft.Maskable].
func (r *Result) Maskable(exempt []string) bool {
	return !r.Fixed && (r.Fold == nil || r.Fold.After > StubTokens) && !r.call.IsOneOf(exempt)
}

// Shown returns the tokens that the view spends on the result.
func (r *Result) Shown() int {
	if r.Fold != nil {
		return r.Fold.After
	}
	return int(r.Tokens)
}

type stub struct {
	tool, args string
	outcome    string // "exit 1", "failed: first error line"
	ok         bool   // it went well; the arguments are clipped to make room for that, since the call has them
	lines      int
	bytes      int
	handle     string
	recall     func(handle string) string
	note       string // what else is to be said, such as what superseded it
	cut        bool   // no model has seen all of it
}

// StubTokens is how many tokens pleat's own stub aims at, its preview aside.
const StubTokens = 60

const saidOK = "It ended: ok. "

// text renders the stub. It says that the call happened and was seen, what it was, how
// large the result, how it ended and, where there is a way, how to get it back: only then is
// there no need to repeat the call to see it. There is no clock in it, so that it is the same bytes forever.
func (s stub) text(count func(string) int) string {
	for room := 120; ; room -= 30 {
		var b strings.Builder
		b.WriteString("[folded: ")
		b.WriteString(s.tool)
		if args := text.ClipPath(s.args, room); args != "" {
			b.WriteString(" ")
			b.WriteString(args)
		}
		fmt.Fprintf(&b, ", %s, %s. ", text.Plural(s.lines, "line"), text.Plural(s.bytes, "byte"))
		if out := text.Clip(s.outcome, room); out != "" {
			b.WriteString("It ended: " + out + ". ")
		}
		if s.ok {
			b.WriteString(saidOK)
		}
		if s.note != "" {
			b.WriteString(s.note + ". ")
		}
		b.WriteString("Done")
		if !s.cut {
			b.WriteString(" and seen")
		}
		if s.recall != nil && s.handle != "" {
			b.WriteString("; do not repeat it to see it: " + s.recall(s.handle))
		}
		b.WriteString("]")
		text := b.String()
		if s.ok && room <= 0 && count(text) > StubTokens {
			text = strings.Replace(text, ". "+saidOK, ". ", 1)
		}
		if room <= 0 || count(text) <= StubTokens {
			return text
		}
	}
}
