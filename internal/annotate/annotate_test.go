package annotate

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/client"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/transcript"
)

// user is a message of a user with these blocks.
func user(texts ...string) transcript.Message {
	var all []transcript.Block
	for _, s := range texts {
		all = append(all, transcript.Say(s))
	}
	return transcript.NewMessage(transcript.RoleUser, all...)
}

// wordsOf returns what notes say of all blocks of a message, pieces separated by a bar.
func wordsOf(m transcript.Message, notes Notes) (typed, unsure string) {
	var sure, doubt []string
	for i := range m.Blocks().Len() {
		words, may := notes.Words(m, i)
		if words != "" {
			sure = append(sure, strings.ReplaceAll(words, "\n\n", " | "))
		}
		if may != "" {
			doubt = append(doubt, strings.ReplaceAll(may, "\n\n", " | "))
		}
	}
	return strings.Join(sure, " | "), strings.Join(doubt, " | ")
}

func TestMessage(t *testing.T) {
	const (
		reminder = "<system-reminder>\nx\n</system-reminder>"
		from, to = "--- Content from referenced files ---", "--- End of content ---"
		ide      = "# Context from my IDE setup:\n\n## Active selection:\na\n## My request for Codex:\n"
		passed   = "<system-reminder>\nThe user sent the following message:\nmine\n\nPlease address this message and continue.</system-reminder>"
		read     = `Called the Read tool with the following input: {"filePath":"/a"}`
	)
	for _, tt := range []struct {
		blocks        []string
		typed, unsure string
	}{
		{[]string{" mine\n"}, "mine", ""},
		{[]string{"mine", "and more"}, "mine | and more", ""},
		{[]string{""}, "", ""},

		// Elements are a program's; what is beside them was typed.
		{[]string{reminder}, "", ""},
		{[]string{reminder, "mine"}, "mine", ""},
		{[]string{"mine\n" + reminder + "\nand more"}, "mine | and more", ""},
		{[]string{"<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>\nmine"}, "mine", ""},
		{[]string{"the <system-reminder> tag, why?"}, "the <system-reminder> tag, why?", ""},
		{[]string{"why </skill>?"}, "why </skill>?", ""},
		{[]string{"<plan>\nmine\n</plan>"}, "<plan>\nmine\n</plan>", ""},

		// Some hold what was typed.
		{[]string{"<command-name>/x</command-name>\n<command-args>mine</command-args>"}, "mine", ""},
		{[]string{"<bash-input>ls</bash-input>"}, "!ls", ""},
		{[]string{"<bash-input>ls</bash-input>\n<bash-input>pwd</bash-input>"}, "!ls | !pwd", ""},
		{[]string{"<task>\nmine\n</task>", "<environment_details>\nx\n</environment_details>"}, "mine", ""},
		{[]string{passed}, "", "mine"}, // a hook's words stand there too
		{[]string{"The user sent a new message while you were working:\nmine"}, "mine", ""},

		// One holds all that was typed: what is beside it may be anybody's.
		{[]string{"<user_query>mine</user_query>"}, "mine", ""},
		{[]string{"<attached_files>x</attached_files>\n<user_query>\nmine\n</user_query>"}, "mine", ""},
		{[]string{`<user_input mode="act"><mode_notice>x</mode_notice>mine</user_input>`, "b"}, "mine", "b"},
		{[]string{"a\n<user_query>mine</user_query>"}, "mine", "a"},
		{[]string{"<user_query>a</user_query>", "<user_query>b</user_query>"}, "", "a | b"},
		{
			[]string{"<files>\n<user_query>a</user_query>\n</files>\n<user_query>b</user_query>"},
			"",
			"<files>\n<user_query>a</user_query>\n</files>\n<user_query>b</user_query>",
		},

		// Between the first and the last of one name, and where tags make no elements, nobody knows.
		{[]string{reminder + "\na\n" + reminder + "\nmine"}, "mine", "a"},
		{[]string{reminder + "\n" + reminder + "\nmine"}, "mine", ""},
		{[]string{reminder + "\n" + passed}, "", "mine"},
		{[]string{"<system-reminder>never closed"}, "", "<system-reminder>never closed"},
		{[]string{"<skill>x</skill>\na\n</skill>"}, "", "<skill>x</skill>\na\n</skill>"},
		{[]string{"<skill>\nx\n<tick>\n</skill>\n</tick>"}, "", "<skill>\nx\n<tick>\n</skill>\n</tick>"},
		{[]string{"<skill>\nx\n<tick>\n</skill>\nmine"}, "mine", ""},

		// Marks may stand in blocks of their own.
		{[]string{"mine\n" + from + "\nx\n" + to}, "mine", ""},
		{[]string{"mine", from, "x", to, "and more"}, "mine | and more", ""},
		{[]string{"mine", from, "x"}, "mine", from + " | x"},
		{[]string{"<file name=\"/a\">\nx\n</file>\nmine"}, "mine", ""},

		// Forms, whole.
		{[]string{"Stop hook feedback:\n[check]: lint fails"}, "", ""},
		{[]string{"Stop hook feedback: ignore it."}, "Stop hook feedback: ignore it.", ""},
		{[]string{"[Request interrupted by user]", "mine"}, "mine", ""},
		{[]string{"[Request interrupted by user] is shown, why?"}, "[Request interrupted by user] is shown, why?", ""},
		{[]string{"Ran `make`\n```\nno rule\n```\n\nCommand exited with code 2"}, "", ""},
		{[]string{"Ran `make`\n```\nno rule\n```\nWhy?"}, "Ran `make`\n```\nno rule\n```\nWhy?", ""},
		{[]string{"[Image: source: /a.png]"}, "", ""},
		{[]string{"[Image: source: /a.png] What is this?"}, "[Image: source: /a.png] What is this?", ""},
		{[]string{"<task-notification>x</task-notification>\nRead the output file to retrieve the result: /o.output"}, "", ""},
		{[]string{ide + "mine"}, "mine", ""},
		{[]string{"<current_datetime>x</current_datetime>\n" + ide + "mine\n" + reminder}, "mine", ""},
		{[]string{ide + "a\n## My request for Codex:\nb"}, "", strings.ReplaceAll(ide, "\n\n", " | ") + "a\n## My request for Codex:\nb"},
		{[]string{"a\n" + ide + "b"}, strings.ReplaceAll("a\n"+ide+"b", "\n\n", " | "), ""},

		// What is announced comes next.
		{[]string{read, "x", "mine"}, "", "mine"}, // a client may announce two
		{[]string{"mine", read, "x"}, "mine", ""},
		{[]string{"[read_file for 'a'] Result:", "x", "mine"}, "mine", ""},
		{[]string{"[read_file for 'a'] Result:\n<user_message>x</user_message>"}, "", ""},
		{[]string{"[ask_followup_question for 'q'] Result:\n<answer>\nmine\n</answer>"}, "mine", ""},
		{
			[]string{"[ask_followup_question for 'q] Result:'] Result:\n<answer>\nmine\n</answer>"},
			"",
			"[ask_followup_question for 'q] Result:'] Result:\n<answer>\nmine\n</answer>",
		},
		{[]string{"[get_notes for 'a'] Result:", "a", "mine"}, "mine", "[get_notes for 'a'] Result: | a"},
		{[]string{"[a note for 'x'] Result: it fails"}, "[a note for 'x'] Result: it fails", ""},
		{[]string{"[read_file for 'a'] Result: b'] Result:", "x", "mine"}, "mine", ""},
		{[]string{"[read_file for 'a'] Result: is empty, why?"}, "", "[read_file for 'a'] Result: is empty, why?"},

		// What a program fills cannot pass for something else.
		{[]string{"<bash-stdout>The user sent the following message:\nx</bash-stdout>"}, "", ""},
		{
			[]string{"<skill>\nx</skill>\n" + ide + "b\n</skill>"},
			"",
			"<skill>\nx</skill>\n" + strings.ReplaceAll(ide, "\n\n", " | ") + "b\n</skill>",
		},
		{[]string{"<teammate-message summary=\"List<T>\">\nx\n</teammate-message>", "mine"}, "mine", ""},
		{[]string{"[read_file for 'a'] Result:\nx <file name=\"/a\"", "<environment_details>\n</environment_details>"}, "", ""},
		{[]string{"Reading MCP resource: a (urn:b)", "x", "y"}, "", "y"},
	} {
		m := user(tt.blocks...)
		if typed, unsure := wordsOf(m, Message(m, nil)); typed != tt.typed || unsure != tt.unsure {
			t.Errorf("%q is typed: %q; unsure: %q", tt.blocks, typed, unsure)
		}
	}
}

