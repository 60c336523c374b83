package library

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/store"
)

// mark is what the store knows of a file: an entry of kind [store.EntryPrefix] in the
// session that has the file's messages, found by its label. Forks copy entries, so the
// mark itself says which session it is about.
type mark struct {
	Session  string    `json:"session"`
	Size     int64     `json:"size"` // of the file when it was read
	Modified time.Time `json:"modified"`
	Held     bool      `json:"held,omitempty"` // its last message may not have been complete, and was left out

	// What lists show.
	Count   int     `json:"count"` // messages
	Title   string  `json:"title,omitempty"`
	Project string  `json:"project,omitempty"`
	Model   string  `json:"model,omitempty"`
	Bytes   int64   `json:"bytes"` // of all files of the session
	Tokens  int     `json:"tokens"`
	Counted bool    `json:"counted,omitempty"` // else they are estimated
	USD     float64 `json:"usd,omitempty"`
}

const markLabel = "library:"

// marks finds the newest marks of files, by their IDs.
func (l *Library) marks(ctx context.Context, tenant string, ids ...string) (map[string]mark, error) {
	var labels []string
	for _, id := range ids {
		labels = append(labels, markLabel+id)
	}
	if l.o.Store == nil || len(labels) == 0 {
		return nil, nil
	}
	found, err := l.o.Store.Find(ctx, tenant, store.EntryPrefix, labels...)
	if err != nil {
		return nil, err
	}
	marks := make(map[string]mark)
	for _, f := range found {
		if m, ok := readMark(f.Entry); ok {
			marks[strings.TrimPrefix(f.Entry.Label, markLabel)] = m
		}
	}
	return marks, nil
}

func readMark(e store.Entry) (m mark, ok bool) {
	if !strings.HasPrefix(e.Label, markLabel) {
		return m, false
	}
	return m, json.Unmarshal(e.Data, &m) == nil && m.Session != ""
}

// is reports whether the file is as it was when it was read.
func (m mark) is(f file) bool {
	return m.Session != "" && m.Size == f.size && m.Modified.Equal(f.modified)
}

// tell completes a session with what is known from reading it.
func (m mark) tell(s *Info) {
	if m.Session == "" {
		return
	}
	if s.Messages, s.USD = m.Count, m.USD; !s.Counted {
		s.Tokens, s.Counted = m.Tokens, m.Counted
	}
	s.Title, s.Project, s.Model, s.Bytes = m.Title, m.Project, m.Model, max(s.Bytes, m.Bytes)
}
