package filestate

import (
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
)

// Diff writes how one text becomes another, as a unified diff without file names.
func Diff(before, after string) string {
	a, b := splitLines(before), splitLines(after)
	ops := text.DiffLines(a, b, maxSteps)
	var out strings.Builder
	for from := 0; from < len(ops); {
		if ops[from].Kind == ' ' {
			from++
			continue
		}
		start, end := max(from-around, 0), from
		for k := from; k < len(ops) && k <= end+2*around; k++ {
			if ops[k].Kind != ' ' {
				end = k
			}
		}
		stop := min(end+around+1, len(ops))
		writeHunk(&out, ops[start:stop], a, b)
		from = stop
	}
	return out.String()
}

// around is how many lines a hunk shows before and after what changed.
const around = 3

func splitLines(s string) []string {
	if s = fed(s); s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// maxSteps is how many lines may differ for the shortest diff to be looked for.
const maxSteps = 1_000

func writeHunk(out *strings.Builder, ops []text.DiffLine, a, b []string) {
	olds, news := 0, 0
	for _, o := range ops {
		if o.Kind != '+' {
			olds++
		}
		if o.Kind != '-' {
			news++
		}
	}
	fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n", ops[0].A+min(olds, 1), olds, ops[0].B+min(news, 1), news)
	for _, o := range ops {
		line := ""
		if o.Kind == '+' {
			line = b[o.B]
		} else {
			line = a[o.A]
		}
		fmt.Fprintf(out, "%c%s\n", o.Kind, line)
	}
}
