package library

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/model"
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
	Last    time.Time `json:"last,omitzero"` // when the newest message was said
	Count   int       `json:"count"`         // messages
	Title   string    `json:"title,omitempty"`
	Project string    `json:"project,omitempty"`
	Model   string    `json:"model,omitempty"`
	Parent  string    `json:"parent,omitempty"`
	Bytes   int64     `json:"bytes"` // of all files of the session
	Tokens  int       `json:"tokens"`
	Counted bool      `json:"counted,omitempty"` // else they are estimated
	USD     float64   `json:"usd,omitempty"`
	Ratio   float64   `json:"ratio,omitempty"` // by which tokens were counted, as the model's tokenizer has one
}

// A session that was made of a file without a mark, or of another session, says with a label of its own
// when it was said and how its tokens were counted.
const markLabel, saidLabel = "library:", "said:"

// MarkMade notes of a session that was made of a file or of another session when its newest message
// was said, if that is known, and how its tokens are counted: it has no provider's reports of its own.
func MarkMade(ctx context.Context, s *pleat.Session, said time.Time, name string, rule model.TokenRule) error {
	data, err := json.Marshal(mark{Last: said, Model: name, Ratio: cmp.Or(rule.Ratio, 1)})
	if err == nil {
		_, err = inside.Of(s).Mark(ctx, []string{saidLabel + s.Key().Session}, data)
	}
	return err
}

// said is when the newest messages of stored sessions were said, of those that were read from files.
// The others were stored when they were said, as was what somebody said in a session after it was read.
func said(ctx context.Context, st store.Store, list []store.SessionInfo) (map[store.SessionKey]time.Time, error) {
	labels := make(map[string][]string) // by tenant
	entries := make(map[store.SessionKey]uint64)
	for _, s := range list {
		entries[s.Key] = s.Entries
		labels[s.Key.Tenant] = append(labels[s.Key.Tenant], saidLabel+s.Key.Session, markLabel+OwnerOf(s.Key))
	}
	at := make(map[string]time.Time)
	for tenant, labels := range labels {
		found, err := st.Find(ctx, tenant, store.EntryPrefix, labels...)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			var m mark
			grown := f.Entry.Seq < entries[f.Key] && goesOn(ctx, st, f)
			if json.Unmarshal(f.Entry.Data, &m) == nil && !grown {
				at[tenant+"\x00"+f.Entry.Label] = m.Last
			}
		}
	}
	said := make(map[store.SessionKey]time.Time)
	for _, s := range list {
		of := s.Key.Tenant + "\x00"
		said[s.Key] = cmp.Or(at[of+saidLabel+s.Key.Session], at[of+markLabel+OwnerOf(s.Key)])
	}
	return said, nil
}

// goesOn reports whether messages come after an entry.
func goesOn(ctx context.Context, st store.Store, f store.Found) bool {
	for range st.Scan(ctx, f.Key, f.Entry.Seq+1, store.EntryMessage) {
		return true
	}
	return false
}

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

// counted takes from a mark of [MarkMade] how the tokens of a session are counted.
func (s *Info) counted(e store.Entry) {
	var m mark
	if e.Label == saidLabel+s.Key.Session && json.Unmarshal(e.Data, &m) == nil && m.Ratio > 0 {
		s.Model, s.ratio = m.Model, m.Ratio
	}
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
	s.Parent = cmp.Or(m.Parent, s.Parent)
}
