package exchange

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
)

// newMode decides how a new session gets folded content back. Tools are only added to a
// conversation from its first request on: later they would change what the provider has
// in its cache, and what its thinking is bound to.
func (o *Options) newMode(req *protocol.Request, before *lineage.Origin) lineage.Mode {
	switch {
	case o.Recall == lineage.RecallByFile && !o.ObserveOnly:
		return lineage.Mode{Recall: lineage.RecallByFile}
	case o.ObserveOnly, o.Recall == lineage.RecallOff, !req.HasTools():
		return lineage.Mode{Recall: lineage.RecallOff}
	case before != nil: // the client's tools had ours behind them until now
		return before.Mode
	case lineage.Answered(req):
		return lineage.Mode{Recall: lineage.RecallOff}
	}
	return lineage.Mode{Recall: lineage.RecallByTools, Snip: policy.Snipper(o.Policy, false, 0) != nil}
}

// renamed returns what we wrote into a view, with the name that unfold has now.
func renamed(m lineage.Mode, text string) string {
	return unfoldCall.ReplaceAllLiteralString(text, m.Prefix+recall.ToolUnfold+`("`)
}

var unfoldCall = regexp.MustCompile(`(?:` + lineage.ToolPrefix + `)*` + recall.ToolUnfold + `\("`)

// stubs returns how a session's stubs say to get their content back.
func stubs(m lineage.Mode, dir string, key store.SessionKey) func(handle string) string {
	switch m.Recall {
	case lineage.RecallByTools:
		return func(handle string) string { return m.Prefix + pleat.UnfoldCall(handle) }
	case lineage.RecallByFile:
		return func(handle string) string { return "read " + recallFile(dir, key, handle) }
	}
	return func(string) string { return "" }
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
			err = writeOnce(recallFile(dir, c.key, f.Handle), u.Whole())
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
