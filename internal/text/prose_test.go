package text

import (
	"slices"
	"strings"
	"testing"
)

func TestProseUnits(t *testing.T) {
	text := strings.Join([]string{
		"Done. It works now.",
		"",
		"## What changed",
		"",
		"Two things:",
		"- first item",
		"  - inner item",
		"- second item",
		"",
		"| a | b |",
		"|---|---|",
		"| c | d |",
		"",
		"Commit:",
		"```text",
		"27a33e9 Harden it",
		"```",
	}, "\n")
	type unit struct {
		Text, Under string
		Kind        uint8
	}
	var got []unit
	units := ProseUnits(text)
	for _, u := range units {
		v := unit{Text: text[u.Start:u.End], Kind: u.Kind}
		if u.Parent >= 0 {
			v.Under = text[units[u.Parent].Start:units[u.Parent].End]
		}
		got = append(got, v)
	}
	want := []unit{
		{"Done. It works now.", "", unitSentence},
		{"What changed", "", UnitHeading},
		{"Two things:", "What changed", UnitLead},
		{"- first item", "Two things:", unitItem},
		{"- inner item", "- first item", unitItem},
		{"- second item", "Two things:", unitItem},
		{"| a | b |", "- second item", unitRow},
		{"| c | d |", "- second item", unitRow},
		{"Commit:", "What changed", UnitLead},
		{"27a33e9 Harden it", "Commit:", unitQuote},
	}
	if !slices.Equal(got, want) {
		t.Errorf("units\n%q, want\n%q", got, want)
	}
}

// Sentences that give a reason or decide are worth more than those that announce.
func TestCueScore(t *testing.T) {
	order := []string{
		"Let me look at the parser next.",
		"The parser has three parts.",
		"Updated the parser.",
		"The parser must never be called twice.",
		"I went with two passes because one would need the whole tree, which means no streaming.",
	}
	last := float32(-100)
	for _, s := range order {
		score, _ := CueScore(s, nil)
		if score < last || score == last && score != 0 {
			t.Errorf("%q scores %v, not more than the one before it (%v)", s, score, last)
		}
		last = score
	}
	straight, _ := CueScore("don't", nil)
	curly, _ := CueScore("don’t", nil)
	if straight != curly || straight == 0 {
		t.Errorf("don't scores %v, don’t %v", straight, curly)
	}
}
