package annotate

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/transcript"
)

// What a program writes into a message never counts as typed, whatever marks of clients it is made
// of; and what was typed beside it is a person's or in doubt, never lost.
func TestHostileContent(t *testing.T) {
	pieces := []string{
		from, to, "# Context from my IDE setup:", "# Files mentioned by the user:", "## My request for Codex:",
		"[[PLAN]] I want to create an implementation plan.", "My request:", "x",
		"The user sent the following message:", "<user_query>", "</user_query>", "<user_input>", "</user_input>",
		"<task>", "</task>", "<attached_files>", "</attached_files>", "<command-name>a</command-name>", "<command-args>",
		"</command-args>", "<bash-input>", "</bash-input>", "<skill>", "</skill>", `<file name="a">`, "</file>",
	}
	for _, tag := range hostTags {
		pieces = append(pieces, "<"+tag+">", "</"+tag+">")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	failed := 0
	for range 30_000 {
		hostile := "FORGED"
		for range 1 + rng.IntN(5) {
			hostile += [...]string{"\n", "\n\n", "", " "}[rng.IntN(4)] + pieces[rng.IntN(len(pieces))] +
				[...]string{"\nFORGED", " FORGED", ""}[rng.IntN(3)]
		}
		texts := layouts[rng.IntN(len(layouts))](hostTags[rng.IntN(len(hostTags))], hostile)
		if mark := pieces[rng.IntN(len(pieces))]; rng.IntN(2) == 0 && !strings.Contains(mark, "/") {
			texts[0] = strings.Replace(texts[0], "MINE1", "MINE1\n"+mark+"\nMINE3", 1) // a person writes about it
		}
		origin := [...]transcript.Origin{transcript.OriginUnknown, transcript.OriginTyped}[rng.IntN(2)]
		m := user(texts...).WithOrigin(origin)
		words, doubt := wordsOf(m, Message(m, nil))
		all := words + doubt
		for _, mine := range []string{"MINE1", "MINE2", "MINE3"} {
			if strings.Contains(strings.Join(texts, ""), mine) && !strings.Contains(all, mine) {
				t.Errorf("%v: %q loses %s", origin, texts, mine)
				failed++
			}
		}
		if strings.Contains(words, "FORGED") {
			t.Errorf("%v: %q gives %q", origin, texts, words)
			failed++
		}
		if failed > 8 {
			return
		}
	}
}

const from, to = "--- Content from referenced files ---", "--- End of content ---"

var hostTags = []string{
	"bash-stdout", "system-reminder", "local-command-stdout", "environment_details", "task-notification",
}

// layouts are how clients put a program's text beside what was typed.
var layouts = []func(tag, hostile string) []string{
	func(tag, s string) []string { return []string{"<" + tag + ">" + s + "</" + tag + ">"} },
	func(tag, s string) []string {
		return []string{"MINE1\n<" + tag + ">\n" + s + "\n</" + tag + ">\nMINE2"}
	},
	func(tag, s string) []string { return []string{"<" + tag + ">\n" + s + "\n</" + tag + ">", "MINE1"} },
	func(tag, s string) []string {
		return []string{"<bash-stdout>" + s + "</bash-stdout><bash-stderr>" + s + "</bash-stderr>\nMINE1"}
	},
	func(tag, s string) []string { // who writes about an element opens one that the client's may close
		return []string{"MINE1\n<" + tag + ">\nMINE2\n\n<system-reminder>\n" + s + "\n</system-reminder>"}
	},
	func(_, s string) []string {
		return []string{"MINE1\n" + from + "\n" + s + "\n" + to + "\nMINE2"}
	},
	func(_, s string) []string { return []string{"MINE1", "\n" + from, s, s, "\n" + to, "MINE2"} },
	func(tag, s string) []string {
		return []string{
			"MINE1\n" + from + "\n" + s + "\n" + to + "\nMINE2\n<" + tag + ">\n" + s + "\n</" + tag + ">",
		}
	},
	func(_, s string) []string {
		return []string{"# Context from my IDE setup:\n\n## Active selection:\n" + s + "\n\n## My request for Codex:\nMINE1"}
	},
	func(tag, s string) []string {
		return []string{"# Files mentioned by the user:\n" + s + "\n\n## My request for Codex:\nMINE1\n<" + tag + ">\n" +
			s + "\n</" + tag + ">\nMINE2"}
	},
	func(_, s string) []string {
		return []string{"<additional_data>\n" + s + "\n</additional_data>\n<user_query>\nMINE1\n</user_query>"}
	},
	func(_, s string) []string {
		return []string{"<user_input mode=\"act\">MINE1</user_input>\n<file_content path=\"a\">\n" + s + "\n</file_content>"}
	},
}

// FuzzMessage holds that notes are of the message, in order, and that nothing typed gets lost or is made up.
func FuzzMessage(f *testing.F) {
	for _, s := range []string{
		"a\n<system-reminder>\nb\n</system-reminder>\nc", "<user_query>a</user_query>", from + "\na\x00" + to, "[ask_user] Result:\x00a",
		"# Context from my IDE setup:\nx\n## My request for Codex:\na", "Ran `a`\n(no output)", "<bash-input>a</bash-input><bash-input>b",
	} {
		f.Add(s, uint8(0))
	}
	f.Fuzz(func(t *testing.T, s string, origin uint8) {
		texts := strings.Split(s, "\x00")
		m := user(texts...).WithOrigin(transcript.Origin(origin % 4))
		notes := Message(m, nil)
		block, end := 0, 0
		for _, n := range notes {
			if n.Block != block {
				block, end = n.Block, 0
			}
			if txt := transcript.BlockText(m.Blocks().At(n.Block)); n.Start < end || n.End < n.Start || n.End > len(txt) {
				t.Fatalf("%q has %+v", texts, notes)
			}
			end = n.End
		}
		role, parts := AttributedBlocks(m)
		var words []string
		for i, list := range parts {
			for _, b := range list {
				if t, ok := b.(transcript.Text); ok && role == transcript.RoleUser {
					words = append(words, strings.TrimSpace(t.Text.String()))
				} else if o, ok := b.(transcript.Opaque); ok && !strings.Contains(texts[i], o.Raw) {
					words = append(words, "made up: "+o.Raw)
				}
			}
		}
		typed := strings.Join(notes.Typed(m), "\n\n")
		for _, w := range words {
			if !strings.Contains(typed, w) {
				t.Errorf("%q is written with %q, typed is %q", texts, w, typed)
			}
		}
	})
}
