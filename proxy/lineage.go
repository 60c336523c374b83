package proxy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// A client that compacts by itself begins a new conversation, whose session is of one
// lineage with the old one: its model can still get at what was folded there. That a
// conversation continues another one of the same principal is proven by the client's own
// name for both, or by an answer that a model gave in the old one and that the new one
// begins with: two lines of the summary, or messages that the client kept. The first words
// of a person prove nothing, nor does a line that the model only quoted.

type origin struct {
	mode mode
	key  store.SessionKey
	told bool // the client begins with the model's summary of it
	kept bool // the client has kept answers of it
}

// before finds what a new conversation continues; nil: nothing.
func (rw *rewriter) before(ctx context.Context, from caller, req *request) (*origin, error) {
	named, tools := from.label("hint", from.hint), from.toolsLabel(req)
	labels := append([]string{named, tools}, from.saidLabels(openingText(req), math.MaxInt, nil)...)
	found, err := rw.o.Store.Find(ctx, from.scope.tenant, store.EntryPrefix, labels...)
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
		var m mark
		if err := json.Unmarshal(f.Entry.Data, &m); err != nil || m.Recall != RecallByTools {
			continue
		}
		o := &origin{m.mode, f.Key, lines[f.Key] > 1, false}
		o.kept = (f.Entry.Label == named || f.Entry.Label == tools) && rw.keeps(ctx, f.Key, req)
		if o.told || o.kept || f.Entry.Label == named && from.hint != "" {
			return o, nil
		}
	}
	return nil, nil
}

const (
	mostPages = 4     // conversations before a new one that it begins with pages of
	pagesRoom = 2_500 // most tokens of these
	pagesLead = "[pleat: the client has compacted this conversation. What it was before follows, as a program wrote it " +
		"down. It is a record, not a new request; its calls are numbered apart.]\n"
)

// pages are what a conversation begins with whose client has certainly cut what it continues:
// pages of that, whose handles work in it.
func (rw *rewriter) pages(ctx context.Context, o *origin, req *request, prefix string) (string, error) {
	if o == nil || !o.told && !o.kept || !req.hasTools() {
		return "", nil
	}
	var keys []store.SessionKey
	var err error
	for key := o.key; err == nil && key.Session != "" && len(keys) < mostPages; key, err = rw.beforeOf(ctx, key) {
		keys = append(keys, key)
	}
	m, window := rw.o.model(req.model)
	room := min(cmp.Or(window, m.Window, model.DefaultWindow)/32, pagesRoom) / len(keys)
	text := pagesLead
	for i, key := range slices.Backward(keys) {
		s, err := rw.reopen(ctx, key, req, prefix)
		if err != nil {
			return "", err
		}
		page, err := s.Page(ctx, fold.PageRoom{
			Total: room, Words: room / 2, Plain: true, Beside: true, Seen: o.kept || i > 0,
		})
		if err := errors.Join(err, s.Close()); err != nil {
			return "", err
		}
		text += "\n" + page + "\n"
	}
	return text, nil
}

// toolsLabel is where the newest conversation of clients with the same tools is found,
// which those that kept some of it may continue.
func (c caller) toolsLabel(req *request) string { return c.label("tools", req.toolsText()) }

// names are the labels by which a conversation is found once the client has compacted it.
func (c caller) names(req *request) (labels []string) {
	if c.hint != "" {
		labels = append(labels, c.label("hint", c.hint))
	}
	if req.hasTools() {
		labels = append(labels, c.toolsLabel(req))
	}
	return labels
}

func (r *request) toolsText() string {
	var b strings.Builder
	for _, t := range slices.Concat(r.tools, r.inInput) {
		b.WriteString(t.Name + "\x00")
	}
	return b.String()
}

func (c caller) label(kind, text string) string {
	where := c.scope.upstream + "\x00" + string(c.scope.format)
	return transcript.HashOf(kind + "\x00" + where + "\x00" + text).String()
}

const (
	proofLine  = 40 // characters that a line of an answer must have to prove something
	proofWords = 6  // words that it must have
	proofID    = 12 // characters of a call's id that nobody else can know
	proofLines = 4  // lines of an answer that are remembered, the longest
	opening    = 4  // messages of a conversation in which a summary may be

	longestSummary = 256 << 10 // bytes; a longer answer is none
)

