// Package clue makes questions for a search out of the words that stand around what it is to
// find. Units are sentences of a text or lines of a call's arguments.
package clue

import (
	"regexp"
	"slices"
	"strings"
)

// Query makes the question for what stands in a unit: the other words of the unit, with those
// of its neighbours where it has fewer than five itself; empty if even so there are not three.
func Query(units []string, at int, target string) string {
	other := func(i int) string { return strings.ReplaceAll(units[i], target, " ") }
	q := other(at)
	for d := 1; d <= 3 && Words(q) < 5; d++ {
		if at-d >= 0 {
			q = other(at-d) + " " + q
		}
		if at+d < len(units) && Words(q) < 5 {
			q += " " + other(at+d)
		}
	}
	if Words(q) < 3 {
		return ""
	}
	return strings.Join(strings.Fields(q), " ")
}

var (
	tellingWord = regexp.MustCompile(`[\pL\pN_]{3,}`)
	directories = regexp.MustCompile(`[\w.~-]*/[\w./-]*`)
	smallWords  = strings.Fields(
		"the and for with from this that its are was not let now all has have also check see look update need will can " +
			"but into then these those first next",
	)
)

// Words counts the different words that tell something: a question of small words
// and the directories that all files share is none.
func Words(s string) int {
	found := make(map[string]bool)
	for _, w := range tellingWord.FindAllString(directories.ReplaceAllString(s, " "), -1) {
		if w = strings.ToLower(w); !slices.Contains(smallWords, w) {
			found[w] = true
		}
	}
	return len(found)
}
