package userwords

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/transcript"
)

func TestTypedText(t *testing.T) {
	user := func(texts ...string) transcript.Message {
		blocks := make([]transcript.Block, len(texts))
		for i, s := range texts {
			blocks[i] = transcript.Say(s)
		}
		return transcript.NewMessage(transcript.RoleUser, blocks...)
	}
	tests := []struct {
		name string
		m    transcript.Message
		want string
	}{
		{"plain", user("  fix the parser \n"), "fix the parser"},
		{"assistant", transcript.Assistant(transcript.Say("done")), ""},
		{"system", transcript.NewMessage(transcript.RoleSystem, transcript.Say("be good")), ""},
		{"tool result", transcript.Results(transcript.Result("1", "never mind")), ""},
		{
			"text beside a result",
			transcript.NewMessage(transcript.RoleUser, transcript.Result("1", "out"), transcript.Say("now stop")),
			"now stop",
		},
		{"reminder only", user("<system-reminder>\nnever do x\n</system-reminder>"), ""},
		{"reminder before", user("<system-reminder>a</system-reminder>\n", "do b"), "do b"},
		{"reminder inside", user("do a\n<system-reminder>x</system-reminder>\ndo b"), "do a\n\ndo b"},
		{
			"between and behind elements",
			user("<ide_selection>a\n</ide_selection>\ndo a\n<ide_opened_file>x</ide_opened_file>\n" +
				"<task-notification>\nb\n</task-notification>\ndo b\n<system-reminder>x</system-reminder>"),
			"do a\n\ndo b",
		},
		{"two on one line", user("<bash-stdout>ok</bash-stdout><bash-stderr></bash-stderr>"), ""},
		{"tag in prose", user("why does <system-reminder> leak?"), "why does <system-reminder> leak?"},
		{
			"tag in prose, closed",
			user("strip `<system-reminder>x</system-reminder>` please"),
			"strip `<system-reminder>x</system-reminder>` please",
		},
		{"unclosed", user("<system-reminder> is never closed here"), ""},
		{
			"command",
			user(
				"<command-name>/exit</command-name>\n  <command-message>exit</command-message>\n  <command-args></command-args>",
			),
			"",
		},
		{
			"command with words",
			user(
				"<command-message>go</command-message>\n<command-name>/go</command-name>\n<command-args>keep commits small</command-args>",
			),
			"keep commits small",
		},
		{
			"command of somebody else",
			user(
				"<command-name>/go</command-name>\n<command-args>keep commits small</command-args>",
			).WithOrigin(transcript.OriginInjected),
			"",
		},
		{"for the shell", user("<bash-input>git pull</bash-input>"), "!git pull"},
		{"for the shell, with output", user("<bash-input>ls</bash-input>\n<bash-stdout>a</bash-stdout>"), "!ls"},
		{"for the memory", user("<user-memory-input>use tabs</user-memory-input>"), "#use tabs"},
		{
			"output that writes as people",
			user("<bash-stdout>\n</bash-stdout>\n<bash-input>x</bash-input>\n</bash-stdout>"),
			"",
		},
		{"summary", user("we did a lot").WithOrigin(transcript.OriginSummary), ""},
		{"injected", user("do this").WithOrigin(transcript.OriginInjected), ""},
		{
			"typed, looks injected",
			user("[Request interrupted by user] is shown, why?").WithOrigin(transcript.OriginTyped),
			"[Request interrupted by user] is shown, why?",
		},
		{"interrupted", user("[Request interrupted by user for tool use]"), ""},
		{
			"continued",
			user("This session is being continued from a previous conversation that ran out of context."),
			"",
		},
		{
			"project instructions",
			user(
				"# AGENTS.md instructions for /src\n\n<INSTRUCTIONS>\nNever push.\n</INSTRUCTIONS>",
				"<environment_context>\n<cwd>/src</cwd>\n</environment_context>",
			),
			"",
		},
		{
			"editor context",
			user("# Context from my IDE setup:\n\n## Open tabs:\n- a.go\n\n## My request for Codex:\nrename it\n"),
			"rename it",
		},
		{"image marks", user("look", "<image name=[Image #1]>", "</image>"), "look"},
		{
			"query in context",
			user("<attached_files>\na.go\n</attached_files>\n<user_query>\nrename it\n</user_query>"),
			"rename it",
		},
		{
			"meanwhile, or a hook's words",
			user(
				"<system-reminder>\nThe user sent the following message:\nuse tabs\n\nPlease address this message and continue with your tasks.\n</system-reminder>",
			),
			"",
		},
		{
			"meanwhile, as the log says",
			transcript.NewMessage(
				transcript.RoleSystem,
				transcript.Say(
					"The user sent a new message while you were working:\nuse tabs\n\nThis is how Claude Code surfaces messages",
				),
			).WithOrigin(transcript.OriginTyped),
			"use tabs",
		},
		{
			"attached file",
			user(
				"look at @a.go",
				"Called the Read tool with the following input: {}",
				"<path>/a.go</path>\n<type>file</type>\nnever",
			),
			"look at @a.go",
		},
		{
			"referenced files",
			user(
				"link @a.md\n\n--- Content from referenced files ---\n\nContent from @a.md:\nnever\n--- End of content ---",
			),
			"link @a.md",
		},
		{
			"plan template",
			user(
				"<current_datetime>1</current_datetime>\n\n[[PLAN]] I want to create an implementation plan. Please:\n1. Analyze\n\nMy request: split it\n\n<system_reminder>\nx\n</system_reminder>",
			),
			"split it",
		},
		{
			"between the time and a reminder",
			user("<current_datetime>now</current_datetime>\n\nTake 2.\n\n<system_reminder>\nx\n</system_reminder>"),
			"Take 2.",
		},
		{"attached file", user("<file name=\"/srv/README.md\">\nPush to main.\n</file>\nRead it."), "Read it."},
		{
			"attached by another client",
			user("Read it.\n\n<file_content path=\"a.md\">\nPush to main.\n</file_content>"),
			"Read it.",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := TypedText(tt.m)
			if got != tt.want || ok != (tt.want != "") {
				t.Errorf("got %q, %v, want %q", got, ok, tt.want)
			}
		})
	}
}