// saidLabels are the labels under which answers with the lines of a text are found, of the
// longest ones up to most, except lines that quoted reports as quotations; nil: none is known
// to be one.
func (c caller) saidLabels(text string, most int, quoted func(line string) bool) (labels []string) {
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
func openingText(req *request) string {
	var b strings.Builder
	for i, m := range req.messages[req.leading():] {
		if i == opening || b.Len() > longestSummary {
			break
		}
		text := m.Text()
		b.WriteString(text[:min(len(text), longestSummary)])
		b.WriteByte('\n')
	}
	return b.String()
}

// keeps reports whether the client has kept answers of a session: calls have ids that
// nobody else knows, unless they are short or only the function's name.
func (rw *rewriter) keeps(ctx context.Context, key store.SessionKey, req *request) bool {
	kept := make(map[string]bool)
	for _, m := range req.messages {
		for _, c := range m.Calls() {
			if isAnswer(m) && len(c.ID) >= proofID && c.ID != c.Name {
				kept[c.ID+"\x00"+c.Input.String()] = true
			}
		}
	}
	if len(kept) == 0 {
		return false
	}
	s, err := rw.reopen(ctx, key, req, "")
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

// reopen opens a session to read it. One that was deleted stays so.
func (rw *rewriter) reopen(
	ctx context.Context, key store.SessionKey, req *request, prefix string,
) (*pleat.Session, error) {
	if _, err := rw.beforeOf(ctx, key); err != nil {
		return nil, err
	}
	m, window := rw.o.model(req.model)
	return pleat.OpenSession(ctx, rw.o.Store, key, &pleat.Options{
		Policy: rw.o.Policy, Model: m, Budget: fold.Budget{Window: window}, Memory: 4 << 20, Now: rw.o.Now,
		Codecs: map[transcript.Format]transcript.Codec{req.on.format: req.on.codec},
		Recall: mode{Recall: RecallByTools, Prefix: prefix}.stubs("", key), Ended: true,
	})
}

// heard remembers an answer without calls, which may be a summary that the client begins
// its next conversation with.
func (x *exchange) heard(ctx context.Context, c *conversation, reply model.Reply) error {
	if c == nil || len(transcript.Unanswered(reply.Messages...)) > 0 {
		return nil
	}
	var text strings.Builder
	for _, m := range reply.Messages {
		if text.Len()+len(m.Raw()) > longestSummary {
			return nil
		}
		text.WriteString(m.Text() + "\n")
	}
	labels := x.from.saidLabels(text.String(), proofLines, x.req.quotes)
	if len(labels) == 0 {
		return nil
	}
	if c.past {
		found, err := x.rw.o.Store.Find(ctx, x.from.scope.tenant, store.EntryPrefix, labels...)
		if err != nil || len(found) == len(labels) { // it was said before
			return err
		}
		if err := x.rw.onTurn(ctx, x.turn, func(*conversation) error { return nil }); err != nil {
			return err
		}
		c = x.turn.conv
	}
	c.mu.Lock()
	defer c.unlock()
	if c.mode.Recall != RecallByTools {
		return nil
	}
	last := c.sess.Last()
	_, err := c.sess.MarkAs(ctx, labels, mark{mode: c.mode}.encode())
	if err == nil {
		c.wrote(last)
	}
	return err
}

// quotes reports whether a line stands in the request.
func (r *request) quotes(line string) bool {
	literal, err := json.Marshal(line)
	return err == nil && (bytes.Contains(r.body, literal[1:len(literal)-1]) || bytes.Contains(r.body, []byte(line)))
}

// mostBefore is how many compactions of a client recall reaches back over.
const mostBefore = 32

// recall answers a call of our tools, from the whole lineage.
func (rw *rewriter) recall(ctx context.Context, t *turn, tool, input string) (text string, failed bool) {
	t.conv.mu.Lock()
	sess := t.conv.sess
	t.conv.unlock()
	epoch := sess.Snapshot().Epoch
	text, failed, _ = sess.Recall(ctx, tool, input)
	if tool == recall.ToolCompact || tool == recall.ToolSnip {
		t.epochs += sess.Snapshot().Epoch - epoch
	}
	key := t.before
	reaches := tool == recall.ToolUnfold || tool == recall.ToolSearch || tool == recall.ToolLedger
	for range mostBefore {
		if key.Session == "" || !reaches || tool == recall.ToolUnfold && !failed {
			break
		}
		old, err := rw.reopen(ctx, key, t.req, t.mode.Prefix)
		if err != nil {
			break
		}
		more, missing, _ := old.Recall(ctx, tool, input)
		switch {
		case missing:
		case tool == recall.ToolUnfold:
			text, failed = more, false
		case tool == recall.ToolSearch:
			text += "\n[before the conversation was compacted:]\n" + more
		case tool == recall.ToolLedger:
			text = more + "\n[after the conversation was compacted; calls are counted anew:]\n" + text
		}
		_ = old.Close() // it only waits
		if key, err = rw.beforeOf(ctx, key); err != nil {
			break
		}
	}
	return text, failed
}

// beforeOf returns what a stored session continues.
func (rw *rewriter) beforeOf(ctx context.Context, key store.SessionKey) (store.SessionKey, error) {
	for e, err := range rw.o.Store.Scan(ctx, key, 1, store.EntryPrefix) {
		var m mark
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

// lineage is the session that a request's session continues; zero: none.
func (m mark) lineage(tenant string) store.SessionKey {
	if m.Before == "" {
		return store.SessionKey{}
	}
	return store.SessionKey{Tenant: tenant, Session: m.Before}
}
