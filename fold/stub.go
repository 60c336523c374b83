package fold

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/transcript"
)

// Expand fills in a stub's format. The pairs are names in braces, such as {tool} or
// {handle}, and their values.
func Expand(format string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(format)
}

// Stub returns the stub of a folded result: in the given format ({tool}, {call_id},
// {tokens}, {handle}), or pleat's own with a note if the format is empty.
func (d *Draft) Stub(ref transcript.BlockRef, format, note string) string {
	bf := d.Facts(ref)
	var e ledger.Entry
	tool := "tool"
	if bf.Call > 0 {
		e = d.s.Ledger.Entry(int(bf.Call))
		tool = e.Tool
	}
	if format != "" {
		r, _ := d.Block(ref).(transcript.ToolResult)
		return Expand(format, "{tool}", tool, "{call_id}", r.CallID, "{tokens}", strconv.Itoa(int(bf.Tokens)), "{handle}", bf.Name.String())
	}
	return stub{
		tool: tool, args: e.Args, outcome: e.OutcomeText(), ok: e.WentWell(), lines: int(bf.Lines), bytes: int(bf.Bytes),
		handle: bf.Name.String(), recall: d.recallOf(bf), note: note, cut: d.Folded(ref) != nil,
	}.text(d.Count)
}

// Recall returns how a stub says to get content back; empty: it does not say.
func (d *Draft) Recall(handle string) string {
	if d.s.Recall == nil {
		return ""
	}
	return d.s.Recall(handle)
}

// recallOf returns how a stub says to get a result back.
func (d *Draft) recallOf(bf *conv.BlockFacts) func(handle string) string {
	if d.echo == nil {
		return d.s.Recall
	}
	return d.echo(bf, d.s.Recall)
}

func (s *Folding) maskable(ref transcript.BlockRef, exempt []string, in Folded) bool {
	bf := &s.Facts[ref.Message].Blocks[ref.Block]
	if old := in.blocks[ref]; bf.Fixed || old != nil && old.After <= StubTokens {
		return false // what was spilled or shortened may still lose its preview
	}
	return bf.Call == 0 || !slices.Contains(exempt, s.Ledger.Entry(int(bf.Call)).Tool)
}

// MaskSaves returns how many tokens a stub in place of a result saves; 0: the result may
// not be folded, has fewer than least characters, or is hardly longer than a stub.
func (s *Folding) MaskSaves(ref transcript.BlockRef, least int, exempt []string) int {
	bf := &s.Facts[ref.Message].Blocks[ref.Block]
	if int(bf.Chars) < least || !s.maskable(ref, exempt, s.InUse) {
		return 0
	}
	tokens := int(bf.Tokens)
	if old := s.InUse.blocks[ref]; old != nil {
		tokens = old.After
	}
	return max(tokens-StubTokens, 0)
}

// stub is what the stub of a folded result is made from.
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
// large the result, how it ended, how to get it back, and that the call must not be
// repeated to see it. There is no clock in it, so that it is the same bytes forever.
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
		b.WriteString("; do not repeat it to see it")
		if s.recall != nil && s.handle != "" {
			b.WriteString(": " + s.recall(s.handle))
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
