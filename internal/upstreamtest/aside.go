package upstreamtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/transcript"
)

var (
	// summaries are what clients say when they ask for a summary of their conversation.
	summaries = phrases{
		"create a detailed summary of the conversation", "CONTEXT CHECKPOINT COMPACTION", "anchored summary",
		"context summarization a", "summarizes a conversation when", "summarizes internal chat history",
		"state_snapshot",
	}
	// compacted is what the conversation of a client that has cut it begins with.
	compacted = phrases{
		"session is being continued from a previous conversation", "Another language model started to solve",
		"What did we do so far", "was compacted into the following summary", "Earlier context was compacted",
		"Thanks for the additional context",
	}
)

// phrases are looked for in every request: one by one they are found many times faster than
// by a regular expression, above all under the race detector.
type phrases []string

func (p phrases) in(text string) bool {
	return slices.ContainsFunc(p, func(phrase string) bool { return strings.Contains(text, phrase) })
}

// side reports whether a request is no turn of a conversation.
func (r *request) side() bool { return len(r.tools) == 0 || r.summary() }

// summary reports whether the client asks for a summary.
func (r *request) summary() bool {
	for _, m := range slices.Backward(r.messages) { // reminders of the client may follow
		if m.Role() == transcript.RoleAssistant {
			break
		}
		if m.Role() == transcript.RoleUser && summaries.in(m.Text()) {
			return true
		}
	}
	return len(r.messages) > 0 && len(r.tools) == 0 && summaries.in(r.body)
}

// summarize is a summary as a model writes it. It names what is folded.
func (r *request) summarize(step int) string {
	lines := []string{
		"The commands of the script are being run one after the other, as the user has asked.",
		fmt.Sprintf("The newest of them said step-%d-done, and the others are still to be run after it.", step),
	}
	if h := r.handles(); len(h) > 0 {
		lines = append(lines, fmt.Sprintf("An early output that may be needed again can be had with unfold(%q).", h[0]))
	}
	return strings.Join(lines, "\n")
}

// recallsOf counts the recalls of a request's conversation. They are remembered until the next
// one begins: they may be folded again.
func (s *Server) recallsOf(r *request) int {
	n := 0
	for _, m := range r.messages {
		for _, c := range m.Calls() {
			if isRecall(c.ID) {
				n++
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.step() == 0 {
		s.recalls = 0
	}
	s.recalls = max(s.recalls, n)
	return s.recalls
}

// recalls reports whether an answer, or a part of one, does nothing but recall: the turn goes on.
// OpenAI Responses has the thinking before a call in a message of its own.
func recalls(m transcript.Message) bool {
	calls := m.Calls()
	if len(calls) == 0 {
		return m.Role() == transcript.RoleAssistant && m.Text() == ""
	}
	return !slices.ContainsFunc(calls, func(c transcript.ToolCall) bool { return !isRecall(c.ID) })
}

// unseen finds results that were folded before the model has done something about them: those
// after its last answer that does more than recall. A request for a digest shows results that
// were seen before.
func (r *request) unseen() (out []string) {
	if strings.Contains(r.body, "about to be folded away.") {
		return nil
	}
	hidden, there := false, false
	for _, m := range slices.Backward(r.messages) {
		if m.Role() == transcript.RoleAssistant && !recalls(m) {
			break
		}
		hidden = hidden || recalls(m)
		there = there || m.Role() == transcript.RoleUser && !showsFold.MatchString(m.Text())
		for res := range results(m) {
			if isRecall(res.CallID) {
				continue
			}
			there = true
			// One that is too large for the window is shown by its beginning and end from the start.
			text := res.Parts.Text()
			if showsCut.MatchString(text) || showsFold.MatchString(text) && !strings.Contains(text, "\nIt begins:\n") {
				out = append(out, "folded before it was seen: "+res.CallID)
			}
		}
	}
	if hidden && !there {
		out = append(out, "what the client sent last is gone in a hidden round")
	}
	return out
}

// empty reports whether the client has sent a result of the newest command without what it
// printed. Qwen Code does, on a busy machine.
func (r *request) empty() bool {
	for _, m := range slices.Backward(r.messages) {
		if m.Role() == transcript.RoleAssistant {
			break
		}
		for res := range results(m) {
			if text := res.Parts.Text(); shellID.MatchString(res.CallID) && !doneLine.MatchString(text) &&
				!showsFold.MatchString(text) && !showsCut.MatchString(text) {
				return true
			}
		}
	}
	return false
}

const (
	agentPrompt = "Work through the steps of the sub-agent."
	agentID     = "call_agent_from_upstream"
)

// isAgent reports whether the request is a sub-agent's.
func (r *request) isAgent() bool {
	return slices.ContainsFunc(r.messages[:min(len(r.messages), 4)], func(m transcript.Message) bool {
		return m.Role() == transcript.RoleUser && strings.Contains(m.Text(), agentPrompt)
	})
}

// subAgent asks for a sub-agent, once.
func (s *Server) subAgent(r *request, step int) (call, bool) {
	if s.o.AgentAt == 0 || step < s.o.AgentAt || r.isAgent() {
		return call{}, false
	}
	names := []string{"Agent", "Task", "task", "agent", "generalist", "spawn_agent", "use_subagents"}
	i := slices.IndexFunc(r.tools, func(t model.Tool) bool { return slices.Contains(names, t.Name) })
	if i < 0 {
		return call{}, false
	}
	tool, kind := r.tools[i], "general-purpose"
	s.mu.Lock()
	asked := s.agent
	s.agent = true
	s.mu.Unlock()
	if asked {
		return call{}, false
	}
	if tool.Name == "task" {
		kind = "general"
	}
	input, err := fill(tool.Schema, map[string]string{
		"description": "the sub-agent's steps", "subagent_type": kind, "prompt": agentPrompt, "message": agentPrompt,
		"request": agentPrompt, "prompt_1": agentPrompt,
	})
	return call{id: agentID, name: tool.Name, input: input}, err == nil
}

// split finds results of one answer that stand in several messages, on wires that have them in one.
func split(msgs []transcript.Message) (out []string) {
	before := false
	for i, m := range msgs {
		has := m.Blocks().Has(transcript.KindToolResult)
		if before && has {
			out = append(out, fmt.Sprintf("results in two messages: %d", i))
		}
		before = has
	}
	return out
}

// barred finds stubs that promise a way back, or say that a command need not be repeated, where
// the model has no tools for it.
func (r *request) barred() []string {
	recalls := func(t model.Tool) bool { return strings.HasSuffix(t.Name, recall.ToolUnfold) } // it may have a prefix
	if r.side() || slices.ContainsFunc(r.tools, recalls) || !showsFold.MatchString(r.body) {
		return nil
	}
	var out []string
	for _, words := range []string{"do not repeat it to see it", "unfold(", "Nothing is lost"} {
		if strings.Contains(r.body, words) {
			out = append(out, "no way back, but: "+words)
		}
	}
	return out
}
