package sessionfile

import (
	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// PartNames are the parts of a view in the order in which they are shown.
func PartNames(p fold.Parts) []Share {
	return []Share{
		{Name: "system prompt", Tokens: p.System},
		{Name: "tools", Tokens: p.Tools},
		{Name: "user", Tokens: p.User},
		{Name: "assistant", Tokens: p.Assistant},
		{Name: "thinking", Tokens: p.Thinking},
		{Name: "tool calls", Tokens: p.Calls},
		{Name: "tool results", Tokens: p.Results},
		{Name: "other", Tokens: p.Other},
		{Name: "stubs", Tokens: p.Stubs},
		{Name: "page: user's words", Tokens: p.Pins},
		{Name: "page: ledger", Tokens: p.Ledger},
		{Name: "page: the rest", Tokens: p.Digest},
	}
}

// Triggers are the reasons of epochs for people.
var Triggers = map[fold.Trigger]string{
	fold.TriggerRed:     "the window is nearly full",
	fold.TriggerAsked:   "asked for",
	fold.TriggerRefused: "the provider said it is too long",
	fold.TriggerPays:    "it saves money",
	fold.TriggerIdle:    "the cache is cold",
	fold.TriggerCliff:   "a price step is near",
	fold.TriggerTurn:    "the policy folds before every request",
	fold.TriggerIllegal: "the provider would refuse what was sent before",
}

// Whats maps every tool result to a description of its call.
func Whats(s *pleat.Session) map[transcript.BlockRef]string {
	whats := make(map[transcript.BlockRef]string)
	for _, e := range s.Ledger(ledger.Filter{}) {
		if e.Outcome != toolcall.Unanswered {
			whats[e.Result] = e.Tool + " " + e.Args
		}
	}
	return whats
}
