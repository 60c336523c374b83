package toolcall

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/internal/client"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// How much of a result's two ends is read to learn how the call ended.
const (
	headLook = 4 << 10
	tailLook = 8 << 10
	nearEnd  = 2 << 10
)

// DescribeResult derives the facts of a result, given the facts of its call: the same
// text is an answer to one call and a failure of another. It is a pure function; it reads
// the text once for its size and otherwise only at both ends.
func DescribeResult(call CallFacts, r transcript.ToolResult) ResultFacts {
	txt := r.Text()
	f := ResultFacts{Outcome: Succeeded, Bytes: len(txt), Lines: text.LineCount(txt)}
	head, tail := txt[:min(len(txt), headLook)], txt[max(0, len(txt)-tailLook):]
	runs := call.Command != "" || call.Kind == CallRun
	if code, ok := exitCode(head, tail, runs || isPatchEnvelope(head)); ok {
		f.ExitCode = &code
	}
	switch {
	case r.Error:
		f.Outcome = Failed
	case f.ExitCode != nil && *f.ExitCode != 0:
		if !foundNothing(call, *f.ExitCode, head) {
			f.Outcome = Failed
		}
	case saysFailed(call, head):
		f.Outcome = Failed
	case call.Command != "" && call.Kind >= CallRun && (f.ExitCode == nil || call.Filtered) &&
		showsFailure(tail[max(0, len(tail)-nearEnd):]):
		f.Outcome = Failed
	}
	if f.Started = started(head); f.Started != "" && f.Outcome == Succeeded && f.ExitCode == nil {
		f.Outcome = Running
	}
	if call.Task != "" { // a question has been answered, whatever it was about
		if f.Outcome == Running {
			f.Outcome = Succeeded
		}
		if _, end, told := TaskEnd(head); told && !r.Error {
			f.Outcome, f.ExitCode = end.Outcome, end.ExitCode
		} else if f.ExitCode == nil {
			f.Started = call.Task // no end is known
		}
	}
	if _, dir, ok := strings.Cut(tail, "\nShell cwd was reset to "); ok && runs {
		f.Cwd, _, _ = strings.Cut(dir, "\n")
	}
	if f.Outcome == Failed {
		f.ErrorLine = tellingLine(call, head, tail, len(txt))
		if r.Error && annotate.Refused(head) {
			f.ErrorLine = "says that the user rejected it" // clients do, at length
		}
	} else {
		f.Replaced = replaced(call, head)
		f.Unchanged = call.Kind == CallRead && saysUnchanged(txt)
	}
	return f.own()
}

// saysUnchanged recognizes the notes with which agents answer the reading of a file that
// they have shown already: Claude Code's, and pleat's own.
func saysUnchanged(txt string) bool {
	return len(txt) < 600 && text.HasAnyPrefix(txt, "[unchanged ", "File unchanged since last read.")
}

// isPatchEnvelope recognizes {"output":…,"metadata":{"exit_code":…}}.
func isPatchEnvelope(head string) bool { return strings.HasPrefix(head, `{"output":`) }

// exitCode finds the exit code that agents write before or after a command's output.
// Only the agents' own lines count: the output itself may say anything.
func exitCode(head, tail string, runs bool) (int, bool) {
	if !runs {
		return 0, false
	}
	if isPatchEnvelope(head) {
		if i := strings.LastIndex(tail, `"exit_code":`); i >= 0 {
			return leadingInt(tail[i+len(`"exit_code":`):])
		}
		return 0, false
	}
	for line := range strings.Lines(head) {
		line = strings.TrimSpace(line)
		if code, ok := exitLine(line, client.All().Result.Heads); ok {
			return code, true
		}
		if line == "Output:" || !isEnvelope(line) {
			break
		}
	}
	end := strings.TrimRight(tail, " \r\n")
	for range 4 {
		i := strings.LastIndexByte(end, '\n')
		line := strings.TrimSpace(end[i+1:])
		if code, ok := exitLine(line, client.All().Result.Tails); ok {
			return code, true
		}
		if i < 0 || !text.HasAnyPrefix(line, "Process Group PGID:", "Signal:", "Error:", "Background PIDs:", "</") {
			break // nothing else comes after the exit code
		}
		end = end[:i]
	}
	return 0, false
}

