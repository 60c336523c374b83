package exchange

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// reopen opens a session to read it. One that was deleted stays so.
func (rw *Rewriter) reopen(
	ctx context.Context, key store.SessionKey, req *protocol.Request, prefix string,
) (*pleat.Session, error) {
	if _, err := rw.archive.BeforeOf(ctx, key); err != nil {
		return nil, err
	}
	m, window := rw.o.model(req.Model)
	return pleat.OpenSession(ctx, rw.o.Store, key, &pleat.Options{
		Policy: rw.o.Policy, Model: m, Budget: fold.Budget{Window: window}, Memory: 4 << 20, Now: rw.o.Now,
		Codecs: map[transcript.Format]transcript.Codec{req.Protocol.Format: req.Protocol.Codec},
		Recall: stubs(lineage.Mode{Recall: lineage.RecallByTools, Prefix: prefix}, "", key), Ended: true,
	})
}

const (
	mostPages = 4     // conversations before a new one that it begins with pages of
	pagesRoom = 2_500 // most tokens of these
	pagesLead = "[pleat: the client has compacted this conversation. What it was before follows, as a program wrote it " +
		"down. It is a record, not a new request; its calls are numbered apart.]\n"
)

// pages are what a conversation begins with whose client has certainly cut what it continues:
// pages of that, whose handles work in it.
func (rw *Rewriter) pages(ctx context.Context, o *lineage.Origin, req request, prefix string) (string, error) {
	if o == nil || !o.Told && !o.Kept || !req.HasTools() {
		return "", nil
	}
	var keys []store.SessionKey
	var err error
	for key := o.Key; err == nil && key.Session != "" && len(keys) < mostPages; key, err = rw.archive.BeforeOf(ctx, key) {
		keys = append(keys, key)
	}
	m, window := rw.o.model(req.Model)
	room := min(cmp.Or(window, m.Window, model.DefaultWindow)/32, pagesRoom) / len(keys)
	text := pagesLead
	for i, key := range slices.Backward(keys) {
		s, err := rw.reopen(ctx, key, req.Request, prefix)
		if err != nil {
			return "", err
		}
		page, err := inside.Of(s).Page(ctx, fold.PageRoom{
			Total: room, Words: room / 2, Plain: true, Beside: true, Seen: o.Kept || i > 0,
		})
		if err := errors.Join(err, s.Close()); err != nil {
			return "", err
		}
		text += "\n" + page + "\n"
	}
	return text, nil
}

// mostBefore is how many compactions of a client recall reaches back over.
const mostBefore = 32

// recall answers a call of our tools, from the whole lineage.
func (rw *Rewriter) recall(ctx context.Context, t *turn, tool, input string) (text string, failed bool) {
	t.conv.mu.Lock()
	sess, key := t.conv.sess, t.conv.track.Before
	t.conv.unlock()
	epoch := sess.Snapshot().Epoch
	text, failed, _ = inside.Of(sess).Answer(ctx, tool, input)
	if tool == recall.ToolCompact || tool == recall.ToolSnip {
		t.req.report.Epochs += sess.Snapshot().Epoch - epoch
	}
	reaches := tool == recall.ToolUnfold || tool == recall.ToolSearch || tool == recall.ToolLedger
	for range mostBefore {
		if key.Session == "" || !reaches || tool == recall.ToolUnfold && !failed {
			break
		}
		old, err := rw.reopen(ctx, key, t.req.Request, t.mode.Prefix)
		if err != nil {
			break
		}
		more, missing, _ := inside.Of(old).Answer(ctx, tool, input)
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
		if key, err = rw.archive.BeforeOf(ctx, key); err != nil {
			break
		}
	}
	return text, failed
}

// newMode decides how a new session gets folded content back. Tools are only added to a
// conversation from its first request on: later they would change what the provider has
// in its cache, and what its thinking is bound to.
func (o *Options) newMode(req request, before *lineage.Origin) lineage.Mode {
	switch {
	case o.Recall == lineage.RecallByFile:
		return lineage.Mode{Recall: lineage.RecallByFile}
	case o.Recall == lineage.RecallOff:
		return lineage.Mode{Recall: lineage.RecallOff}
	case !req.HasTools():
		return lineage.Mode{Recall: lineage.RecallOff, Why: "its first request has no tools"}
	case before != nil: // the client's tools had ours behind them until now
		return before.Mode
	case lineage.Answered(req.Request):
		return lineage.Mode{Recall: lineage.RecallOff, Why: "it was first seen after an answer of the model"}
	}
	return lineage.Mode{Recall: lineage.RecallByTools, Snip: inside.Snipper(o.Policy, false, 0) != nil}
}

// renamed returns what we wrote into a view, with the name that unfold has now.
func renamed(m lineage.Mode, text string) string {
	return unfoldCall.ReplaceAllLiteralString(text, m.Prefix+recall.ToolUnfold+`("`)
}

var unfoldCall = regexp.MustCompile(`(?:` + lineage.ToolPrefix + `)*` + recall.ToolUnfold + `\("`)

// stubs returns how a session's stubs say to get their content back; nil if they do not.
func stubs(m lineage.Mode, dir string, key store.SessionKey) func(handle string) string {
	switch m.Recall {
	case lineage.RecallByTools:
		return func(handle string) string { return m.Prefix + pleat.UnfoldCall(handle) }
	case lineage.RecallByFile:
		return func(handle string) string { return "read " + recallFile(dir, key, handle) }
	}
	return nil
}

// recallFile is the file with the content of a handle. Forks share the files of their
// family, because they share its stubs.
func recallFile(dir string, key store.SessionKey, handle string) string {
	return filepath.Join(dir, lineage.Short(key.Tenant), lineage.Family(key.Session), handle+".txt")
}

// writeFiles writes what was folded since the last time, where stubs name files. The files
// are there before the view that names them goes out.
func (c *conversation) writeFiles(ctx context.Context, dir string) error {
	if c.track.Mode.Recall != lineage.RecallByFile {
		return nil
	}
	for _, f := range c.sess.Folds()[c.written:] {
		u, err := c.sess.Unfold(ctx, recall.UnfoldRequest{Handle: f.Handle})
		if err == nil {
			err = writeOnce(recallFile(dir, c.key, f.Handle), u.Whole)
		}
		if err != nil {
			return fmt.Errorf("keep %s as a file: %w", f.Handle, err)
		}
		c.written++
	}
	return nil
}

// writeOnce writes a file, whole or not at all, that only its owner can read.
func writeOnce(name, text string) error {
	if info, err := os.Stat(name); err == nil && info.Size() == int64(len(text)) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
