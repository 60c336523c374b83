package bench

// Agent is when an agent compacts by itself, and what that leaves: enough to say what its
// requests cost.
type Agent struct {
	Name string
	// Limit is the size of a request at which it compacts, in a window of so many tokens.
	Limit func(window int) int
	Keeps int // tokens after it, without the system prompt and the tools
}

// Agents are agents that compact by themselves. The limits are those of their documentation
// and source; Claude Code keeps the mean of 19 compactions in public sessions, with the
// files that it reads again, Codex what was measured of a real one, opencode a tail of
// 15,000 tokens and the summary.
func Agents() []Agent {
	return []Agent{
		{"claude-code", func(w int) int { return w - 33_000 }, 25_500},
		{"codex", func(w int) int { return w * 9 / 10 }, 4_500},
		{"opencode", func(w int) int { return w - 32_000 }, 15_000 + AgentSummary},
	}
}

// AgentSummary is the mean length of a summary in those 19 compactions.
const AgentSummary = 3_100

// AgentReplay is an agent at work on one session.
type AgentReplay struct {
	Agent  Agent
	Window int
	Fixed  int // tokens of the system prompt and the tools

	gone int // tokens that the agent's request does not have any more
}

// Next takes the size of the next request, had nobody compacted. It returns the agent's, and
// if it compacted before it, the size of the request that asked for the summary: that one
// finds all before it in the cache.
func (r *AgentReplay) Next(whole int) (tokens, asked int) {
	tokens = whole - r.gone
	if left := r.Fixed + r.Agent.Keeps; tokens >= r.Agent.Limit(r.Window) && tokens > left {
		r.gone = whole - left
		return left, tokens
	}
	return tokens, 0
}

// replayAgent is the requests of a session that an agent compacts by itself, given those of
// the whole session.
func replayAgent(a Agent, whole []step) []step {
	r := AgentReplay{Agent: a, Window: replayWindow, Fixed: fixedTokens}
	out := make([]step, len(whole))
	for i, s := range whole {
		tokens, asked := r.Next(fixedTokens + s.prompt)
		s.prompt, s.asked = tokens-fixedTokens, asked
		if s.common, s.found = max(s.common-r.gone, 0), max(s.found-r.gone, 0); asked > 0 {
			s.common, s.found = 0, 0
		}
		out[i] = s
	}
	return out
}
