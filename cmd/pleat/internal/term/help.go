package term

import "strings"

// filled is how wide the texts of help are in the source: where the next word would not have
// fitted, a line goes on in the next.
const filled = 94

// Refill breaks the lines of help anew, if they are wider than the screen. What stands in a
// second column stays there, or goes below the first if that leaves too little room.
func Refill(text string, width int) string {
	lines := strings.Split(text, "\n")
	if Widest(lines, func(l string) string { return l }) <= width {
		return text
	}
	var out []string
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		at := len(line) - len(strings.TrimLeft(line, " "))
		if gap := strings.Index(line[at:], "  "); gap >= 0 {
			at = len(line) - len(strings.TrimLeft(line[at+gap:], " "))
		}
		for end := Columns(line); i+1 < len(lines); i++ {
			next := strings.TrimLeft(lines[i+1], " ")
			word, _, _ := strings.Cut(next, " ")
			if word == "" || len(lines[i+1])-len(next) != at || end+1+Columns(word) <= filled {
				break
			}
			line, end = line+" "+next, Columns(lines[i+1])
		}
		first, rest := line[:at], line[at:]
		if at > width/2 && strings.TrimSpace(first) != "" && Columns(line) > width {
			out, at, first = append(out, strings.TrimRight(first, " ")), 8, "        "
		}
		rest = WrapWords(rest, max(width-at, 16))
		out = append(out, first+strings.ReplaceAll(rest, "\n", "\n"+strings.Repeat(" ", at)))
	}
	return strings.Join(out, "\n")
}
