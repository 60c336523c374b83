package ledger

import (
	"github.com/pleat-dev/pleat/ledger/toolcall"
)

// PathState is what became of a file over the session.
type PathState struct {
	Path  string            `json:"path"`  // as it was spelled first from the root, or else first at all
	State toolcall.CallKind `json:"state"` // create, edit or delete; read if only looked at; other if unknown

	// Created: the file did not exist before the session, as far as the calls show.
	Created bool   `json:"created,omitempty"`
	Source  string `json:"source,omitempty"` // copied or renamed from there
	Count   int    `json:"count"`            // calls that changed it, or read it if none did
	First   int    `json:"first"`            // number of the first of them
	Last    int    `json:"last"`             // number of the last of them
	Calls   []int  `json:"calls,omitempty"`  // numbers of those that changed it
}

// Changed returns every file that the session created, edited, deleted or renamed, with
// what became of it, in the order of the first change: the trail of its work. Failed
// changes do not count; unanswered ones do.
func (l *Ledger) Changed() []PathState {
	changed, _ := l.trail()
	return changed
}

// ReadOnly returns every path that the session looked at and did not change.
func (l *Ledger) ReadOnly() []PathState {
	_, read := l.trail()
	return read
}

// trail follows each file through the calls.
func (l *Ledger) trail() (changed, read []PathState) {
	var t trail
	for i := range l.Entries {
		t.add(&l.Entries[i])
	}
	return t.states()
}

// trail is what became of the files that calls named.
type trail struct {
	table   PathTable
	all     []PathState // by file
	order   []int       // files in the order of their first change
	last    []int       // by file: number of its last change among all changes
	existed []bool      // by file: it was there before the first change
	gone    []removal
	at      int // changes
}

func (t *trail) add(e *Entry) {
	for _, p := range e.Paths {
		id := t.table.File(e.DirOf(p), p.Path)
		for len(t.all) <= id {
			t.all, t.last, t.existed = append(t.all, PathState{}), append(t.last, 0), append(t.existed, false)
		}
		s := &t.all[id]
		if s.Path == "" {
			*s = PathState{Path: p.Path, State: toolcall.CallRead, First: e.Seq}
		} else if !isAbs(s.Path) && isAbs(p.Path) {
			s.Path = p.Path
		}
		switch {
		case !p.Changes():
			if s.State == toolcall.CallRead {
				s.Count++
				s.Last = e.Seq
			}
			t.existed[id] = t.existed[id] || e.Outcome == toolcall.Succeeded && e.Kind == toolcall.CallRead
		case e.Effective():
			if s.State == toolcall.CallRead {
				*s = PathState{Path: s.Path, First: e.Seq}
				t.order = append(t.order, id)
			}
			s.apply(p, e.Seq, t.existed[id])
			t.at++
			if t.last[id] = t.at; p.Change == toolcall.CallDelete {
				t.gone = append(t.gone, removal{file: id, at: t.at, seq: e.Seq})
			}
		}
	}
}

// states returns the changed files and those that were only looked at. It ends the trail.
func (t *trail) states() (changed, read []PathState) {
	paths := t.table.resolved()
	for _, r := range t.gone {
		for _, id := range below(paths[r.file], t.order, paths) {
			if s := &t.all[id]; t.last[id] < r.at && s.State != toolcall.CallDelete {
				s.State, s.Last, t.last[id] = toolcall.CallDelete, r.seq, r.at
			}
		}
	}
	for _, id := range t.order {
		changed = append(changed, t.all[id])
	}
	for _, s := range t.all {
		if s.State == toolcall.CallRead && s.Count > 0 {
			read = append(read, s)
		}
	}
	return changed, read
}

func isAbs(p string) bool { return toolcall.IsAbs(toolcall.CleanPath(p)) }

// removal is a deletion of something that may have been a directory: whatever was below
// it and was not changed since is gone too, even if the directory is made again.
type removal struct{ file, at, seq int }

// apply adds one change to the state; existed says that the file was there before.
func (s *PathState) apply(p toolcall.PathChange, seq int, existed bool) {
	fresh := s.Count == 0
	s.Count++
	s.Last = seq
	if n := len(s.Calls); n == 0 || s.Calls[n-1] != seq {
		s.Calls = append(s.Calls, seq)
	}
	switch {
	case p.Change == toolcall.CallCreate && fresh && !existed:
		s.State, s.Created, s.Source = toolcall.CallCreate, true, p.Source
	case p.Change == toolcall.CallCreate && s.State == toolcall.CallDelete && s.Created:
		s.State = toolcall.CallCreate
	case p.Change == toolcall.CallCreate || p.Change == toolcall.CallEdit:
		if !s.Created || s.State == toolcall.CallDelete {
			s.State = toolcall.CallEdit
		}
	case p.Change == toolcall.CallDelete:
		s.State = toolcall.CallDelete
	case fresh:
		s.State = toolcall.CallOther
	}
}