// heard feeds a conversation.
func heard(msgs ...transcript.Message) *Words {
	w := &Words{}
	for i, m := range msgs {
		w.Add(i, m)
	}
	return w
}

// listen feeds a conversation of lines "u: …" and "a: …".
func listen(lines ...string) *Words {
	msgs := make([]transcript.Message, len(lines))
	for i, l := range lines {
		if msgs[i] = transcript.User(l[3:]); l[0] == 'a' {
			msgs[i] = transcript.Assistant(transcript.Say(l[3:]))
		}
	}
	return heard(msgs...)
}

// shows holds a page to texts that it must have.
func shows(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("no %q in:\n%s", text, page)
		}
	}
}

func TestQuestionOfShortAnswer(t *testing.T) {
	const options = "Two ways:\n\n1. **Split** the package\n   - more files\n2. Keep it in one\n3. Do nothing\n\n" +
		"Which do you prefer?"
	tests := []struct {
		name, asked, answer string
		want                string
	}{
		{
			"number",
			options,
			"2",
			"1. **Split** the package\n   - more files\n2. Keep it in one\n3. Do nothing\n\nWhich do you prefer?",
		},
		{
			"two numbers",
			"Next:\n1. tests\n2. docs\n3. release\n\nAll the checks pass and the tree is clean, so any of these can be done in any order you like it to be.",
			"ok, do 1+2 next",
			"1. tests\n2. docs\n… All the checks pass and the tree is clean, so any of these can be done in any order you like it to be.",
		},
		{"letter", "A) rename\nB) remove", "b", "A) rename\nB) remove"},
		{"yes", "I found it.\n\nShall I fix the parser?", "yes", "I found it.\n\nShall I fix the parser?"},
		{
			"long answer names option",
			options,
			"I'd go with option 1 because the files are easier to review and the build gets faster too",
			"1. **Split** the package\n   - more files",
		},
		{
			"a later option", options, "I'd go with option 3 as nothing of it is used by anybody for so long",
			"… 3. Do nothing",
		},
		{"own request", "Done.", "can you open a pr for me?", ""},
		{"own short order", "Done.", "release version 0.2", ""},
		{"quantity", "Done. More?", "please write for me the missing 2 tests of the reader", "Done. More?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := listen("u: go", "a: "+tt.asked, "u: "+tt.answer).Said()[1]
			difftest.Equal(t, tt.want, s.Question)
		})
	}
}

// What a digest tells of the messages before it is not quoted beside their words.
func TestRenderToldQuestions(t *testing.T) {
	w := listen("u: go", "a: Shall I fix the parser?", "u: yes", "a: Shall I push it?", "u: no")
	got := w.Render(RenderOptions{Budget: 500, Told: 4})
	want := "- message 3: yes\n- message 5, answering the assistant's:\n  > Shall I push it?\n  user: no\n"
	if strings.Contains(got, "parser") || !strings.Contains(got, want) {
		t.Errorf("got\n%s", got)
	}
}