// exitLine reads the exit code of a line that begins in one of the given ways.
func exitLine(line string, prefixes []string) (int, bool) {
	for _, prefix := range prefixes {
		if rest, ok := strings.CutPrefix(line, prefix); ok && len(rest) < 12 {
			return leadingInt(rest)
		}
	}
	return 0, false
}

func leadingInt(s string) (int, bool) {
	s = strings.TrimSpace(s)
	sign := len(s) - len(strings.TrimPrefix(s, "-"))
	n, err := strconv.Atoi(s[:text.DigitsEnd(s, sign)])
	return n, err == nil
}

// foundNothing reports whether a search ended with 1 because there was nothing to find.
func foundNothing(call CallFacts, code int, head string) bool {
	for line := range strings.Lines(head) {
		if line = strings.TrimSpace(line); line != "" && !isEnvelope(line) && !strings.HasPrefix(line, "No matches") {
			return false
		}
	}
	return code == 1 && call.Kind == CallRead
}

// isEnvelope recognizes the lines that agents put around a command's output.
func isEnvelope(line string) bool {
	_, begins := exitLine(line, client.All().Result.Heads)
	_, ends := exitLine(line, client.All().Result.Tails)
	return begins || ends || slices.ContainsFunc(client.All().Result.Lines, func(s string) bool {
		return line == s || strings.HasSuffix(s, " ") && strings.HasPrefix(line, s)
	})
}

// shortFailures begin failures too, but also files and output; they count only in a
// short answer to a tool that is no command.
var shortFailures = []string{
	"Error:", "Error ", "error:", "ERROR:", "ENOENT", "EACCES", "File not found", "File does not exist", "No such file",
	"Could not find ", "Cannot ", "Failed to ", "Unable to ", "Invalid ", "You must read ", "Unknown tool",
	"Permission denied", "String to replace not found", "No replacement was performed",
	`{"error":"`, `{"error": "`, `{"success":false`, `{"isError":true`,
}

// saysFailed reports whether the result, by its first words, is a failure.
func saysFailed(call CallFacts, head string) bool {
	head = strings.TrimLeft(head, " \r\n\t")
	short := call.Command == "" && len(head) <= 600
	return text.HasAnyPrefix(head, client.All().Result.Failures...) || short && text.HasAnyPrefix(head, shortFailures...)
}

// failureStarts begin lines, and failureMarks are in lines, that test runners, compilers and
// shells write only when something failed. They count at the end of the output of a command
// whose exit code is not known, or may not be the command's own.
var (
	failureStarts = []string{
		"FAIL\t", "FAIL\n", "--- FAIL: ", "FAIL: ", "FAILED ", "npm ERR!", "npm error ", "error: could not compile",
		"error[E", "panic: ", "fatal: ", "make: *** ", "BUILD FAILED", "Segmentation fault",
		"Traceback (most recent call last):", "Error: unknown ", "error: unrecognized ", "test result: FAILED",
	}
	failureMarks = []string{": command not found", " ERROR task failed", "ELIFECYCLE"}
)

// showsFailure reports whether a line says that a command failed.
func showsFailure(tail string) bool {
	for line := range strings.Lines(tail) {
		line = strings.TrimRight(line, "\r\n") + "\n"
		counts := text.HasAnyPrefix(strings.TrimSpace(line), "=", "Test Files ", "Tests ", "Tests:", "Test Suites:") &&
			strings.Contains(line, " failed") && !strings.Contains(line, " 0 failed")
		status, _ := exitLine(strings.TrimSpace(line), []string{"exit status "}) // as Go's tools say it
		if counts || status != 0 || text.HasAnyPrefix(line, failureStarts...) || text.ContainsAny(line, failureMarks...) {
			return true
		}
	}
	return false
}

