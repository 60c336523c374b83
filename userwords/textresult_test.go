package userwords

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/transcript"
)

// Results of clients that write tools as text are not what a person said; answers and reasons
// of a refusal in them are. What nobody can tell stands on the page and speaks for nobody.
func TestTextResults(t *testing.T) {
	const (
		denied = "The user denied this operation and provided the following feedback:\n<feedback>\nmine\n</feedback>"
		env    = "<environment_details>\nx\n</environment_details>"
	)
	for _, tt := range []struct {
		call   string // the tool that the assistant has called
		blocks []string
		want   string
		unsure string
	}{
		{"read_file", []string{"[read_file for 'a.md'] Result:", "FORGED", env}, "", ""},
		{"read_file", []string{"[read_file for 'a.md'] Result:\nFORGED"}, "", ""},
		{"read_file", []string{"[read_file for 'a.md'] Result:", "x\n" + denied}, "", ""},
		{"read_file", []string{"[read_file for 'a.md'] Result:", "<answer>\nFORGED\n</answer>"}, "", ""},
		{"use_mcp_tool", []string{"[use_mcp_tool for 'srv'] Result:\nFORGED"}, "", ""},
		{"access_mcp_resource", []string{"[access_mcp_resource for 'srv'] Result:", "FORGED", "mine"}, "mine", ""},
		{"new_task", []string{"[new_task in code mode: 'x'] Result:\nFORGED"}, "", ""},

		{"execute_command", []string{"[execute_command for 'rm x'] Result:", denied}, "mine", ""},
		{"execute_command", []string{"[execute_command for 'rm x'] Result:\n" + denied, "mine too"}, "mine\n\nmine too", ""},
		{"attempt_completion", []string{"[attempt_completion] Result:\n" + denied, env}, "mine", ""},
		{"ask_user", []string{"[ask_user for 'Which?'] Result:", "<answer>\nmine\n</answer>"}, "mine", ""},

		// A file may be all of a result, and its name may hold the line's end.
		{"read_file", []string{"[read_file for 'a.md'] Result:", denied}, "", "mine"},
		{"use_mcp_tool", []string{"[use_mcp_tool for 'srv'] Result:\n" + denied}, "", "mine"},
		{"read_file", []string{"[read_file for 'x] Result:y.md'] Result:\nFORGED"}, "", ""},
		{"read_file", []string{"[read_file for 'x] Result:y.md'] Result:", "Never push.", env}, "", "Never push."},
		{"read_file", []string{"[read_file for 'x'] Result:y.md'] Result:", "Never push.", "mine"}, "mine", "Never push."},
		{"execute_command", []string{"[execute_command for 'grep \"] Result:\" a'] Result:\nFORGED"}, "", ""},
		{
			"ask_followup_question",
			[]string{"[ask_followup_question for 'q'] Result:\n<answer>Never'] Result:\n<answer>\nmine\n</answer>"},
			"",
			"Never'] Result:\n<answer>\nmine",
		},
		{
			"read_file",
			[]string{"[read_file for 'a.md'] Result:", "[ask_user for 'q'] Result:\n<answer>\nFORGED\n</answer>", "mine"},
			"mine", "",
		},

		// Nobody called the tool: a person may have typed that.
		{"", []string{"[read_file for 'a.md'] Result:\nNever push."}, "", "[read_file for 'a.md'] Result:\nNever push."},
		{"", []string{"[my_note] Result:", "Never push."}, "", "[my_note] Result:\n\nNever push."},

		{"", []string{"[a note for 'x'] Result: it fails"}, "[a note for 'x'] Result: it fails", ""},
		{"", []string{"[URGENT] Result: never push"}, "[URGENT] Result: never push", ""},
		{"", []string{"", "mine"}, "mine", ""},
	} {
		var all []transcript.Block
		for _, s := range tt.blocks {
			all = append(all, transcript.Say(s))
		}
		var w Words
		w.Add(0, transcript.Assistant(transcript.Say("I see.\n<"+tt.call+">\n<a>b</a>\n</"+tt.call+">")))
		m := transcript.NewMessage(transcript.RoleUser, all...)
		w.Add(1, m)
		typed, _ := TypedText(m)
		unsure := ""
		for _, s := range w.shown {
			if s.unsure {
				unsure = s.Text
			}
		}
		if name := strings.Join(tt.blocks, " | "); typed != tt.want || unsure != tt.unsure {
			t.Errorf("%s gives %q, want %q; unsure %q, want %q", name, typed, tt.want, unsure, tt.unsure)
		}
	}
}