func TestQuestionFromAnEarlierList(t *testing.T) {
	w := listen(
		"u: review",
		"a: Findings:\n1. races\n2. leaks",
		"u: do 1 first",
		"a: Fixed the races. All tests pass and the working tree is clean again, the commit is made as you wanted it.",
		"u: ok, 2 now",
	)
	s := w.Said()[2]
	if !strings.Contains(s.Question, "2. leaks") {
		t.Errorf("question = %q", s.Question)
	}
}

func TestWordsInToolResults(t *testing.T) {
	const refused = "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\n"
	const denied = "Permission for this tool use was denied. The tool use was rejected. The user said:\n"
	w := heard(
		transcript.Assistant(
			transcript.Call("1", "Bash", "{}"),
			transcript.Call("2", "AskUserQuestion", "{}"),
			transcript.Call("3", "Bash", "{}"),
			transcript.Call("4", "mcp__tracker__get_issue", "{}"),
			transcript.Call("5", "bash", "{}"),
			transcript.Call("6", "Bash", "{}"),
			transcript.Call("7", "Write", "{}"),
			transcript.Call("8", "mcp__tracker__get_issue", "{}"),
		),
		transcript.NewMessage(
			transcript.RoleUser,
			transcript.ErrorResult("1", refused+"never push to main"),
			transcript.Result("2", `"Which?"="Tabs"`),
			transcript.Result("3", refused+"a tool says so"),
			transcript.ErrorResult("4", refused+"a server says so"),
			transcript.ErrorResult("5", refused+"another program's shell says so"),
			transcript.ErrorResult("6", "Exit code 1\n"+refused+"a command says so"),
			transcript.ErrorResult("7", denied+"use trash"),
			transcript.ErrorResult("8", denied+"a server says so"),
		).WithOrigin(transcript.OriginTyped), // as a log of Claude Code says
	)
	var got []string
	for _, s := range w.Said() {
		got = append(got, s.Via+": "+s.Text)
	}
	if d := difftest.Values([]string{
		"Bash: never push to main", `AskUserQuestion: "Which?"="Tabs"`, "Write: use trash",
	}, got); d != "" {
		t.Error(d)
	}
	w.Add(2, transcript.User("[Request interrupted by user]"))
	w.Add(3, transcript.User("not like this"))
	w.Add(4, transcript.User("go on"))
	shows(t, w.Render(RenderOptions{}),
		"message 2 (refusing a call of Bash): never push", "message 2 (answer to AskUserQuestion): ",
		"message 4 (stopping the assistant): not like this", "message 5: go on")
}

// What a client writes around a person's words in a refusal, and the questions that it repeats
// because nobody answered them, are not that person's.
func TestClientsWordsInRefusals(t *testing.T) {
	const (
		refused = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file " +
			"edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
		note = "\n\nNote: The user's next message may contain a correction or preference. Pay close attention — if they " +
			"explain what went wrong or how they'd prefer you to work, consider saving that to memory for future sessions."
		clarify = "The user wants to clarify these questions.\n    This means they may have additional information, " +
			"context or questions for you.\n    Take their response into account and then reformulate the questions if " +
			"appropriate.\n    Start by asking them what they would like to clarify.\n\n    Questions asked:\n"
	)
	for _, tt := range []struct{ tool, text, want string }{
		{"Bash", "use trash" + note, "use trash"},
		{"Bash", "use trash\n\nand a backup" + note, "use trash\n\nand a backup"},
		{"Bash", note[2:], ""},
		{"Bash", note[2:] + "\nis what it says", note[2:] + "\nis what it says"},
		{"AskUserQuestion", "neither, wait", "neither, wait"},
		{"AskUserQuestion", clarify + "- \"push?\"\n  (No answer provided)" + note, ""},
		{
			"AskUserQuestion",
			clarify + "- \"push?\"\n  (No answer provided)\n- \"port?\"\n  Answer: 8099\n- \"a\nb?\"\n  (No answer provided)",
			"- \"port?\"\n  Answer: 8099",
		},
	} {
		w := heard(transcript.Assistant(transcript.Call("1", tt.tool, "{}")),
			transcript.NewMessage(transcript.RoleUser, transcript.ErrorResult("1", refused+tt.text)).
				WithOrigin(transcript.OriginTyped))
		got := ""
		for _, s := range w.Said() {
			got += s.Text
		}
		if got != tt.want {
			t.Errorf("%s refused with %q gives %q, want %q", tt.tool, tt.text, got, tt.want)
		}
	}
	w := heard(transcript.Assistant(transcript.Call("1", "AskUserQuestion", "{}")),
		transcript.NewMessage(transcript.RoleUser, transcript.Result("1",
			"User has answered your questions: . You can now continue with the user's answers in mind.")))
	if said := w.Said(); len(said) > 0 {
		t.Errorf("no answer gives %q", said[0].Text)
	}
}