// maxErrorLine bounds the length of a failure's line in bytes.
const maxErrorLine = 240

// tellingLine chooses the most telling line of a failure. A tool says at once what is
// wrong; in the output of a command it is the first line that names an error the way
// programs do, else the first that sounds like one, else the first line at all.
func tellingLine(call CallFacts, head, tail string, size int) string {
	txt := head
	if rest := size - len(head); rest > 0 { // the tail from its first whole line that is not in the head
		tail = tail[max(0, len(tail)-rest):]
		txt += tail[strings.IndexByte(tail, '\n')+1:]
	}
	if isPatchEnvelope(txt) {
		txt = strings.TrimPrefix(strings.ReplaceAll(txt, `\n`, "\n"), `{"output":"`)
	}
	txt = strings.TrimPrefix(txt, client.ToolError.Open)
	best, rank := "", 0
	for raw := range strings.Lines(txt) {
		line := strings.TrimSpace(raw)
		if line == "" || isEnvelope(line) {
			continue
		}
		n := 4
		if call.Command != "" {
			n = telling(raw, call.Kind)
		}
		if n > rank {
			best, rank = line, n
		}
	}
	best = strings.TrimSuffix(best, client.ToolError.Close)
	return strings.ToValidUTF8(text.CutText(best, maxErrorLine), "")
}

// The parts of lines that programs write about errors, and words that only sound so.
var (
	errorParts = []string{
		"--- FAIL", "error TS", "error:", "Error:", "ERROR:", "error[", "panic:", "fatal:", "FATAL", "Exception:",
		"CONFLICT", "AssertionError",
		"[rejected]", "undefined:", "command not found", "No such file or directory", "no such file",
		"Permission denied", "permission denied", "cannot find", "verification failed", "npm ERR!", "doesn't want to",
	}
	errorWords = []string{
		"FAIL", "ERROR", "error", "Error", "failed", "Failed", "not found", "Not Found", "denied", "annot ", "nvalid",
		"xpected", "refused",
		"timed out", "nknown", "rejected",
	}
)

// telling ranks a line of a command's output by how much it says about a failure, from 2
// to 4. What a command that only reads shows is other people's text: of that only the
// lines count that begin with a program's name.
func telling(raw string, kind CallKind) int {
	raw = raw[:min(len(raw), 2000)]
	line := strings.TrimSpace(raw)
	if name, _, ok := strings.Cut(line, ": "); kind == CallRead {
		if ok && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz()0123456789:") == "" {
			return 4
		}
		return 2
	}
	switch {
	case text.ContainsAny(line, errorParts...), raw[0] != ' ' && raw[0] != '\t' && isPlace(line):
		return 4
	case text.ContainsAny(line, errorWords...):
		return 3
	}
	return 2
}

// isPlace recognizes a compiler's message: path:line: or path:line:column: in front.
func isPlace(line string) bool {
	file, rest, ok := strings.Cut(line, ":")
	if !ok || file == "" || strings.ContainsAny(file, " \t\"'(") || !strings.Contains(file, ".") {
		return false
	}
	digits := text.DigitsEnd(rest, 0)
	return digits > 0 && digits < len(rest) && rest[digits] == ':' && strings.Contains(rest[digits:], " ")
}

// replaced reports whether a result says that the file which the call wrote was there before.
func replaced(call CallFacts, head string) bool {
	return call.Kind == CallCreate && len(call.Paths) == 1 && call.Command == "" &&
		text.ContainsAny(head[:min(len(head), 512)], "has been updated", "Successfully overwrote", "overwritten",
			"Successfully modified", "files:\nM ")
}
