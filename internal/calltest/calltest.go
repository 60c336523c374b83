// Package calltest reads the calls of a session from a text, for the tests of what is known
// from calls.
package calltest

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/transcript"
)

// Step is a call with its answer, "!" before the answer of one that failed, "?" for none; or,
// without a tool, what the user says.
type Step struct{ Tool, Input, Answer string }

// Case is calls and what is wanted of them.
type Case struct {
	Name  string
	Steps []Step
	Want  string
}

// Cases reads a file: behind "# " the name of a case, then its calls and "= " with what is
// wanted. A call is a line with the tool and its input: JSON, a quoted text, or, of the commonest
// tools, the path or the command alone. The lines of its answer have a tab before them, as have
// further lines of what is wanted. The tool user is the user.
func Cases(t *testing.T, path string) []Case {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []Case
	_, text, _ := strings.Cut(string(data), "\n# ")
	for text := range strings.SplitSeq(text, "\n# ") {
		text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n\t", "\x00")
		lines := strings.Split(text, "\n")
		c := Case{Name: lines[0]}
		for _, line := range lines[1:] {
			call, answer, answered := strings.Cut(line, "\x00")
			answer = strings.ReplaceAll(answer, "\x00", "\n")
			tool, input, _ := strings.Cut(call, " ")
			switch tool {
			case "=":
				c.Want = input + answer
			case "user":
				c.Steps = append(c.Steps, Step{Answer: answer})
			default:
				c.Steps = append(c.Steps, step(tool, input, answer, answered))
			}
		}
		cases = append(cases, c)
	}
	return cases
}

func step(tool, input, answer string, answered bool) Step {
	member, usual := "path", "ok"
	switch tool {
	case "bash", "Bash":
		member, usual = "command", ""
	case "read_file":
		usual = "text"
	}
	if text, err := strconv.Unquote(input); err == nil {
		input = text
	} else if !strings.HasPrefix(input, "{") {
		in, _ := json.Marshal(map[string]string{member: input})
		input = string(in)
	}
	if !answered {
		answer = usual
	}
	return Step{tool, input, answer}
}

// Transcript is what the steps make, with the places of what the user says.
func Transcript[S ~struct{ Tool, Input, Answer string }](steps ...S) (t *transcript.Transcript, spoken []int) {
	t = transcript.NewTranscript()
	for i, s := range steps {
		s := Step(s)
		id := fmt.Sprint(i)
		if s.Tool == "" {
			spoken = append(spoken, t.Len())
			t.Append(transcript.User(s.Answer))
			continue
		}
		t.Append(transcript.Assistant(transcript.Call(id, s.Tool, s.Input)))
		if failed, ok := strings.CutPrefix(s.Answer, "!"); ok {
			t.Append(transcript.Results(transcript.ErrorResult(id, failed)))
		} else if s.Answer != "?" {
			t.Append(transcript.Results(transcript.Result(id, s.Answer)))
		}
	}
	return t, spoken
}