// A log's word that a program wrote it decides. Its word that a person did makes what reads like a
// client's unsure where nothing else is there.
func TestOrigin(t *testing.T) {
	for origin, want := range map[transcript.Origin][2]string{
		transcript.OriginInjected: {}, transcript.OriginSummary: {}, transcript.OriginUnknown: {"mine", ""},
		transcript.OriginTyped: {"mine", ""},
	} {
		m := user("mine").WithOrigin(origin)
		if typed, unsure := wordsOf(m, Message(m, nil)); typed != want[0] || unsure != want[1] {
			t.Errorf("of %v typed: %q; unsure: %q", origin, typed, unsure)
		}
	}
	m := user("<skill>a</skill>").WithOrigin(transcript.OriginTyped)
	if typed, unsure := wordsOf(m, Message(m, nil)); typed != "" || unsure != "<skill>a</skill>" {
		t.Errorf("of a typed element typed: %q; unsure: %q", typed, unsure)
	}
}

func TestResults(t *testing.T) {
	const (
		refused  = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. the file was not changed)"
		said     = refused + ". To tell you how to proceed, the user said:\n"
		rejected = "The user rejected permission to use this specific tool call with the following feedback: "
		note     = "\n\nNote: The user's next message may contain a correction or preference. Pay attention."
		clarify  = said + "The user wants to clarify these questions.\n    This means they may have more.\n\n" +
			"    Questions asked:\n- \"A?\"\n  Answer: mine\n- \"B?\"\n  (No answer provided)"
	)
	for _, tt := range []struct {
		tool, text    string
		failed, named bool
		typed, unsure string
	}{
		{"AskUserQuestion", "mine", false, false, "mine", ""},
		{"ask_user_question", "a", false, false, "", "a"},
		{"mcp__x__AskUserQuestion", "a", false, false, "", ""},
		{"AskUserQuestion", client.ClaudeCode.NoAnswers[0], false, false, "", ""},
		{"Bash", said + "mine", true, true, "mine", ""},
		{"Bash", said + "mine" + note, true, true, "mine", ""},
		{"Bash", said + "a", true, false, "", "a"},
		{"Bash", said + "a", false, true, "", ""},
		{"Bash", refused + ".", true, true, "", ""},
		{"Bash", "x\n" + said + "a", true, true, "", ""},
		{"Task", said + "a", true, true, "", "a"},
		{"mcp__db__query", said + "a", true, true, "", "a"},
		{"bash", rejected + "a", true, false, "", "a"},
		{"AskUserQuestion", clarify, true, true, "- \"A?\"\n  Answer: mine", ""},
		{"execute_command", "<user_message>a</user_message>", false, true, "", ""},
		{"attempt_completion", "The user has provided feedback.\n<feedback>a</feedback>", false, false, "", ""},
	} {
		var before State
		Message(transcript.Assistant(transcript.Call("1", tt.tool, "{}")), &before)
		r := transcript.Result("1", tt.text)
		r.Error = tt.failed
		m := transcript.Results(r)
		if tt.named {
			m = m.WithOrigin(transcript.OriginTyped)
		}
		notes := Message(m, &before)
		if typed, unsure := wordsOf(m, notes); typed != tt.typed || unsure != tt.unsure || len(notes) > 0 && notes.Via(0) != tt.tool {
			t.Errorf("%s answers %q: typed %q, unsure %q, via %q", tt.tool, tt.text, typed, unsure, notes.Via(0))
		}
		Message(transcript.Assistant(transcript.Call("1", "a", "{}"), transcript.Call("1", "ask_user", "{}")), &before)
		if twice := Message(transcript.Results(transcript.Result("1", "x")), &before); len(twice) > 0 {
			t.Errorf("one of two calls of an id answers: %+v", twice)
		}
		if again := Message(m, &before); len(again) > 0 {
			t.Errorf("%s answers twice", tt.tool)
		}
	}
}

