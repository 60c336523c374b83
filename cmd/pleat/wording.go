package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// thousands writes 1204 as 1,204.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural writes a count with its noun: "1 call", "1,204 calls".
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return thousands(n) + " " + noun
}

// verb is plural with the verb that follows: "1 call was", "2 calls were".
func verb(n int, noun, one, many string) string {
	if n == 1 {
		many = one
	}
	return plural(n, noun) + " " + many
}

// short writes a number in at most five characters: 950, 9.5k, 61k, 1.2M.
func short(n int) string {
	f := float64(n)
	switch {
	case n < 1_000:
		return strconv.Itoa(n)
	case n < 9_950:
		return fmt.Sprintf("%.1fk", f/1e3)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", f/1e3)
	case n < 9_950_000:
		return fmt.Sprintf("%.1fM", f/1e6)
	}
	return fmt.Sprintf("%.0fM", f/1e6)
}

// byteSize writes a size as people do: 812 B, 4.1 kB, 12 MB.
func byteSize(n int64) string {
	f, units := float64(n), []string{"B", "kB", "MB", "GB"}
	i := 0
	for ; f >= 999.5 && i < len(units)-1; i++ {
		f /= 1000
	}
	if i == 0 || f >= 9.95 {
		return fmt.Sprintf("%.0f %s", f, units[i])
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}

func percent(part, whole int) string {
	if whole == 0 {
		return "0%"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(part)/float64(whole))
}

// oneLine makes a text fit for one line of a terminal: white space becomes single spaces,
// and whatever could move the cursor is gone.
func oneLine(s string) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case !unicode.IsPrint(r):
			continue
		case space:
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
		if b.Len() > 2_000 { // nothing shows more
			break
		}
	}
	return b.String()
}

// clip cuts a line to n columns, with a mark where something is missing.
func clip(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	used := 0
	for i, r := range s {
		if w := runeColumns(r); used+w > n-1 {
			return strings.TrimRight(s[:i], " ") + "…"
		} else {
			used += w
		}
	}
	return s
}

// clipMiddle cuts a line to n columns in the middle: of a path both ends matter.
func clipMiddle(s string, n int) string {
	if columns(s) <= n || n < 8 {
		return clip(s, n)
	}
	runes := []rune(s)
	head := (n - 1) / 3
	tail := n - 1 - head
	return string(runes[:head]) + "…" + string(runes[len(runes)-min(tail, len(runes)):])
}

// pad fills a line up to n columns.
func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(n-columns(s), 0))
}

func padLeft(s string, n int) string {
	return strings.Repeat(" ", max(n-columns(s), 0)) + s
}

// columns is how much room a line takes in a terminal.
func columns(s string) int {
	if n := len(s); n == utf8.RuneCountInString(s) {
		return n
	}
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// runeColumns knows the scripts and pictures that take two columns, roughly.
func runeColumns(r rune) int {
	switch {
	case unicode.Is(unicode.Mn, r), r == '\u200d', r == '\ufe0f':
		return 0
	case r < 0x1100:
		return 1
	case r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// bar draws part of whole in n columns, to an eighth of a column.
func bar(part, whole, n int) string {
	if whole <= 0 || part <= 0 {
		return strings.Repeat(" ", n)
	}
	eighths := min((part*n*8+whole/2)/whole, n*8)
	if eighths == 0 {
		eighths = 1 // something is there
	}
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune(" ▏▎▍▌▋▊▉")[rest])
	}
	return pad(s, n)
}

// tokenCount is a flag for an amount of tokens: 60000, 60_000, 60k, 0.2M.
type tokenCount int

func (t *tokenCount) String() string {
	if *t == 0 {
		return ""
	}
	if n := int(*t); n%1_000 == 0 {
		return strconv.Itoa(n/1_000) + "k"
	}
	return strconv.Itoa(int(*t))
}

func (t *tokenCount) Set(s string) error {
	num, factor := strings.ReplaceAll(strings.TrimSpace(s), "_", ""), 1.0
	switch {
	case strings.HasSuffix(num, "k"), strings.HasSuffix(num, "K"):
		num, factor = num[:len(num)-1], 1e3
	case strings.HasSuffix(num, "m"), strings.HasSuffix(num, "M"):
		num, factor = num[:len(num)-1], 1e6
	}
	f, err := strconv.ParseFloat(num, 64)
	if err != nil || !(f*factor >= 1 && f*factor <= 1e12) {
		return fmt.Errorf("want a number of tokens such as 60000, 60_000, 60k or 0.2M")
	}
	*t = tokenCount(f*factor + 0.5)
	return nil
}
