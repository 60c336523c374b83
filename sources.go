package pleat

import (
	"strings"
)

// source is a text from which lines of a page are taken, with what it is worth.
type source struct {
	*minedPart
	ref     BlockRef
	sub     int // which text of the block
	handle  string
	call    int     // number of the ledger's entry, 0: none
	label   string  // file or command it is about
	answers int     // what the assistant said to the user: the message that it answers; else -1
	weight  float32 // of everything in it
	taken   float32 // tokens of it that are on the page
}

// text returns the source's text. If it was damaged in the store since it was mined, there
// are spaces where its lines were.
func (in *pageInput) text(s *source) string {
	text, end := "", 0
	if parts := in.s.textsOf(s.ref); s.sub < len(parts) {
		text = parts[s.sub].text
	}
	if n := len(s.lines); n > 0 {
		end = int(s.lines[n-1].end)
	}
	for _, u := range s.units {
		end = max(end, u.end)
	}
	return text + strings.Repeat(" ", max(end-len(text), 0))
}

// group is equal for sources whose lines stand together: a message's blocks, the reads of
// a file, the runs of a command.
func (s *source) group() string {
	if s.kind.prose() || s.kind == fromProgram {
		return s.handle
	}
	return s.label
}

type sourceKind uint8

const (
	fromAssistant sourceKind = iota // what the assistant said
	fromThinking                    // what it thought
	fromSummary                     // another agent's summary of what it compacted away
	fromAgent                       // a child agent's report
	fromChange                      // what a call put into a file
	fromRemoval                     // what a call took out of a file
	fromResult                      // what a tool answered
	fromProgram                     // what a program put into a user message
)

// prose reports whether the source is written in sentences.
func (k sourceKind) prose() bool { return k <= fromAgent }

// change reports whether the source is old or new text of a file: what changed has its own
// section of the page.
func (k sourceKind) change() bool { return k == fromChange || k == fromRemoval }

// sourceWeights: what is worth how much, all else being equal. What the assistant says
// tells what its work came to; a line of a file is one call away. Thinking holds reasons,
// but also what was given up a line later.
var sourceWeights = [...]float32{
	fromAssistant: 1, fromThinking: 0.2, fromSummary: 1.5, fromAgent: 0.6,
	fromResult: 0.2, fromProgram: 0.2,
}

const (
	finalWeight = 2   // what is said to the user, against what is said on the way
	staleWeight = 0.4 // what a later call made stale; and tests, against what they test
)

// sources lists the texts of the folded stretch, in order.
func (in *pageInput) sources() []source {
	var list []source
	turn := -1 // the message that began the present turn
	for i := range in.start {
		if in.s.facts[i].typed {
			turn = i
		}
	}
	working := in.working()
	span := float32(max(in.end-in.start, 1))
	for i := in.start; i < in.end; i++ {
		f := &in.s.facts[i]
		if f.typed {
			turn = i
		}
		if i < in.mined {
			continue
		}
		for b := range f.blocks {
			n := len(list)
			list = in.blockSources(list, BlockRef{i, b})
			for k := n; k < len(list); k++ {
				s := &list[k]
				s.weight *= sourceWeights[s.kind] * (0.7 + 0.5*float32(i-in.start)/span) // the newer, the likelier to be needed
				if s.kind == fromAssistant && !working[i-in.start] {
					s.answers, s.weight = turn, s.weight*finalWeight
				}
			}
		}
	}
	return list
}

// working tells for each message of the stretch whether it belongs to a round: what the
// assistant says outside of rounds is said to the user.
func (in *pageInput) working() []bool {
	work := make([]bool, in.end-in.start)
	for r := range in.s.t.allRounds() {
		for i := max(r.Start, in.start); i < min(r.End, in.end); i++ {
			work[i-in.start] = true
		}
	}
	return work
}

// blockSources appends what a block gives, as far as it still counts: not what failed to
// be written, and less of what is stale.
func (in *pageInput) blockSources(list []source, ref BlockRef) []source {
	bf := &in.s.facts[ref.Message].blocks[ref.Block]
	src := source{ref: ref, handle: bf.name.String(), call: int(bf.call), answers: -1, weight: 1}
	if bf.call > 0 {
		e := in.s.ledger.Entry(int(bf.call))
		switch {
		case !counts(bf.kind, &e):
			return list
		case bf.kind == KindToolResult && e.SupersededBy > 0:
			src.weight = staleWeight
		}
		src.label = callSubject(&e)
	}
	parts := in.s.mine(ref)
	for k := range parts {
		one := src
		one.minedPart, one.sub = &parts[k], k
		if l := parts[k].label; l != "" {
			one.label = l
		}
		if isTestFile(one.label) {
			one.weight = staleWeight
		}
		if len(parts[k].lines) > 0 && parts[k].kind != fromRemoval {
			list = append(list, one)
		}
	}
	return list
}

// counts reports whether a call, or its result, is a source: not what failed to be
// written, nor what other sections tell.
func counts(kind Kind, e *LedgerEntry) bool {
	if kind == KindToolCall {
		return e.effective()
	}
	return e.Outcome != Succeeded || !isFileCall(e) && (!publishes(e) || e.Lines > 20)
}

// publishes reports whether a call makes the work known to others: commits, pushes, pull
// requests, messages. Its short answer holds the id that later work refers to.
func publishes(e *LedgerEntry) bool {
	switch {
	case e.Harmless || e.Outcome != Succeeded:
		return false
	case e.Command == "":
		return e.Kind == CallNet
	case e.Kind == CallNet:
		return containsAny(e.Command, "git push", "gh ", "glab ", "curl ", "publish", "deploy", "scp ", "rsync ", "ssh ")
	}
	return containsAny(e.Command, "git commit", "git tag", "git merge", "git revert", "git cherry-pick")
}

// isQuiet names tools whose results say nothing that stands not elsewhere on the page.
func isQuiet(tool string) bool {
	switch name := plainName(tool); name {
	case "unfold", "search", "ledger", "note", "pin", "compact":
		return true
	default:
		return taskTools[name]
	}
}

// isChild names tools that run another agent and answer with its report.
func isChild(tool string) bool {
	switch plainName(tool) {
	case "task", "agent", "subagent", "spawnagent", "dispatchagent", "runsubagent", "delegate", "waitagent":
		return true
	}
	return false
}

// callSubject is what a call is about: its file, or its command.
func callSubject(e *LedgerEntry) string {
	switch {
	case e.Kind == CallRead && len(e.Paths) == 1 && !e.Paths[0].Some:
		return e.Paths[0].Path
	case e.Args != "":
		return oneLine(e.Args, 80)
	}
	return e.Tool
}
