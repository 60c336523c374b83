package proxy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
)

// toolPrefix comes before the names of the recall tools in sessions whose client has a
// tool of one of those names itself; twice, if it has one of these names too.
const toolPrefix = "pleat_"

// newMode decides how a new session gets folded content back. Tools are only added to a
// conversation from its first request on: later they would change what the provider has
// in its cache, and what its thinking is bound to.
func (o *Options) newMode(req *request, before *origin) mode {
	switch {
	case o.Recall == RecallByFile && !o.ObserveOnly:
		return mode{Recall: RecallByFile}
	case o.ObserveOnly, o.Recall == RecallOff, !req.hasTools():
		return mode{Recall: RecallOff}
	case before != nil: // the client's tools had ours behind them until now
		return before.mode
	case answered(req):
		return mode{Recall: RecallOff}
	}
	return mode{Recall: RecallByTools, Snip: policy.Snipper(o.Policy, false, 0) != nil}
}

// free returns the mode with names for our tools that none of the client's has. Clients
// add tools in the middle of a conversation.
func (m mode) free(req *request) mode {
	taken := func(t model.Tool) bool { return m.own(t.Name) }
	for slices.ContainsFunc(req.tools, taken) || slices.ContainsFunc(req.inInput, taken) {
		m.Prefix += toolPrefix
	}
	return m
}

// renamed returns what we wrote into a view, with the name that unfold has now.
func (m mode) renamed(text string) string {
	return unfoldCall.ReplaceAllLiteralString(text, m.Prefix+recall.ToolUnfold+`("`)
}

var unfoldCall = regexp.MustCompile(`(?:` + toolPrefix + `)*` + recall.ToolUnfold + `\("`)

func (m mode) own(name string) bool {
	if m.Recall != RecallByTools {
		return false
	}
	bare, ok := strings.CutPrefix(name, m.Prefix)
	return ok && (slices.ContainsFunc(recallTools, func(t model.Tool) bool { return t.Name == bare }) ||
		m.Snip && bare == recall.ToolSnip)
}

var recallTools = recall.Tools()

func (m mode) tools(req *request) []model.Tool {
	if m.Recall != RecallByTools || !req.hasTools() {
		return nil
	}
	return m.prefixed()
}

// prefixed lists the recall tools by the names they have in the session.
func (m mode) prefixed() []model.Tool {
	list := slices.Clone(recallTools)
	if m.Snip {
		list = append(list, recall.SnipTool())
	}
	for i := range list {
		list[i].Name = m.Prefix + list[i].Name
	}
	return list
}

// stubs returns how a session's stubs say to get their content back.
func (m mode) stubs(dir string, key store.SessionKey) func(handle string) string {
	switch m.Recall {
	case RecallByTools:
		return func(handle string) string { return m.Prefix + pleat.UnfoldCall(handle) }
	case RecallByFile:
		return func(handle string) string { return "read " + recallFile(dir, key, handle) }
	}
	return func(string) string { return "" }
}

// recallFile is the file with the content of a handle. Forks share the files of their
// family, because they share its stubs.
func recallFile(dir string, key store.SessionKey, handle string) string {
	return filepath.Join(dir, short(key.Tenant), family(key.Session), handle+".txt")
}

// family is the part of a session's name that its forks share.
func family(session string) string {
	name, _, _ := strings.Cut(session, "-")
	return name
}

// writeFiles writes what was folded since the last time, where stubs name files. The files
// are there before the view that names them goes out.
func (c *conversation) writeFiles(ctx context.Context, dir string) error {
	if c.mode.Recall != RecallByFile {
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
