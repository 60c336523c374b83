package lever_test

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/transcript"
)

func TestSpill(t *testing.T) {
	for _, tt := range []struct {
		name   string
		lever  lever.Spill
		window int
		want   string // results that are shown whole, of 0 (bash, 100 lines) and 1 (read_file, 50 lines)
	}{
		{"above the limit", lever.Spill{Chars: 1_500}, 0, "1"},
		{"below it", lever.Spill{Chars: 5_000}, 0, "01"},
		{
			"a tool's own limit",
			lever.Spill{Chars: 1_500, Tools: map[string]int{"bash": 5_000, "read_file": 100}},
			0,
			"0",
		},
		{"both of one message: the largest goes first", lever.Spill{Message: 2_500}, 0, "1"},
		{"more than a share of the window", lever.Spill{Window: 4}, 2_000, "1"},
		{"exempt", lever.Spill{Chars: 10, Exempt: []string{"bash", "read_file"}}, 0, "01"},
		{"a limit for a class of tools", lever.Spill{Chars: 100, Tools: map[string]int{"@shell": 5_000}}, 0, "0"},
		{"a name before a class", lever.Spill{Tools: map[string]int{"@shell": 100, "Bash": 5_000}}, 0, "01"},
		{"an exempt class", lever.Spill{Chars: 10, Exempt: []string{"@read"}}, 0, "1"},
		{"no limit", lever.Spill{}, 0, "01"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := openWith(
				t,
				&pleat.Options{
					Policy: fold.Policy{Name: "test", AtBirth: fold.Steps{tt.lever}},
					Budget: fold.Budget{Window: tt.window},
				},
			)
			a, b := round(0, "bash", `{"command":"make"}`, 100), round(1, "read_file", `{"path":"a.go"}`, 50)
			say(
				t,
				s,
				transcript.User("Build it."),
				transcript.Assistant(
					a[0].Blocks().At(0),
					b[0].Blocks().At(0),
				),
				transcript.Results(a[1].Blocks().At(0).(transcript.ToolResult),
					b[1].Blocks().At(0).(transcript.ToolResult)),
			)
			if got := shown(t, s, 2); got != tt.want {
				t.Errorf("results %q are shown, want %q", got, tt.want)
			}
		})
	}
	refused(t, lever.Spill{Chars: -1}, "must not be negative")
	refused(t, lever.Spill{Tools: map[string]int{"@shells": 1}}, `no class of tools "@shells"`)
	refused(t, lever.Spill{Tools: map[string]int{"ReadFile": 1, "read_file": 2}},
		`limits for "ReadFile" and "read_file", which are one tool`)
	refused(t, lever.Mask{Exempt: []string{"@reads"}}, `no class of tools "@reads"`)
	refused(t, lever.Supersede{Exempt: []string{"@reads"}}, `no class of tools "@reads"`)
}

// A preview stays, and where the policy names a folder, a plain copy is written to it under
// a name that cannot leave the folder.
func TestSpillCopies(t *testing.T) {
	files := make(map[string]string)
	s := openWith(t, &pleat.Options{
		Policy: fold.Policy{Name: "test", AtBirth: fold.Steps{
			lever.Spill{Chars: 10, Preview: 7, Dir: "out", Stub: "{path} ({size}): {preview}"},
		}},
		KeepFile: func(name string, data []byte) (string, error) { files[name] = string(data); return name, nil },
	})
	long := strings.Repeat("results and more results\n", 100)
	say(t, s, transcript.User("Build it."),
		transcript.Assistant(transcript.Call("../c 1", "bash", `{"command":"make"}`)),
		transcript.Results(transcript.Result("../c 1", long)))
	has(t, s, "out/___c_1.txt (", ": results")
	if files["out/___c_1.txt"] != long {
		t.Errorf("the copy is not the result: %d files", len(files))
	}
}

// What a client puts behind an output for the model stays, and is not counted.
func TestSpillKeepsReminders(t *testing.T) {
	const reminder = "\n\n<system-reminder>\nKnock first.\n</system-reminder>\n<system-reminder>Wear a hat.</system-reminder>\n"
	for _, tt := range []struct {
		name, result string
		want         []string
	}{
		{
			"large", strings.Repeat("knocking\n", 200),
			[]string{"Done; do not repeat", "It ends:", "knocking\n" + reminder},
		},
		{"small", strings.Repeat("knocking\n", 110), []string{strings.Repeat("knocking\n", 110) + reminder}},
		{
			"nothing but reminders",
			strings.Repeat("<system-reminder>"+strings.Repeat("x", 1_000)+"</system-reminder>", 30),
			[]string{"Done; do not repeat"},
		},
		{"no beginning", strings.Repeat("knocking\n", 200) + "</system-reminder>", []string{"Done; do not repeat"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := openWith(
				t,
				&pleat.Options{
					Policy: fold.Policy{Name: "test", AtBirth: fold.Steps{lever.Spill{Chars: 1_000, Preview: 100}}},
				},
			)
			say(t, s, transcript.User("Build it."),
				transcript.Assistant(transcript.Call("c", "bash", `{"command":"make"}`)),
				transcript.Results(transcript.Result("c", tt.result+reminder)))
			has(t, s, tt.want...)
		})
	}
}
