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
				transcript.Assistant(a[0].Blocks().At(0), b[0].Blocks().At(0)),
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

// TestSpillRound: of the results of a round the largest are spilled first, whether they are one message or a
// message each and however they are appended, but for those that a view has shown.
func TestSpillRound(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []int // of each result, of 20 characters
		want  string
		seen  string // shown if a view was made before the newest result came
	}{
		{"small enough", []int{30, 30}, "01", "01"},
		{"the largest in the middle", []int{49, 50, 49}, "02", "01"},
		{"the largest is the newest", []int{40, 50, 60}, "01", "01"},
		{"the largest is the oldest", []int{60, 40, 50}, "12", "01"},
		{"two go", []int{40, 10, 90, 80, 20}, "014", "014"},
		{"of equals the oldest", []int{70, 70}, "1", "0"},
	} {
		calls, results := []transcript.Block{}, []transcript.ToolResult{}
		for i, n := range tt.lines {
			r := round(i, "bash", `{"command":"make"}`, n)
			calls = append(calls, r[0].Blocks().At(0))
			results = append(results, r[1].Blocks().At(0).(transcript.ToolResult))
		}
		var each []transcript.Message
		for _, r := range results {
			each = append(each, transcript.Results(r))
		}
		last := len(each) - 1
		for name, add := range map[string]func(*testing.T, *pleat.Session){
			"a message":      func(t *testing.T, s *pleat.Session) { say(t, s, transcript.Results(results...)) },
			"a message each": func(t *testing.T, s *pleat.Session) { say(t, s, each...) },
			"a message each, by turn": func(t *testing.T, s *pleat.Session) {
				say(t, s, each[:last]...)
				say(t, s, each[last])
			},
			"a view between": func(t *testing.T, s *pleat.Session) {
				say(t, s, each[:last]...)
				view(t, s)
				say(t, s, each[last])
			},
		} {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				s := openWith(t, &pleat.Options{
					Policy: fold.Policy{Name: "test", AtBirth: fold.Steps{lever.Spill{Message: 2_400, Preview: 20}}},
				})
				say(t, s, transcript.User("Build it."), transcript.Assistant(calls...))
				add(t, s)
				want := tt.want
				if name == "a view between" {
					want = tt.seen
				}
				if got := shown(t, s, len(results)); got != want {
					t.Errorf("results %q are shown, want %q", got, want)
				}
			})
		}
	}
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

// TestSpillKeepsImages: a result with an image stays, since no model has seen it and unfold gives back text alone.
func TestSpillKeepsImages(t *testing.T) {
	s := openWith(t, &pleat.Options{Policy: fold.Policy{Name: "test", AtBirth: fold.Steps{lever.Spill{Chars: 10, Preview: 50}}}})
	r := transcript.Result("a", strings.Repeat("word ", 40))
	r.Parts = transcript.BlocksOf(append(r.Parts.List(), transcript.Image{MediaType: "image/png", Data: transcript.Plain("aaaa")})...)
	say(t, s, transcript.User("Look."), transcript.Assistant(transcript.Call("a", "view", "{}")), transcript.Results(r))
	if got := s.Folds(); len(got) > 0 {
		t.Errorf("folded: %s", got[0].Stub)
	}
}