// Every reminder after an output goes, whoever reads it.
func TestOutput(t *testing.T) {
	const r = "\n<system-reminder>\nx\n</system-reminder>"
	for text, want := range map[string]string{
		"a": "a", "a\n": "a\n", "a" + r: "a", "a" + r + r + "\n": "a", r[1:]: "", "a" + r[:18] + "is <system-reminder> gone?" + r[18:]: "a", "a" + r + "\nb": "a" + r + "\nb",
		"a\n<system-reminder>" + strings.Repeat("x", 20_000) + "</system-reminder>": "a\n<system-reminder>" +
			strings.Repeat("x", 20_000) + "</system-reminder>",
	} {
		if got := Output(text); got != want {
			t.Errorf("%.80q gives %.80q", text, got)
		}
	}
}

// A text that opens many elements and closes none takes no longer than its length.
func TestManyTags(t *testing.T) {
	for _, s := range []string{"<bash-stdout>\n", "<bash-stdout>\n</bash-stdout>\n", "<tick>\n<skill>\n</skill>\n</tick>\n", "</skill>"} {
		m := user(strings.Repeat(s, 100_000) + "<skill>")
		Message(m, nil)
	}
}

// Stored notes can only take certainty away, whatever they say.
func TestLowered(t *testing.T) {
	m := user("a mine b")
	for _, tt := range []struct {
		was           Notes
		typed, unsure string
	}{
		{nil, "a mine b", ""},
		{Notes{{End: 8, Who: User}}, "a mine b", ""},
		{Notes{{End: 2}, {Start: 2, End: 6, Who: User}, {Start: 6, End: 8, Who: Unsure}}, "mine", "b"},
		{Notes{{Start: -1, End: 3, Who: 9}, {Start: 7, End: 4, Who: User}, {Start: 6, End: 99, Who: User}}, "b", "a m"},
	} {
		if typed, unsure := wordsOf(m, Message(m, nil).Lowered(0, tt.was)); typed != tt.typed || unsure != tt.unsure {
			t.Errorf("%+v leaves typed: %q; unsure: %q", tt.was, typed, unsure)
		}
	}
	m = user("<skill>x</skill>")
	if typed, _ := wordsOf(m, Message(m, nil).Lowered(0, Notes{{End: 16, Who: User}})); typed != "" {
		t.Errorf("stored notes make a program's text a person's: %q", typed)
	}
}

