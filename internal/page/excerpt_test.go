package page

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/text"
)

// Whatever is picked of a text, each line that is not shown leaves a mark in its place.
func TestExcerptMarksWhatItLeavesOut(t *testing.T) {
	forms := []string{
		"## h%d\n", "- i%d\n", "  - i%d\n", "%d. item\n\n", "A sentence s%d.\n", "To do c%d:\n", "| r%d | x |\n",
		"**b%d**\n",
	}
	number, rng := regexp.MustCompile(`\d+|…`), rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var b strings.Builder
		n := 100
		for range 1 + rng.IntN(12) {
			if rng.IntN(6) > 0 {
				fmt.Fprintf(&b, forms[rng.IntN(len(forms))], n)
				n++
				continue
			}
			b.WriteString("```go\n")
			for range rng.IntN(20) {
				fmt.Fprintf(&b, "line(%d)\n}\n", n)
				n++
			}
			b.WriteString("```\n---\n")
		}
		txt := b.String()
		units := text.ProseUnits(txt)
		var order []int
		for u := range units {
			if rng.IntN(3) == 0 {
				order = append(order, u)
			}
		}
		if len(order) == 0 {
			continue
		}
		got, next := excerpt(txt, units, order), 100
		for _, m := range append(number.FindAllString(got, -1), strconv.Itoa(n)) {
			if m == "…" {
				next = -1
				continue
			}
			shown, _ := strconv.Atoi(m)
			if next >= 0 && shown != next {
				t.Fatalf("%d to %d are left out without a mark:\n%s\nof:\n%s", next, shown-1, got, txt)
			}
			next = shown + 1
		}
	}
}
