package userwords

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
		filesFrom, filesTo, "# Context from my IDE setup:", "# Files mentioned by the user:", "## My request for Codex:",
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
		sure, doubt := judged(said(origin, texts...), func(string) bool { return true })
		words, all := joined(sure), joined(append(sure, doubt...))
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
		return []string{"MINE1\n" + filesFrom + "\n" + s + "\n" + filesTo + "\nMINE2"}
	},
	func(_, s string) []string { return []string{"MINE1", "\n" + filesFrom, s, s, "\n" + filesTo, "MINE2"} },
	func(tag, s string) []string {
		return []string{
			"MINE1\n" + filesFrom + "\n" + s + "\n" + filesTo + "\nMINE2\n<" + tag + ">\n" + s + "\n</" + tag + ">",
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

func said(origin transcript.Origin, texts ...string) transcript.Message {
	var all []transcript.Block
	for _, s := range texts {
		all = append(all, transcript.Say(s))
	}
	return transcript.NewMessage(transcript.RoleUser, all...).WithOrigin(origin)
}

// Words in or beside elements that a client may have written or not are in doubt.
func TestTypedBesideElements(t *testing.T) {
	for _, texts := range [][]string{
		{"See:\n<system-reminder>\nKEEP\n\n<system-reminder>\nMonday\n</system-reminder>"},
		{"See:\n<local-command-stdout>\nKEEP\n\n<system-reminder>\na\n</local-command-stdout>\nb\n</system-reminder>"},
		{"<user_input>a</user_input>\n<b>KEEP</b> in the title, do not touch it."},
		{"<user_input>a</user_input>", "<b>KEEP</b> in the title, do not touch it."},
		{"<b>KEEP</b> in the title, do not touch it.", "<user_input>a</user_input>"},
		{"<instructions>KEEP</instructions>\n<user_query>a</user_query>"},
		{"<attached_files>x</attached_files>\n<user_query>\nKEEP:\n<user_query>a</user_query>\n</user_query>"},
		{"a\n" + filesFrom + "\nx\n" + filesTo + "\nKEEP\n" + filesTo},
		{"a\n" + filesFrom, "x\n" + filesTo, "KEEP", filesTo},
	} {
		for _, origin := range []transcript.Origin{transcript.OriginUnknown, transcript.OriginTyped} {
			sure, doubt := judged(said(origin, texts...), func(string) bool { return true })
			if strings.Contains(joined(sure), "KEEP") || !strings.Contains(joined(doubt), "KEEP") {
				t.Errorf("%q gives %q, in doubt %q", texts, joined(sure), joined(doubt))
			}
		}
	}
}

// Marks in a text that a client wrote whole count for nothing.
func TestMarksInForms(t *testing.T) {
	for _, text := range []string{
		"<channel source=\"chat\">\nFORGED\n" + filesFrom + "\nx</channel>",
		"# AGENTS.md instructions for /a\n\n<INSTRUCTIONS>\nFORGED\n" + filesFrom + "\nx</INSTRUCTIONS>",
		"Ran `a`\n```\nFORGED\n" + filesFrom + "\n```",
	} {
		if words, _ := TypedText(transcript.User(text)); words != "" {
			t.Errorf("%q gives %q", text, words)
		}
	}
}

// What people type around a client's tags, marks and forms stays, sure or in doubt, and what content
// writes there is never sure.
func TestTypedAroundTags(t *testing.T) {
	for _, text := range []string{
		"<system-reminder>\nA\n</system-reminder>\nwhy is the <system-reminder> tag shown? KEEP\n<ide_selection>\n" +
			"real </system-reminder>\n</ide_selection>",
		"Look:\n<system-reminder is what I see. KEEP\n\n<system-reminder>\nreal\n</system-reminder>",
		"<user_query> is shown, why? KEEP\n<ide_selection>\nFORGED </user_query>\n</ide_selection>",
		"<system-reminder>\nx\n</system-reminder>\nFull transcript available at: my desk. KEEP",
		"Ran `go test ./...`\n```\nFAIL x\n```\nCommand exited with code 1 again. KEEP",
		"Ran `go vet`\n(no output) is all I get. KEEP",
		"Skipping tool [x] due to user rejecting a previous tool. was printed; KEEP",
	} {
		for _, origin := range []transcript.Origin{transcript.OriginUnknown, transcript.OriginTyped} {
			sure, doubt := judged(said(origin, text), func(string) bool { return true })
			if all := joined(sure) + joined(doubt); !strings.Contains(all, "KEEP") || strings.Contains(joined(sure), "FORGED") {
				t.Errorf("%q gives %q, in doubt %q", text, joined(sure), joined(doubt))
			}
		}
	}
}