// TestView: who speaks in what is left of a block is who spoke there in all of it.
func TestView(t *testing.T) {
	const mark, shut = "\n[… folded …]", "</system-reminder>"
	for _, c := range []struct {
		whole, left string
		want        []string // what the user says
	}{
		{"<system-reminder>a\nb\nc\n" + shut, "<system-reminder>a" + mark, nil},
		{"<system-reminder>a\nb\nc\n" + shut + "\nGo on.", "<system-reminder>a" + mark, nil},
		{"<system-reminder>a\nb\nc\n" + shut + "\nGo on.", "<system-reminder>a" + mark + "\nGo on.", []string{"Go on."}},
		{"<system-reminder>a\nb\nc\n" + shut + "\nGo on.", "<system-reminder>a" + mark + "\non.", []string{"on."}},
		{"Go on.\n<system-reminder>a\nb" + shut, "Go on.\n<system-reminder>a" + mark, []string{"Go on."}},
		{"Go on.\n<system-reminder>a\nb" + shut, "Go" + mark + "\nb" + shut, []string{"Go"}},
		{
			"One. Two. Three. Four.\n<system-reminder>a" + shut, "One." + mark + "Three." + mark + " Four.\n<system-reminder>a" + shut,
			[]string{"One." + mark + "Three." + mark + " Four."},
		},
		{"Über ä.\n<system-reminder>a\nb" + shut, "Über ö" + mark, []string{"Über"}},
		{"One. Two.", "One." + mark, []string{"One." + mark}},
		{"Go.\n<system-reminder>a\nb" + shut + "\nOn.", "Go.\n<system-reminder>a" + mark, []string{"Go."}},
	} {
		view := transcript.View{Messages: []transcript.ViewMessage{{Edits: []transcript.BlockEdit{{Text: c.left}}}}}
		whole := transcript.User(c.whole)
		msgs, err := view.Resolve(transcript.NewTranscript(whole))
		difftest.Must(t, err)
		spoken, err := AttributedView(view, msgs, func(int) (transcript.Message, error) { return whole, nil })
		difftest.Must(t, err)
		var got []string
		for _, b := range spoken[0].Blocks().All() {
			if b.Kind() == transcript.KindText && spoken[0].Role() == transcript.RoleUser {
				got = append(got, transcript.BlockText(b))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("the user says %q in %q, left of %q", got, c.left, c.whole)
		}
	}
}

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
		return []string{"MINE1\n" + from + "\n" + s + "\n" + to + "\nMINE2\n<" + tag + ">\n" + s + "\n</" + tag + ">"}
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

// TestSystemPasses: a client passes on typed words in system messages, but hooks speak there too, and before
// anybody has spoken it is the program that does.
func TestSystemPasses(t *testing.T) {
	var before State
	for _, tt := range []struct {
		role   transcript.Role
		unsure string
	}{
		{transcript.RoleSystem, ""},
		{transcript.RoleDeveloper, ""},
		{transcript.RoleUser, ""},
		{transcript.RoleSystem, "mine"},
		{transcript.RoleDeveloper, "mine"},
	} {
		m := transcript.NewMessage(tt.role, transcript.Say("The user sent a new message while you were working:\nmine"))
		if tt.role == transcript.RoleUser {
			m = transcript.User("hello")
		}
		notes := Message(m, &before)
		words, unsure := notes.Words(m, 0)
		if tt.role != transcript.RoleUser && words != "" || unsure != tt.unsure {
			t.Errorf("%s: typed %q, unsure %q, want %q", tt.role, words, unsure, tt.unsure)
		}
	}
}
