package filestate

import (
	"fmt"
	"slices"
	"strings"
)

// Diff writes how one text becomes another, as a unified diff without file names.
func Diff(before, after string) string {
	a, b := splitLines(before), splitLines(after)
	ops := shortest(a, b)
	var out strings.Builder
	for from := 0; from < len(ops); {
		if ops[from].kind == ' ' {
			from++
			continue
		}
		start, end := max(from-around, 0), from
		for k := from; k < len(ops) && k <= end+2*around; k++ {
			if ops[k].kind != ' ' {
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

// op is a step on the way from a to b: a line of both, of a or of b.
type op struct {
	kind byte // ' ', '-' or '+'
	a, b int
}

func writeHunk(out *strings.Builder, ops []op, a, b []string) {
	olds, news := 0, 0
	for _, o := range ops {
		if o.kind != '+' {
			olds++
		}
		if o.kind != '-' {
			news++
		}
	}
	fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n", ops[0].a+min(olds, 1), olds, ops[0].b+min(news, 1), news)
	for _, o := range ops {
		line := ""
		if o.kind == '+' {
			line = b[o.b]
		} else {
			line = a[o.a]
		}
		fmt.Fprintf(out, "%c%s\n", o.kind, line)
	}
}

// maxSteps bounds the search for the shortest way: beyond it everything in between counts
// as changed.
const maxSteps = 1_000

// shortest is the shortest way from a to b, by Myers' algorithm.
func shortest(a, b []string) []op {
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var ops []op
	for i := range head {
		ops = append(ops, op{' ', i, i})
	}
	ops = append(ops, middle(a[head:len(a)-tail], b[head:len(b)-tail], head)...)
	for i := range tail {
		ops = append(ops, op{' ', len(a) - tail + i, len(b) - tail + i})
	}
	return ops
}

func middle(a, b []string, base int) []op {
	n, m := len(a), len(b)
	limit := min(n+m, maxSteps)
	v := make([]int, 2*limit+3)
	var trace [][]int
	for d := 0; d <= limit; d++ {
		trace = append(trace, slices.Clone(v))
		for k := -d; k <= d; k += 2 {
			at := limit + 1 + k
			x := v[at-1] + 1
			if k == -d || k != d && v[at-1] < v[at+1] {
				x = v[at+1]
			}
			for x < n && x-k < m && a[x] == b[x-k] {
				x++
			}
			if v[at] = x; x >= n && x-k >= m {
				return backtrack(trace, n, m, limit, base)
			}
		}
	}
	var ops []op
	for i := range n {
		ops = append(ops, op{'-', base + i, base})
	}
	for i := range m {
		ops = append(ops, op{'+', base + n, base + i})
	}
	return ops
}

func backtrack(trace [][]int, x, y, limit, base int) []op {
	var ops []op
	for d := len(trace) - 1; d >= 0; d-- {
		v := trace[d]
		k := x - y
		at := limit + 1 + k
		prev := k - 1
		if k == -d || k != d && v[at-1] < v[at+1] {
			prev = k + 1
		}
		px := v[limit+1+prev]
		py := px - prev
		if d == 0 {
			px, py = 0, 0
		}
		for x > px && y > py {
			x, y = x-1, y-1
			ops = append(ops, op{' ', base + x, base + y})
		}
		if d > 0 {
			if x == px {
				y--
				ops = append(ops, op{'+', base + x, base + y})
			} else {
				x--
				ops = append(ops, op{'-', base + x, base + y})
			}
		}
	}
	slices.Reverse(ops)
	return ops
}
