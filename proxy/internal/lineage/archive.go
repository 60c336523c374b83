package lineage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// A client that compacts by itself begins a new conversation, whose session is of one
// lineage with the old one: its model can still get at what was folded there. That a
// conversation continues another one of the same principal is proven by the client's own
// name for both, or by an answer that a model gave in the old one and that the new one
// begins with: two lines of the summary, or messages that the client kept. The first words
// of a person prove nothing, nor does a line that the model only quoted.

// Archive finds stored sessions and reads them.
type Archive struct {
	Store store.Store
	Open  func(ctx context.Context, key store.SessionKey, req *protocol.Request) (Reader, error)
}

// Reader is a stored session that is read.
type Reader interface {
	sessionMessages
	Close() error
}

// Origin is a session that a new conversation continues.
type Origin struct {
	Mode Mode
	Key  store.SessionKey
	Told bool // the client begins with the model's summary of it
	Kept bool // the client has kept answers of it
}

// Longest finds the session with the longest prefix of a conversation, of those longer than least.
// The key is zero if there is none.
func (a Archive) Longest(
	ctx context.Context, s Scope, prefixes []transcript.Hash, least int,
) (key store.SessionKey, err error) {
	for end, size := len(prefixes), 32; end > least && key.Session == ""; size *= 8 {
		start := max(end-size, least)
		labels := make([]string, 0, end-start)
		for _, h := range prefixes[start:end] {
			labels = append(labels, s.Label(h))
		}
		found, err := a.Store.Find(ctx, s.Tenant, store.EntryPrefix, labels...)
		if err != nil {
			return key, fmt.Errorf("find conversation: %w", err)
		}
		best := -1
		for _, f := range found {
			if i := slices.Index(labels, f.Entry.Label); i > best {
				best, key = i, f.Key
			}
		}
		end = start
	}
	return key, nil
}

// First finds the newest session whose first answer a request has, zero if there is none.
func (a Archive) First(ctx context.Context, s Scope, req *protocol.Request) (key store.SessionKey, err error) {
	said := FirstAnswer(req)
	if said == "" {
		return key, nil
	}
	found, err := a.Store.Find(ctx, s.Tenant, store.EntryPrefix, s.FirstLabel(said))
	if err != nil {
		return key, fmt.Errorf("find conversation: %w", err)
	}
	var newest time.Time
	for _, f := range found {
		if !f.Entry.Time.Before(newest) {
			newest, key = f.Entry.Time, f.Key
		}
	}
	return key, nil
}

// Holder returns the session that has the client's next answer with hidden rounds. The key is zero
// if that is key, or none.
func (a Archive) Holder(ctx context.Context, s Scope, key store.SessionKey, p Place) (store.SessionKey, error) {
	prefix, err := transcript.ParseHash(p.Mark.Hash)
	if err != nil || p.said == "" {
		return store.SessionKey{}, nil
	}
	found, err := a.Store.Find(ctx, s.Tenant, store.EntryPrefix, s.AnswerLabel(prefix, p.said))
	if err != nil {
		return store.SessionKey{}, fmt.Errorf("find answer: %w", err)
	}
	if len(found) > 0 && found[0].Key != key {
		return found[0].Key, nil
	}
	return store.SessionKey{}, nil
}

// Shared is the entry up to which a fork at a mark has all that its session has: an epoch that
// opened for the request comes after the mark, and its answer was made with those folds. It is 0 without a mark.
func Shared(ctx context.Context, st store.Store, key store.SessionKey, mark uint64) (upTo uint64, err error) {
	if upTo = mark; mark == 0 {
		return 0, nil
	}
	for e, err := range st.Scan(ctx, key, mark+1, store.EntryMessage, store.EntryEpoch) {
		if err != nil {
			return 0, fmt.Errorf("find epoch of mark %d: %w", mark, err)
		}
		if e.Kind == store.EntryMessage {
			break
		}
		upTo = e.Seq
	}
	return upTo, nil
}

// Before finds what a new conversation continues, nil if nothing.
func (a Archive) Before(ctx context.Context, from Caller, req *protocol.Request) (*Origin, error) {
	named, tools := from.label("hint", from.Hint), from.toolsLabel(req)
	labels := append([]string{named, tools}, from.SaidLabels(openingText(req), math.MaxInt, nil)...)
	found, err := a.Store.Find(ctx, from.Scope.Tenant, store.EntryPrefix, labels...)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b store.Found) int { // the client's name first
		return cmp.Compare(slices.Index(labels, a.Entry.Label), slices.Index(labels, b.Entry.Label))
	})
	lines := make(map[store.SessionKey]int)
	for _, f := range found {
		if f.Entry.Label != named && f.Entry.Label != tools {
			lines[f.Key]++
		}
	}
	for _, f := range found {
		var m Mark
		if err := json.Unmarshal(f.Entry.Data, &m); err != nil || m.Recall != RecallByTools {
			continue
		}
		o := &Origin{m.Mode, f.Key, lines[f.Key] > 1, false}
		o.Kept = (f.Entry.Label == named || f.Entry.Label == tools) && a.keeps(ctx, f.Key, req)
		if o.Told || o.Kept || f.Entry.Label == named && from.Hint != "" {
			return o, nil
		}
	}
	return nil, nil
}

