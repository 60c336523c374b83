// Package ledger keeps the record of all tool calls of a conversation: what each was, what
// it touched, how it ended and what made its result stale. A [Ledger] is fed message by
// message, or made by [Of]; it can be asked, and rendered for a model to read.
package ledger

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/pleat-dev/pleat/internal/client"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// Ledger is the record of all tool calls of a conversation. Code alone derives it from
// the transcript; no model writes it. Adding a call costs the same whatever the length of
// the ledger. The zero value is an empty ledger. It is not safe for concurrent use.
//
// A later call can supersede an earlier one, whose result then need not be shown any
// longer. A read is superseded by a change of the file and by a read that shows at least
// as much; a call that only looks, or a command, by an equal one; a failed command by its
// later success; a failed change of a file by one that succeeds. A call that changed a file
// is never superseded.
type Ledger struct {
	Entries []Entry          // in the order of the calls; for reading only
	open    map[string][]int // unanswered calls by id, oldest first, as indexes
	paths   PathTable
	dirs    []string             // where the shell was, newest last
	tasks   map[string]int       // calls that go on in the background, by the name of that, as indexes
	files   map[int]*fileHistory // by the number that paths gives a file
	latest  map[string]int       // newest answered call by signature, as index
	failing map[string][]int     // failed runs by command, not mended yet, as indexes
	kept    map[int]bool         // reads that are no longer followed, as indexes
	rounds  []int                // number of the round of each entry
	turnAt  int                  // message of the newest call; -2 once a result came since
}

// Of makes the ledger of a transcript.
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
				facts := toolcall.DescribeResult(l.Entry(n).CallFacts, b)
				l.Result(transcript.BlockRef{Message: at, Block: i}, b.CallID, facts)
			}
		case transcript.Text:
			l.Notice(b.Text.String())
		}
	}
}

// Len is the number of calls.
func (l *Ledger) Len() int { return len(l.Entries) }

// Entry returns the call with that number, 1 to Len.
func (l *Ledger) Entry(seq int) Entry { return l.Entries[seq-1] }

// Between counts the calls in messages start ≤ i < end.
func (l *Ledger) Between(start, end int) int { return max(l.firstIn(end)-l.firstIn(start), 0) }

// Recently returns the number of the first of the newest [Recent] calls before a message.
func (l *Ledger) Recently(message int) int { return max(l.firstIn(message)-Recent, 0) + 1 }

// firstIn is the index of the first call in the message or in a later one.
func (l *Ledger) firstIn(message int) int {
	return sort.Search(len(l.Entries), func(i int) bool { return l.Entries[i].Call.Message >= message })
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
	f.Dir = l.dirOf(&f)
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
	l.open[id] = slices.DeleteFunc(l.open[id], func(k int) bool { return k == i })
	if len(l.open[id]) == 0 {
		delete(l.open, id)
	}
	e := &l.Entries[i]
	if e.Result, e.ResultFacts = ref, f; f.Cwd != "" {
		l.moved(f.Cwd)
	} else if e.Left != "" && !strings.Contains(f.ErrorLine, "cd: ") {
		l.moved(l.from(e.Left))
	}
	if f.Replaced {
		e.Paths = slices.Clone(e.Paths)
		e.Paths[0].Change = toolcall.CallEdit
	}
	l.supersede(i)
	if e.Outcome == toolcall.Running {
		if l.tasks == nil {
			l.tasks = make(map[string]int)
		}
		l.tasks[e.Started] = i
	} else if e.Task != "" {
		l.ended(e.Task, f)
	}
}

// Notice takes a text in which the agent says how something in the background ended.
func (l *Ledger) Notice(text string) {
	if strings.HasPrefix(text, client.TaskNotice) {
		if id, f, told := toolcall.TaskEnd(text); told {
			l.ended(id, f)
		}
	}
}

// ended gives a call that went on in the background its outcome.
func (l *Ledger) ended(task string, f toolcall.ResultFacts) {
	i, ok := l.tasks[task]
	if !ok || f.Started != "" {
		return
	}
	delete(l.tasks, task)
	e := &l.Entries[i]
	e.Outcome, e.ExitCode, e.ErrorLine = f.Outcome, f.ExitCode, strings.Clone(f.ErrorLine)
	if e.Kind == toolcall.CallRun && e.Command != "" {
		l.sawRun(i, e.Dir+"\x00"+e.Command)
	}
}

// dirOf is the directory in which a call runs: the one that it says, else the one in which
// the shell was left, unless only one where it was before has the files that the call names.
func (l *Ledger) dirOf(f *toolcall.CallFacts) string {
	switch {
	case f.Left != "":
		return l.from(f.Dir)
	case f.Dir != "", len(l.dirs) == 0, !f.KeepsDir():
		return f.Dir
	}
	for _, dir := range slices.Backward(append([]string{""}, l.dirs...)) {
		if slices.ContainsFunc(f.Paths, func(p toolcall.PathChange) bool { return l.paths.knows(dir, p.Path) }) {
			return dir
		}
	}
	return l.cwd()
}

// cwd is where the shell was left, empty if it was not moved.
func (l *Ledger) cwd() string {
	if len(l.dirs) == 0 {
		return ""
	}
	return l.dirs[len(l.dirs)-1]
}

// maxDirs bounds the directories that are remembered.
const maxDirs = 16

func (l *Ledger) moved(dir string) {
	l.dirs = slices.DeleteFunc(l.dirs, func(d string) bool { return d == dir })
	l.dirs = append(l.dirs[max(0, len(l.dirs)-maxDirs+1):], dir)
}

// from is the directory that a shell goes to by a path. Where it seems to be there already,
// every call begins anew.
func (l *Ledger) from(dir string) string {
	if cwd := l.cwd(); cwd != "" && !toolcall.EndsPath(cwd, toolcall.CleanPath(dir)) {
		return toolcall.Join(cwd, dir)
	}
	return cmp.Or(l.cwd(), dir)
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
