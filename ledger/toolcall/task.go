package toolcall

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/client"
	"github.com/pleat-dev/pleat/internal/text"
)

// pollArgs name what goes on in the background.
var pollArgs = []string{"session_id", "bash_id", "task_id", "shell_id", "shellId", "agent_id", "agentId"}

// polled is what a call asks about, or writes to, that goes on in the background.
func polled(class client.Class, args []arg) string {
	if class != client.Poll && class != client.Input {
		return ""
	}
	if a, ok := argument(args, pollArgs...); ok {
		return word(strings.Trim(string(a.raw), `"`))
	}
	return ""
}

// started finds what a result says goes on in the background: Codex's sessions, Claude Code's
// commands and sub-agents.
func started(head string) string {
	for _, mark := range []string{
		"Process running with session ID ", "running in background with ID: ", "Async agent launched successfully",
	} {
		if _, rest, ok := strings.Cut(head[:min(len(head), 600)], mark); ok {
			if _, id, ok := strings.Cut(rest, "agentId: "); ok {
				rest = id
			}
			return word(rest)
		}
	}
	return ""
}

// word is the name at the beginning of a text.
func word(s string) string {
	end := 0
	for end < min(len(s), 64) && (s[end] == '-' || text.ByteClass[s[end]]&text.ByteWord != 0 && s[end] < 0x80) {
		end++
	}
	return s[:end]
}

// TaskEnd reads how something in the background stands, as Claude Code writes it: in a
// notice, or in the answer of a tool that asks. It is not told if it goes on.
func TaskEnd(txt string) (id string, f ResultFacts, told bool) {
	tag := func(name string) string {
		_, rest, _ := strings.Cut(txt, "<"+name+">")
		value, _, ok := strings.Cut(rest, "</"+name+">")
		if !ok {
			return ""
		}
		return strings.TrimSpace(value)
	}
	id = word(tag("task-id") + tag("task_id"))
	code := tag("exit_code")
	if _, rest, ok := strings.Cut(tag("summary"), "exit code "); ok {
		code = rest
	}
	if n, ok := leadingInt(code); ok {
		f.ExitCode = &n
	}
	switch status := tag("status"); {
	case f.ExitCode != nil && *f.ExitCode != 0, status == "failed", status == "killed", status == "error":
		f.Outcome, f.ErrorLine = Failed, text.OneLine(tag("summary"), maxErrorLine)
	case status == "completed":
		f.Outcome = Succeeded
	default:
		return id, f, false
	}
	return id, f, true
}
