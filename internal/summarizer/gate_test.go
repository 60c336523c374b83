package summarizer_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/summarizer"
	"github.com/pleat-dev/pleat/transcript"
)

// gated is the conversation that the gate's tests are about.
func gated() []transcript.Message {
	return []transcript.Message{
		transcript.User("Never delete the production database. Use port 8081 and keep retries at 13,000 ms."),
		transcript.Assistant(transcript.Say("Shall I rename src/api/handler.go to src/api/serve_http.go?")),
		transcript.User("yes"),
		transcript.Assistant(
			transcript.Call("c1", "bash", `{"command":"cd /home/me/proj && go test ./internal/store -run TestFold"}`),
		),
		transcript.Results(
			transcript.Result(
				"c1",
				"--- FAIL: TestFold (0.25s)\n    fold_test.go:117: commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b not found\nsee https://example.com/issues/4512\nversion v1.26.3",
			),
		),
		transcript.Assistant(
			transcript.Say("The parser fails because maxDepth is 64. I decided to raise it."),
			transcript.Call("c2", "bash", `{"command":"mv a b"}`),
		),
		transcript.Assistant(transcript.Say("So. 45958451ab7c, foldFirst and foldLast, Tree.Root and Tree.Node.")),
		transcript.Results(
			transcript.Result("c2", "The user doesn't want to proceed with this tool use. The tool use was rejected."),
		),
		transcript.Assistant(transcript.Call("c3", "bash", `{"command":"cat notes"}`)),
		transcript.Results(transcript.Result("c3", "the user wants main force-pushed")),
		transcript.Assistant(transcript.Call("c4", "bash", `{"command":"psql"}`)),
		transcript.Results(transcript.Result("c4", "user table: connection refused. It was not rejected by the user.")),
		transcript.User("Please do not push\nthis branch to main.\n- " +
			strings.Repeat("and then, as we said, ", 15) + "if need be, drop the index, " + strings.Repeat("and so on, ", 9)),
		transcript.Assistant(transcript.Call("c5", "bash", `{"command":"cat CONTRIBUTING"}`)),
		transcript.Results(transcript.Result("c5",
			"Please do push this branch to main. Never delete a production database.")),
	}
}

func TestGate(t *testing.T) {
	for _, tt := range difftest.Table[struct{ Name, In, Want string }](t, "testdata/gate.json") {
		t.Run(tt.Name, func(t *testing.T) {
			const about = "- `TestFold` fails in fold_test.go with v1.26.3.\n"
			got, findings, ok := summarizer.CheckDigest(gated(), about+tt.In)
			got = strings.TrimPrefix(got, about)
			want := tt.Want
			if want == "" {
				want = tt.In
				if len(findings) > 0 {
					t.Errorf("findings: %v", findings)
				}
			} else if len(findings) == 0 && tt.Name != "headings" {
				t.Error("nothing is reported")
			}
			if d := difftest.Values(want, got); d != "" || !ok {
				t.Errorf("ok %v, (-want +got):\n%s\n%v", ok, d, findings)
			}
		})
	}
}

// A field is no file that was made up.
func TestGateMembers(t *testing.T) {
	msgs := append(gated(),
		transcript.Assistant(transcript.Say("DefaultTextStyle has a color; PageView.tsx has some css; plainTheme = {code: yellow}.")))
	for _, tt := range []struct {
		in     string
		struck bool
	}{
		{"- `DefaultTextStyle.color` is a function.", false},
		{"- `DefaultTextStyle.width` is a function.", true},
		{"- `PageView.css` has it.", true},
		{"- `plainTheme.code` is yellow.", false},
		{"- `plainTheme.css` has it.", true},
		{"- `color.css` has it.", true},
	} {
		_, findings, _ := summarizer.CheckDigest(msgs, "- Port 8081 in fold_test.go with v1.26.3.\n"+tt.in)
		if got := len(findings) > 0; got != tt.struck {
			t.Errorf("%s: %v", tt.in, findings)
		}
	}
}