// toolsLabel is where the newest conversation of clients with the same tools is found,
// which those that kept some of it may continue.
func (c Caller) toolsLabel(req *protocol.Request) string {
	var names strings.Builder
	for _, t := range slices.Concat(req.Tools, req.InInput) {
		names.WriteString(t.Name + "\x00")
	}
	return c.label("tools", names.String())
}

// Names are the labels by which a conversation is found once the client has compacted it.
func (c Caller) Names(req *protocol.Request) (labels []string) {
	if c.Hint != "" {
		labels = append(labels, c.label("hint", c.Hint))
	}
	if req.HasTools() {
		labels = append(labels, c.toolsLabel(req))
	}
	return labels
}

func (c Caller) label(kind, text string) string {
	where := c.Scope.Upstream + "\x00" + string(c.Scope.Format)
	return transcript.HashOf(kind + "\x00" + where + "\x00" + text).String()
}

const (
	proofLine  = 40 // characters that a line of an answer must have to prove something
	proofWords = 6  // words that it must have
	proofID    = 12 // characters of a call's id that nobody else can know
	ProofLines = 4  // lines of an answer that are remembered, the longest
	opening    = 4  // messages of a conversation in which a summary may be

	LongestSummary = 256 << 10 // bytes; a longer answer is none
)

// SaidLabels are the labels under which answers with the lines of a text are found, of the
// longest ones up to most, except lines that quoted reports as quotations. It may be nil.
func (c Caller) SaidLabels(text string, most int, quoted func(line string) bool) (labels []string) {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if utf8.RuneCountInString(line) < proofLine {
			continue
		}
		words := 0
		for range strings.FieldsFuncSeq(line, func(r rune) bool { return !unicode.IsLetter(r) }) {
			if words++; words == proofWords {
				lines = append(lines, line)
				break
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, l := range lines {
		if len(labels) < most && (quoted == nil || !quoted(l)) { // it looks through the whole request
			labels = append(labels, c.label("said", l))
		}
	}
	return labels
}

// openingText is what a conversation begins with, as far as a summary may reach.
func openingText(req *protocol.Request) string {
	var b strings.Builder
	for i, m := range req.Messages[req.Leading():] {
		if i == opening || b.Len() > LongestSummary {
			break
		}
		text := m.Text()
		b.WriteString(text[:min(len(text), LongestSummary)])
		b.WriteByte('\n')
	}
	return b.String()
}

// keeps reports whether the client has kept answers of a session: calls have ids that
// nobody else knows, unless they are short or only the function's name.
func (a Archive) keeps(ctx context.Context, key store.SessionKey, req *protocol.Request) bool {
	kept := make(map[string]bool)
	for _, m := range req.Messages {
		for _, c := range m.Calls() {
			if IsAnswer(m) && len(c.ID) >= proofID && c.ID != c.Name {
				kept[c.ID+"\x00"+c.Input.String()] = true
			}
		}
	}
	if len(kept) == 0 {
		return false
	}
	s, err := a.Open(ctx, key, req)
	if err != nil {
		return false
	}
	defer s.Close()
	for i := s.Len() - 1; i >= 0; i-- {
		m, err := s.Message(ctx, i)
		if err != nil {
			return false
		}
		for _, c := range m.Calls() {
			if kept[c.ID+"\x00"+c.Input.String()] {
				return true
			}
		}
	}
	return false
}

// Quotes reports whether a line is in the request.
func Quotes(r *protocol.Request, line string) bool {
	literal, err := json.Marshal(line)
	return err == nil && (bytes.Contains(r.Body, literal[1:len(literal)-1]) || bytes.Contains(r.Body, []byte(line)))
}

// BeforeOf returns what a stored session continues.
func (a Archive) BeforeOf(ctx context.Context, key store.SessionKey) (store.SessionKey, error) {
	for e, err := range a.Store.Scan(ctx, key, 1, store.EntryPrefix) {
		var m Mark
		if err == nil {
			err = json.Unmarshal(e.Data, &m)
		}
		if err != nil {
			return store.SessionKey{}, err
		}
		if m.Hash != "" { // a request: it says it
			return m.lineage(key.Tenant), nil
		}
	}
	return store.SessionKey{}, errors.New("the session has no requests")
}
