package ledger

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// LedgerEntry is one tool call: what it was, what it touched, how it ended, what made it
// stale. Its JSON form is a documented contract.
type Entry struct {
	Seq    int                 `json:"seq"` // 1, 2, 3 … in the order of the calls
	Call   transcript.BlockRef `json:"-"`
	Result transcript.BlockRef `json:"-"` // meaningful unless Outcome is [Unanswered]

	toolcall.CallFacts
	toolcall.ResultFacts

	Handle       string `json:"handle,omitempty"`        // of the result, once it is folded
	SupersededBy int    `json:"superseded_by,omitempty"` // the call that made the result stale
}

// Effective reports whether the call changed what it set out to change, as far as can be
// told: it did not fail, or only some of its steps did.
func (e *Entry) Effective() bool {
	return e.Outcome != toolcall.Failed || e.Steps && e.ExitCode != nil
}

// Ledger is the record of all tool calls of a conversation. It is derived from the
// transcript by code alone: no model writes it, nothing summarizes it. Adding to it costs
// the same whatever its length. The zero value is an empty ledger. It is not safe for
// concurrent use.
//
// What a later call makes stale is superseded: its result need not be shown any longer.
// Reads are superseded by changes of the file and by reads that show at least as much;
// equal calls that only look, and equal commands, by the newest of them; failed commands
// by a later success, failed changes of a file by one that succeeds. A call that changed a
// file is never superseded.
type Ledger struct {
	Entries []Entry
	base    int              // Seq of the first entry, less 1
	open    map[string][]int // unanswered calls by id, oldest first, as indexes
	paths   PathTable
	files   map[int]*fileHistory // by path
	latest  map[string]int       // newest answered call by signature, as index
	failing map[string][]int     // failed runs by command, not mended yet, as indexes
	kept    map[int]bool         // reads that are no longer followed, as indexes
	rounds  []int                // number of the round of each entry
	turnAt  int                  // message of the newest call, less 1 if a result came since
}

// LedgerOf makes the ledger of a transcript.
func Of(t *transcript.Transcript) *Ledger {
	l := &Ledger{}
	for at, m := range t.All() {
		l.Add(at, m)
	}
	return l
}

// Add adds the calls and results of message at. Messages are added in order.
func (l *Ledger) Add(at int, m transcript.Message) {
	for i, b := range m.Blocks().All() {
		switch b := b.(type) {
		case transcript.ToolCall:
			l.Call(transcript.BlockRef{Message: at, Block: i}, b.ID, toolcall.DescribeCall(b))
		case transcript.ToolResult:
			if n := l.Waiting(b.CallID); n > 0 {
				l.Result(transcript.BlockRef{Message: at, Block: i}, b.CallID, toolcall.DescribeResult(l.Entry(n).CallFacts, b))
			}
		}
	}
}

// Len is the number of calls.
func (l *Ledger) Len() int { return len(l.Entries) }

// Entry returns the call with that number. There is one for each number from 1 to Len;
// in a ledger made by [Ledger.Between] for the numbers that lie in it.
func (l *Ledger) Entry(seq int) Entry { return l.Entries[seq-1-l.base] }

// Between returns the part of the ledger whose calls stand in messages start ≤ i < end.
// The entries keep their numbers. It can be asked and rendered, not added to.
func (l *Ledger) Between(start, end int) *Ledger {
	from, _ := slices.BinarySearchFunc(l.Entries, start, byMessage)
	to, _ := slices.BinarySearchFunc(l.Entries, end, byMessage)
	to = max(from, to)
	return &Ledger{Entries: l.Entries[from:to:to], base: l.base + from}
}

func byMessage(e Entry, message int) int {
	if e.Call.Message < message {
		return -1
	}
	return 1 // so that the search finds the first entry of the message
}

// Call adds a tool call. Calls are added in the order of the transcript.
func (l *Ledger) Call(ref transcript.BlockRef, id string, f toolcall.CallFacts) {
	if l.open == nil {
		l.open = make(map[string][]int)
		l.files = make(map[int]*fileHistory)
		l.latest = make(map[string]int)
		l.failing = make(map[string][]int)
		l.kept = make(map[int]bool)
	}
	i := len(l.Entries)
	round := 0
	if i > 0 {
		round = l.rounds[i-1]
		if ref.Message > l.turnAt+1 {
			round++
		}
	}
	l.turnAt = ref.Message
	l.Entries = append(l.Entries, Entry{Seq: i + 1, Call: ref, CallFacts: f})
	l.rounds = append(l.rounds, round)
	id = strings.Clone(id) // do not hold on to the message
	l.open[id] = append(l.open[id], i)
}

// Result adds the result of a call. It is bound to the newest unanswered call with its
// id; among calls of one round (calls in messages that follow one another) to the first.
// A result that answers no call is left out.
func (l *Ledger) Result(ref transcript.BlockRef, id string, f toolcall.ResultFacts) {
	l.turnAt = -2
	n := l.Waiting(id)
	if n == 0 {
		return
	}
	i := n - 1
	waiting := l.open[id]
	at := slices.Index(waiting, i)
	if waiting = slices.Delete(waiting, at, at+1); len(waiting) == 0 {
		delete(l.open, id)
	} else {
		l.open[id] = waiting
	}
	e := &l.Entries[i]
	e.Result, e.ResultFacts = ref, f
	e.Paths = mergeTouched(e.Paths, f.Touched)
	e.Touched = nil
	l.supersede(i)
}

// Waiting returns the number of the call that a result with the id answers, 0 if none.
func (l *Ledger) Waiting(id string) int {
	waiting := l.open[id]
	if len(waiting) == 0 {
		return 0
	}
	i := len(waiting) - 1
	for i > 0 && l.rounds[waiting[i-1]] == l.rounds[waiting[i]] {
		i--
	}
	return waiting[i] + 1
}

// SetHandle notes the address of a call's folded result.
func (l *Ledger) SetHandle(seq int, handle string) { l.Entries[seq-1-l.base].Handle = handle }

// mergeTouched puts what the result says about paths over what the call said.
func mergeTouched(paths, touched []toolcall.PathChange) []toolcall.PathChange {
	if len(touched) == 0 {
		return paths
	}
	paths = slices.Clone(paths)
next:
	for _, t := range touched {
		for i := range paths {
			if paths[i].Path == t.Path || paths[i].Changes() && toolcall.SameFile(paths[i].Path, t.Path) {
				paths[i].Change = t.Change // the call's spelling stays
				continue next
			}
		}
		paths = append(paths, t)
	}
	return paths
}
