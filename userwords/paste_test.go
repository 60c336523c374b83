package userwords

import (
	"strings"
	"testing"
)

func TestPastes(t *testing.T) {
	line := strings.Repeat("    server.go:12: connection refused by peer\n", 40)
	log := strings.Repeat("12:04:11.203 [42] 200 GET /v1/x 0.003 0.2 17\n", 40)
	prose := strings.Repeat("I think that we should look at the reader first, because it fails most often. ", 30)
	doc := "# Plan\n\nFirst we do this.\n\n" + strings.Repeat("- then that, and all the rest of it\n", 40)
	for _, tt := range []struct {
		name, text string
		keeps      []string // what the brief form has
		shorter    bool
	}{
		{"short", "look:\n    a.go:1: x", nil, false},
		{"prose", prose, nil, false},
		{
			"output", "why does this fail?\n" + line + "it worked yesterday",
			[]string{"why does this fail?\n", "\nit worked yesterday", "server.go:12:"},
			true,
		},
		{"log", "see\n\n" + log + "\nand tell me", []string{"see\n", "\nand tell me"}, true},
		{
			"fence", "so:\n```\n" + strings.Repeat("words in a fence\n", 80) + "```\n\nwhat now?",
			[]string{"so:\n", "\nwhat now?"},
			true,
		},
		{"document", "Implement this plan:\n\n" + doc, []string{"Implement this plan:\n", "# Plan\n"}, true},
		{
			"two logs", "the old one:\n" + log + "and this is the new one:\n" + log,
			[]string{"the old one:\n", "and this is the new one:\n"},
			true,
		},
		{
			"a sentence between", line + "I do not want the cache touched.\n" + log + "\n缓存不要动，谢谢你\n\n" + line,
			[]string{"\nI do not want the cache touched.\n", "\n缓存不要动，谢谢你\n"},
			true,
		},
		{
			"between fences", "```\n" + line + "```\nThis one is right, but\n```\n" + line + "```\n",
			[]string{"\nThis one is right, but\n"},
			true,
		},
		{
			"anything between fences", "```\n" + line + "```\nTake 2, but only cache-7731.\n```go\n" + log + "```\n8099!\n```\n" +
				line + "```\n",
			[]string{"```\nTake 2, but only cache-7731.\n```go\n", "```\n8099!\n```\n"},
			true,
		},
		{
			"between a fence and a log", "```\n" + line + "```\nTake 2, but only cache-7731.\n" + log + "Why?",
			[]string{"```\nTake 2, but only cache-7731.\n"},
			true,
		},
		{
			"short quotes", strings.Repeat("> the reader is slow\n> and large\nIt must stay as it is, please.\n", 40),
			[]string{strings.Repeat("> the reader is slow\n> and large\nIt must stay as it is, please.\n", 39)},
			false,
		},
		{
			"one line", "parse this: \n{" + strings.Repeat(`"a":1,`, 400) + "}",
			[]string{"parse this: \n", "{\"a\":1,"},
			true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := listen("u: " + tt.text).Said()[0]
			got := s.Brief("; the rest: h")
			shows(t, got, tt.keeps...)
			if short := len(got) < len(s.Text)/2; short != tt.shorter ||
				short != strings.Contains(got, "left out; the rest: h …]") {
				t.Errorf("%d of %d bytes:\n%s", len(got), len(s.Text), got)
			}
		})
	}
}
