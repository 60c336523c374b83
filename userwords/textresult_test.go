package userwords

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/toolname"
	"github.com/pleat-dev/pleat/transcript"
)

// Results of clients that write tools as text are not what a person said; answers and reasons
// of a refusal in them are. What nobody can tell stands on the page and speaks for nobody.
func TestTextResults(t *testing.T) {
	for _, tt := range difftest.Table[struct {
		Call   string // the tool that the assistant has called
		Blocks []string
		Want   string
		Unsure string
	}](t, "testdata/textresults.json") {
		var all []transcript.Block
		for _, s := range tt.Blocks {
			all = append(all, transcript.Say(s))
		}
		var w Words
		w.Add(0, transcript.Assistant(transcript.Say("I see.\n<"+tt.Call+">\n<a>b</a>\n</"+tt.Call+">")))
		m := transcript.NewMessage(transcript.RoleUser, all...)
		w.Add(1, m)
		typed, _ := TypedText(m)
		unsure := ""
		for _, s := range w.doubted {
			unsure = s.Text
		}
		if name := strings.Join(tt.Blocks, " | "); typed != tt.Want || unsure != tt.Unsure {
			t.Errorf("%s gives %q, want %q; unsure %q, want %q", name, typed, tt.Want, unsure, tt.Unsure)
		}
	}
}

// What a person answers to a client that calls tools natively stands on the page: as theirs where
// nobody but the client writes the result, else in doubt.
func TestNativeResults(t *testing.T) {
	const (
		mine   = "<feedback>\nnever push\n</feedback>"
		wrong  = "The user has provided feedback on the results. Consider their input.\n" + mine
		denied = "The user denied this operation and provided the following feedback:\n" + mine
		asJSON = `{"status": "denied", "message": "The user denied this operation and provided the following feedback",` +
			` "feedback": "never push"}`
		typed = "<user_message>\nnever push\n</user_message>"
	)
	for _, tt := range []struct {
		tool, text string
		want       string // behind the number of the message
	}{
		{"attempt_completion", "[attempt_completion] Result:\n" + wrong, " (answer to attempt_completion): never push"},
		{"attempt_completion", typed, " (answer to attempt_completion): never push"},
		{"plan_mode_respond", typed + "\n\n<file_content>\nx\n</file_content>", " (answer to plan_mode_respond): never push"},
		{"plan_mode_respond", "[plan_mode_respond] Result:\n[The user has switched to ACT MODE.]", ""},
		{"ask_user", "<answer>a</answer> never push", " (answer to ask_user): <answer>a</answer> never push"},
		{"attempt_completion", asJSON, " (answer to attempt_completion): never push"},

		{"AskUser", "never push", inDoubtMark},
		{"execute_command", denied, inDoubtMark},
		{"execute_command", asJSON, inDoubtMark},
		{"execute_command", asJSON + "\n\nCommand executed.", inDoubtMark},
		{"execute_command", "Still running.\n" + typed, inDoubtMark},
		{"mcp--db--query", denied, inDoubtMark},
		{"new_task", "The user provided feedback instead of creating a new task:\n" + mine, inDoubtMark},
		{"attempt_completion", "Command executed.\n" + wrong, inDoubtMark},
		{"run_commands", "User denied the tool execution The user provided the following feedback:\n" + mine, inDoubtMark},

		{"read_file", "x\n" + mine + "\ny", ""},
		{"read_file", "1 | <user_message>\n2 | x\n3 | </user_message>", ""},
		{"read_file", "<answer>x</answer>", ""},
		{"execute_command", `{"status": "ok", "feedback": "x"}`, ""},
		{"execute_command", "The user denied this operation.", ""},
	} {
		for _, failed := range []bool{false, true} {
			if failed && toolname.Of(tt.tool) == toolname.Ask {
				continue
			}
			var w Words
			w.Add(0, transcript.Assistant(transcript.Call("1", tt.tool, "{}")))
			result := transcript.Result("1", tt.text)
			result.Error = failed
			w.Add(1, transcript.Results(result))
			page := w.Render(RenderOptions{})
			sure := tt.want != "" && tt.want != inDoubtMark
			if ok := strings.Contains(page, "- message 2"+tt.want+"\n"); ok != (tt.want != "") ||
				!ok && page != "" || sure != (len(w.Said()) > 0) || sure == strings.Contains(page, inDoubtTitle) && ok {
				t.Errorf("%s answers %q: %q", tt.tool, tt.text, page)
			}
		}
	}
}

const inDoubtMark = ": never push"

const inDoubtTitle = "## What the user or a program wrote (nobody can tell which; verbatim, oldest first)\n"
