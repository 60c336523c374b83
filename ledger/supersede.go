package ledger

import (
	"slices"

	"github.com/pleat-dev/pleat/ledger/toolcall"
)

// fileHistory is what the ledger remembers of a file to find stale reads.
type fileHistory struct {
	reads  []fileRead // shown and not stale, oldest first
	failed []int      // changes that failed, oldest first, as indexes
	change int        // newest call that changed the file, as index + 1
	whole  bool       // that call replaced or removed all of it
}

// fileRead is one read of a file by a call that only reads.
type fileRead struct {
	entry int
	part  toolcall.PathChange
}

// maxLiveReads bounds how many old reads of one file a new one is compared with.
const maxLiveReads = 64

// supersede notes what the newly answered call i makes stale, and whether a call that was
// answered before it, but made after it, makes it stale itself.
func (l *Ledger) supersede(i int) {
	e := &l.Entries[i]
	if e.Unchanged { // what it points to must stay
		return
	}
	for _, p := range e.Paths {
		id := l.paths.File(e.DirOf(p), p.Path)
		switch {
		case p.Change == toolcall.CallRead && e.Kind == toolcall.CallRead:
			l.sawRead(i, id, p)
		case p.Change != toolcall.CallRead && p.Change != toolcall.CallOther && e.Outcome == toolcall.Succeeded:
			l.sawChange(i, id, p.Change)
		case IsFileCall(e) && p.Changes() && e.Outcome == toolcall.Failed:
			h := l.history(id)
			h.failed = append(h.failed, i)
		}
	}
	l.sawRepeat(i)
	if e.Kind == toolcall.CallRun && e.Command != "" {
		l.sawRun(i, e.Dir+"\x00"+e.Command)
	}
}

func (l *Ledger) history(file int) *fileHistory {
	h := l.files[file]
	if h == nil {
		h = &fileHistory{}
		l.files[file] = h
	}
	return h
}

// stale notes that entry i is superseded. One with several files is stale when all of
// them are.
func (l *Ledger) stale(i, by int) {
	e := &l.Entries[i]
	if e.SupersededBy > by || l.kept[i] {
		return
	}
	live, reads := false, 0
	for _, p := range e.Paths {
		if p.Change == toolcall.CallRead {
			reads++
			h := l.history(l.paths.File(e.DirOf(p), p.Path))
			live = live || slices.ContainsFunc(h.reads, func(r fileRead) bool { return r.entry == i })
		}
	}
	if reads < 2 || !live {
		l.superseded(i, by)
	}
}

// sawRead puts a read beside the earlier ones of the file.
func (l *Ledger) sawRead(i, file int, part toolcall.PathChange) {
	h := l.history(file)
	if h.change > i+1 && (h.whole || part.Whole()) { // the answer came late
		l.stale(i, h.change-1)
		return
	}
	if l.Entries[i].Outcome == toolcall.Succeeded {
		l.drop(h, i, func(r fileRead) bool { return r.entry < i && part.Covers(r.part) })
	}
	if len(h.reads) >= maxLiveReads { // too old to compare: never stale by another read
		l.kept[h.reads[0].entry] = true
		h.reads = slices.Delete(h.reads, 0, 1)
	}
	h.reads = append(h.reads, fileRead{i, part})
}

// sawChange makes reads of the file stale: all of them if it was replaced or removed,
// whole reads if it was edited. What a partial read showed is mostly untouched by an
// edit; only a read that shows it again replaces it. Why earlier changes of the file failed
// no longer matters either.
func (l *Ledger) sawChange(i, file int, change toolcall.CallKind) {
	h := l.history(file)
	all := change == toolcall.CallCreate || change == toolcall.CallDelete
	if i+1 > h.change {
		h.change, h.whole = i+1, all
	}
	l.drop(h, i, func(r fileRead) bool { return r.entry < i && (all || r.part.Whole()) })
	for _, old := range h.failed {
		l.replace(old, i)
	}
	h.failed = nil
}

// drop takes the reads that match off the file's list and marks them stale.
func (l *Ledger) drop(h *fileHistory, by int, match func(fileRead) bool) {
	var gone []int
	h.reads = slices.DeleteFunc(h.reads, func(r fileRead) bool {
		if match(r) {
			gone = append(gone, r.entry)
			return true
		}
		return false
	})
	for _, i := range gone {
		l.stale(i, by)
	}
}

// sawRepeat makes the last equal call stale, if it only looked or ran something.
func (l *Ledger) sawRepeat(i int) {
	e := &l.Entries[i]
	if !e.Harmless && e.Kind != toolcall.CallRun {
		return
	}
	old, seen := l.latest[e.Signature]
	if seen && old > i {
		return
	}
	l.latest[e.Signature] = i
	if seen && !l.Entries[old].changesFiles() {
		l.replace(old, i)
	}
}

// replace notes that call i supersedes an older one, unless another did before.
func (l *Ledger) replace(old, i int) {
	if e := &l.Entries[old]; old < i && e.SupersededBy == 0 {
		l.superseded(old, i)
	}
}

func (l *Ledger) superseded(i, by int) {
	e, b := &l.Entries[i], &l.Entries[by]
	e.SupersededBy, e.changed, e.succeeded = by+1, b.changesFiles(), b.Outcome == toolcall.Succeeded
}

// sawRun makes failures of a command stale when it succeeds.
func (l *Ledger) sawRun(i int, command string) {
	switch l.Entries[i].Outcome {
	case toolcall.Failed:
		l.failing[command] = append(l.failing[command], i)
	case toolcall.Succeeded:
		for _, old := range l.failing[command] {
			if !l.Entries[old].changesFiles() {
				l.replace(old, i)
			}
		}
		delete(l.failing, command)
	}
}

// Recent is how many calls, the newest, are looked at one by one when they are rendered or a
// page is written. Older ones are counted, and the files that they changed are named.
const Recent = 500
