package proxy

import (
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/recall"
)

// toolPrefix comes before the names of the recall tools in sessions whose client has a
// tool of one of those names itself; twice, if it has one of these names too.
const toolPrefix = "pleat_"

// newMode decides how a new session gets folded content back. Tools are only added to a
// conversation from its first request on: later they would change what the provider has
// in its cache, and what its thinking is bound to.
func (o *Options) newMode(req *request, before *origin) mode {
	switch {
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
func (m mode) stubs() func(handle string) string {
	if m.Recall == RecallByTools {
		return func(handle string) string { return m.Prefix + pleat.UnfoldCall(handle) }
	}
	return func(string) string { return "" }
}

// family is the part of a session's name that its forks share.
func family(session string) string {
	name, _, _ := strings.Cut(session, "-")
	return name
}