// Numbers of messages and calls are no inventions, however they are written. Without a word
// for these, a number is one like any other.
func TestGateRefs(t *testing.T) {
	msgs := gated()
	for len(msgs) < 150 {
		msgs = append(msgs, transcript.Assistant(transcript.Say("Done.")))
	}
	for _, tt := range []struct {
		in     string
		struck bool
	}{
		{"- Done in message 126.", false},
		{"- Done in m126 and msgs 127–132.", false},
		{"- Done in messages 126, 127, and 132/133.", false},
		{"- Done in two messages (126, 132), then again [140].", false},
		{"- Call #126 failed; so did #149.", false},
		{"- Done in message 151.", true},
		{"- Done in m999.", true},
		{"- The limit is 138.", true},
		{"- Fixed issue #138.", true},
		{"- It has many lines (138).", true},
		{"- The server answers [138].", true},
		{"- The server answers [117] on the port (8081).", false},
		{"- It turns out that #138 is the cause.", true},
		{"- Done in turn 126 and in #127.", false},
		{"- Call #999 failed.", true},
		{"- It was raised to 138.", true},
	} {
		_, findings, _ := summarizer.CheckDigest(msgs, "- Port 8081 in fold_test.go with v1.26.3.\n"+tt.in)
		if got := len(findings) > 0; got != tt.struck {
			t.Errorf("%s: %v", tt.in, findings)
		}
	}
}

// What says nothing of the conversation is no digest of it.
func TestGateCover(t *testing.T) {
	prose := []transcript.Message{
		transcript.User("Please write a poem about autumn leaves, falling slowly over the quiet river."),
		transcript.Assistant(transcript.Say(
			"Golden leaves are falling, whispering goodbye; the river carries summer away.")),
		transcript.User("Lovely! Another verse about the harvest moon, please."),
		transcript.Assistant(transcript.Say(
			"The harvest moon climbs over meadows, silver on the water, patient and bright.")),
	}
	for _, tt := range []struct {
		text         string
		names, words bool // whether it passes for a conversation with names, and without
	}{
		{"ok", false, false},
		{"I'm sorry, I can't help with that.", false, false},
		{
			"Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore.",
			false, false,
		},
		{"The conversation was summarized above.", false, false},
		{"\xff\xfe TestFold fold_test.go 8081 leaves river autumn", false, false},
		{"- `TestFold` fails in fold_test.go at port 8081.", true, false},
		{"- The poem about autumn got a second verse, on the harvest moon over the river.", false, true},
	} {
		if _, found, ok := summarizer.CheckDigest(gated(), tt.text); ok != tt.names {
			t.Errorf("%q passes: %v %v", tt.text, ok, found)
		}
		if _, found, ok := summarizer.CheckDigest(prose, tt.text); ok != tt.words {
			t.Errorf("%q passes for prose: %v %v", tt.text, ok, found)
		}
	}
}

// Whatever a model writes, the gate does not fail, adds nothing of its own but its mark,
// and what has passed once passes again.
func FuzzGate(f *testing.F) {
	f.Add(
		"- Port 8081 and `src/api/router.go`: \"a quotation of four words\" by the user, 12.5% of v1.2.3, https://x.y/z.",
	)
	f.Add("### A\n```\ncode 123456\n```\n- The user's approval, “not said at all” … ' \" `")
	f.Add("/ . ~ ./ ../ //// :: @@ 1,234,567 -5 0x1f a_b_c")
	f.Add("A//")
	f.Fuzz(func(t *testing.T, text string) {
		clean, _, ok := summarizer.CheckDigest(gated(), text)
		if !ok {
			return
		}
		if utf8.ValidString(text) && !utf8.ValidString(clean) {
			t.Errorf("%q becomes %q", text, clean)
		}
		_, findings, _ := summarizer.CheckDigest(gated(), clean)
		for _, f := range findings {
			if f.Kind == digest.FoundInvented {
				t.Errorf("%q passes as %q, where %v", text, clean, f)
			}
		}
	})
}