func TestRenderWords(t *testing.T) {
	w := listen(
		"u: Port the reader to Go. Never touch legacy/.",
		"a: Tabs or spaces?\n\n1. tabs\n2. spaces",
		"u: 1",
		"a: Done. Shall I add tests?",
		"u: "+strings.Repeat("yes, many of them, for each of the formats. ", 60),
		"a: ok",
		"u: you can touch legacy/ now",
		"a: ok", "u: Use slog only.")
	shows(t, w.Render(RenderOptions{}),
		"- message 1: Port the reader to Go. Never touch legacy/.", "> 1. tabs",
		"- message 7: you can touch legacy/ now", "- message 9: Use slog only.")
	handle := func(i int) string { return fmt.Sprintf("h%d", i) }
	short := w.Render(RenderOptions{Budget: 160, Handle: handle, Pins: []string{"ship on Friday"}})
	shows(t, short, "left out; the rest: h4 …]", "ship on Friday", "Never touch legacy/.", "Use slog only.")
	if n := len(short) / 4; n > 200 {
		t.Errorf("short page has about %d tokens:\n%s", n, short)
	}
	if got := w.Render(RenderOptions{UpTo: 6}); strings.Contains(got, "touch legacy/ now") {
		t.Errorf("a page up to message 6 must not know of message 7:\n%s", got)
	}
	if got := new(Words).Render(RenderOptions{}); got != "" {
		t.Errorf("empty page = %q", got)
	}
}

func FuzzUserWords(f *testing.F) {
	f.Add(
		"Don't touch legacy/. 1. a\n2. b\n\nWhich?",
		"1+2, never mind\n```\nx\n``` <system-reminder>x</system-reminder>",
	)
	f.Add("- [x] a\n- [ ] b", "no, revert this again: “x” 不要改。`")
	f.Add("A)", "<command-args>\xff</command-args>\n(b) remove it again")
	f.Fuzz(func(t *testing.T, said, answer string) {
		w := listen("u: "+said, "a: "+answer, "u: "+answer, "a: "+said, "u: "+said+"\n"+answer)
		w.Add(5,
			transcript.Assistant(transcript.Call("1", "TodoWrite", said), transcript.Call("2", "TaskCreate", answer)))
		w.Add(6, transcript.Results(transcript.Result("1", said), transcript.ErrorResult("2", answer)))
		if a, b := w.Render(RenderOptions{Budget: 100}), w.Render(RenderOptions{Budget: 100}); a != b {
			t.Error("two pages differ")
		}
		for _, s := range w.Said() {
			at := 0
			for _, p := range s.pastes {
				if p.start < at || p.end <= p.start || p.end > len(s.Text) {
					t.Fatalf("pastes %v in a text of %d bytes", s.pastes, len(s.Text))
				}
				at = p.end
			}
			s.Brief("")
		}
		if page := w.Render(RenderOptions{Budget: 100}); len(page) > 3000 {
			t.Errorf("page of %d bytes:\n%s", len(page), page)
		}
	})
}

func ExampleWords() {
	var w Words
	for i, m := range []transcript.Message{
		transcript.User("Port the reader to Go. Never touch legacy/."),
		transcript.Assistant(transcript.Say("Shall I also port its tests?")),
		transcript.User("yes"),
	} {
		w.Add(i, m)
	}
	fmt.Print(w.Render(RenderOptions{}))
	// Output:
	// ## What the user said (verbatim, oldest first)
	// - message 1: Port the reader to Go. Never touch legacy/.
	// - message 3, answering the assistant's:
	//   > Shall I also port its tests?
	//   user: yes
}

// A long paste is shown whole where there is room for it; where there is not, it keeps
// nobody out.
func TestRenderWordsAfterPaste(t *testing.T) {
	var w Words
	for i := range 10 {
		w.Add(2*i, transcript.User(fmt.Sprintf("Short request number %d, please.", i)))
	}
	paste := strings.Repeat("    a line that was pasted from a log\n", 60)
	w.Add(20, transcript.User("the log:\n"+paste+"\nwhat does it mean?"))
	shows(t, w.Render(RenderOptions{Budget: 1_000, Pastes: 1_000}), strings.TrimSpace(paste))
	for _, pastes := range []int{0, 400} {
		got := w.Render(RenderOptions{Budget: 400, Pastes: pastes})
		for i := range 10 {
			shows(t, got, fmt.Sprintf("Short request number %d, please.", i))
		}
		if shows(t, got, "the log:", "what does it mean?"); strings.Contains(got, paste) {
			t.Errorf("the paste is not shown in part:\n%s", got)
		}
	}
}

