package ledger

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/ledger/toolcall"
)

// LedgerFilter chooses calls. Fields at their zero value choose everything.
type Filter struct {
	Path     string              `json:"path,omitempty"`    // a file, a directory, an end of a path, or a pattern with *
	Tool     string              `json:"tool,omitempty"`    // the tool's name, in any case
	Kinds    []toolcall.CallKind `json:"kind,omitempty"`    // any of these
	Outcomes []toolcall.Outcome  `json:"outcome,omitempty"` // any of these
	Text     string              `json:"text,omitempty"`    // occurs in the arguments or the error line, in any case
	Effects  bool                `json:"effects,omitempty"` // only calls that may have changed something
	From     int                 `json:"from,omitempty"`    // number of the first call
	To       int                 `json:"to,omitempty"`      // number of the last call; 0: up to the newest

	// Calls in messages FromMessage ≤ i < ToMessage; a ToMessage of 0 leaves the end open.
	FromMessage int `json:"-"`
	ToMessage   int `json:"-"`
}

func (f Filter) matches(e *Entry) bool {
	switch {
	case e.Seq < f.From, f.To > 0 && e.Seq > f.To:
	case e.Call.Message < f.FromMessage, f.ToMessage > 0 && e.Call.Message >= f.ToMessage:
	case f.Effects && e.Harmless:
	case len(f.Kinds) > 0 && !slices.Contains(f.Kinds, e.Kind):
	case len(f.Outcomes) > 0 && !slices.Contains(f.Outcomes, e.Outcome):
	case f.Tool != "" && !strings.EqualFold(f.Tool, e.Tool):
	case f.Text != "" && !foldContains(e.Args, f.Text) && !foldContains(e.ErrorLine, f.Text) && !foldContains(e.Command, f.Text):
	case f.Path != "" && !slices.ContainsFunc(e.Paths, func(p toolcall.PathChange) bool { return pathMatches(f.Path, p.Path) }):
	default:
		return true
	}
	return false
}

func foldContains(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}

// pathMatches reports whether a path is what a query asks for.
func pathMatches(query, p string) bool {
	query, p = toolcall.CleanPath(query), toolcall.CleanPath(p)
	if strings.Contains(query, "*") {
		whole, _ := path.Match(query, p)
		base, _ := path.Match(query, path.Base(p))
		return whole || base
	}
	return toolcall.EndsPath(p, query) || toolcall.EndsPath(query, p) || query == "." || strings.HasPrefix(p, query+"/") || strings.Contains(p, "/"+query+"/")
}

// Select returns the calls that the filter chooses, in order.
func (l *Ledger) Select(f Filter) []Entry {
	var out []Entry
	for i := range l.Entries {
		if f.matches(&l.Entries[i]) {
			out = append(out, l.Entries[i])
		}
	}
	return out
}

// NameCount is how often something with a name occurs.
type NameCount struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// LedgerCounts sums up calls. The lists have the most frequent first.
type Counts struct {
	Calls      int         `json:"calls"`
	Superseded int         `json:"superseded"`
	Bytes      int         `json:"bytes"` // of all results
	Tools      []NameCount `json:"tools"`
	Kinds      []NameCount `json:"kinds"`
	Outcomes   []NameCount `json:"outcomes"`
}

// Counts sums up the calls that the filter chooses.
func (l *Ledger) Counts(f Filter) Counts {
	var c Counts
	tools, kinds, outcomes := map[string]int{}, map[string]int{}, map[string]int{}
	for i := range l.Entries {
		e := &l.Entries[i]
		if !f.matches(e) {
			continue
		}
		c.Calls++
		c.Bytes += e.Bytes
		if e.SupersededBy > 0 {
			c.Superseded++
		}
		tools[e.Tool]++
		kinds[e.Kind.String()]++
		outcomes[e.Outcome.String()]++
	}
	c.Tools, c.Kinds, c.Outcomes = byFrequency(tools), byFrequency(kinds), byFrequency(outcomes)
	return c
}

func byFrequency(counts map[string]int) []NameCount {
	list := make([]NameCount, 0, len(counts))
	for name, n := range counts {
		list = append(list, NameCount{name, n})
	}
	slices.SortFunc(list, func(a, b NameCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// PathState is what became of a file over the session.
type PathState struct {
	Path  string            `json:"path"`  // as it was spelled first
	State toolcall.CallKind `json:"state"` // create, edit or delete; read if only looked at; other if nobody knows

	// Created: the file did not exist before the session, as far as the calls tell.
	Created bool   `json:"created,omitempty"`
	Source  string `json:"source,omitempty"` // copied or renamed from there
	Count   int    `json:"count"`            // calls that changed it, or read it if none did
	First   int    `json:"first"`            // number of the first of them
	Last    int    `json:"last"`             // number of the last of them
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
	var table PathTable
	var all []PathState // by file
	var order []int     // files in the order of their first change
	var last []int      // by file: number of its last change among all changes
	var gone []removal
	existed := map[int]bool{}
	at := 0
	for i := range l.Entries {
		e := &l.Entries[i]
		for _, p := range e.Paths {
			id := table.File(e.Dir, p.Path)
			for len(all) <= id {
				all, last = append(all, PathState{}), append(last, 0)
			}
			s := &all[id]
			if s.Path == "" {
				*s = PathState{Path: p.Path, State: toolcall.CallRead, First: e.Seq}
			}
			switch {
			case !p.Changes():
				if s.State == toolcall.CallRead {
					s.Count++
					s.Last = e.Seq
				}
				existed[id] = existed[id] || e.Outcome == toolcall.Succeeded && e.Kind == toolcall.CallRead
			case e.Effective():
				if s.State == toolcall.CallRead {
					*s = PathState{Path: s.Path, First: e.Seq}
					order = append(order, id)
				}
				s.apply(p, e.Seq, existed[id])
				at++
				if last[id] = at; p.Change == toolcall.CallDelete {
					gone = append(gone, removal{file: id, at: at, seq: e.Seq})
				}
			}
		}
	}
	paths := table.resolved()
	for _, r := range gone {
		for _, id := range below(paths[r.file], order, paths) {
			if s := &all[id]; last[id] < r.at && s.State != toolcall.CallDelete {
				s.State, s.Last, last[id] = toolcall.CallDelete, r.seq, r.at
			}
		}
	}
	for _, id := range order {
		changed = append(changed, all[id])
	}
	for _, s := range all {
		if s.State == toolcall.CallRead && s.Count > 0 {
			read = append(read, s)
		}
	}
	return changed, read
}

// removal is a deletion of something that may have been a directory: whatever was below
// it and was not changed since is gone too, also if the directory is made anew.
type removal struct{ file, at, seq int }

// apply takes one change into the state; existed says that the file was there before.
func (s *PathState) apply(p toolcall.PathChange, seq int, existed bool) {
	fresh := s.Count == 0
	s.Count++
	s.Last = seq
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
