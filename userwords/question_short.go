package userwords

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
)

// Bounds of a question where room is short.
const (
	fullQuestions    = 6_000 // room for words from which on questions are shown as they are
	questionLine     = 140
	shortQuestionMax = 420
)

// shortQuestion clips a question to what an answer needs: the options that it names, which
// come first, and the question itself, which comes last.
func shortQuestion(q string) string {
	if len(q) <= questionLine {
		return q
	}
	var lines []string
	for line := range strings.Lines(q) {
		if line = strings.TrimSpace(line); strings.Trim(line, "-|: ") != "" {
			lines = append(lines, line)
		}
	}
	size := 0
	for i, line := range lines {
		if len(line) > questionLine && i == len(lines)-1 && line[len(line)-1] == '?' {
			from := text.BetweenWords(line, len(line)-questionLine, +1)
			lines[i] = "…" + strings.TrimSpace(line[from:])
		} else {
			lines[i] = text.ClipAround(line, 0, questionLine)
		}
		size += len(lines[i])
	}
	for size > shortQuestionMax && len(lines) > 2 {
		n := len(lines) - 2
		size -= len(lines[n])
		lines = append(lines[:n], leftOut+strings.TrimPrefix(lines[n+1], leftOut))
	}
	return strings.Join(lines, "\n")
}