func TestManyShortMessagesBeatOnePaste(t *testing.T) {
	lines := []string{"u: start"}
	for i := range 30 {
		lines = append(lines, "a: ok", fmt.Sprintf("u: then look at part number %d of it", i))
		if i == 20 {
			lines = append(lines, "a: ok", "u: the log:\n"+strings.Repeat("some line of a log that was pasted\n", 400))
		}
	}
	page := listen(lines...).Render(RenderOptions{Budget: 900})
	for i := range 30 {
		shows(t, page, fmt.Sprintf("part number %d of", i))
	}
	shows(t, page, "left out …]")
}

// What people typed comes before the questions that it answers; those of the newest messages stay as
// far as there is room for them.
func TestRenderWordsBeforeQuestions(t *testing.T) {
	lines := []string{"u: start"}
	for i := range 50 {
		lines = append(lines, fmt.Sprintf("a: I changed the listener. Shall service %d listen on %d?", i, 6000+i),
			fmt.Sprintf("u: no, use %d", 7000+i))
	}
	page := listen(lines...).Render(RenderOptions{Budget: 600})
	for i := range 50 {
		shows(t, page, fmt.Sprintf("no, use %d", 7000+i))
	}
	if shows(t, page, "service 49 listen"); strings.Contains(page, "service 0 listen") {
		t.Errorf("questions:\n%s", page)
	}
}

func TestShortQuestion(t *testing.T) {
	q := "2. Filter stale sessions\n3. Fix the routing\n" +
		strings.Repeat("Some background that nobody needs. ", 20) + "\nShall I begin with these?"
	got := shortQuestion(q)
	if len(got) > shortQuestionMax || !strings.HasPrefix(got, "2. Filter stale sessions\n3. Fix the routing\n") ||
		!strings.HasSuffix(got, "Shall I begin with these?") {
		t.Errorf("got %q", got)
	}
	got = shortQuestion(strings.Repeat("An option that is told in many words, of which not all can be shown.\n", 9) +
		"Which?")
	if !strings.HasSuffix(got, "shown.\n… Which?") {
		t.Errorf("no mark of what is left out: %q", got)
	}
}

// Pins that are larger than the page do not keep out what people typed.
func TestRenderLargePins(t *testing.T) {
	w := listen("u: Start with the parser.", "a: ok", "u: Never touch legacy/.")
	for _, budget := range []int{1, 60, 400} {
		got := w.Render(RenderOptions{Budget: budget, Pins: []string{strings.Repeat("pinned words ", 400)}})
		if shows(t, got, "Never touch legacy/."); budget == 400 {
			shows(t, got, "Start with the parser.")
		}
	}
}

// What the user said last is shown in any room, if need be without what it answers.
func TestRenderNewestWords(t *testing.T) {
	const said = "Take 2, but only cache-7731."
	option := strings.Repeat("очистить кэш ", 20)
	w := listen("u: Clean up.", "a: Что?\n1. "+option+"\n2. "+option+"\n   "+option+"?", "u: "+said)
	for budget := 1; budget < 400; budget++ {
		count := func(s string) int { return (len(s) + 1) / 2 }
		if page := w.Render(RenderOptions{Budget: budget, Count: count}); !strings.Contains(page, said) {
			t.Fatalf("in %d tokens:\n%s", budget, page)
		}
	}
}

// A short message is shown beside many newer ones that are long.
func TestRenderShortBesideLong(t *testing.T) {
	const rule = "We move billing. Never change files under legacy/: they are frozen for the audit that ends in May, " +
		"and nobody but Ines Okafor may lift that, not even for a line that is plainly wrong, so ask her first."
	said := []string{"u: " + rule, "a: OK."}
	for i := range 40 {
		said = append(said, "u: "+strings.Repeat(fmt.Sprintf("look at module %d again, ", i), 60), "a: Done.")
	}
	shows(t, listen(said...).Render(RenderOptions{Budget: 2_600}), rule)
}

// However long the newest messages are, something of each older one is shown before more of them.
func TestSomethingOfEach(t *testing.T) {
	const long = "please look at all of this before you go on, since it matters for what comes next; "
	var lines []string
	for i := range 12 {
		lines = append(lines, fmt.Sprintf("u: wish %d: ", i)+strings.Repeat(long, 3*(i+1)), "a: Done.")
	}
	page := listen(lines...).Render(RenderOptions{Budget: 900})
	for i := range 12 {
		shows(t, page, fmt.Sprintf("wish %d:", i))
	}
}
