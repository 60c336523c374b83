package text

import "slices"

// DiffLine is a step on the way from lines a to lines b: a line of both, of a or of b.
type DiffLine struct {
	Kind byte // ' ', '-' or '+'
	A, B int  // how far a and b are gone before it
}

// DiffLines is the shortest way from a to b, by Myers' algorithm. If more than steps lines
// between the first and the last that differ do, all of these count as changed.
func DiffLines(a, b []string, steps int) []DiffLine {
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var ops []DiffLine
	for i := range head {
		ops = append(ops, DiffLine{' ', i, i})
	}
	ops = append(ops, differing(a[head:len(a)-tail], b[head:len(b)-tail], head, steps)...)
	for i := range tail {
		ops = append(ops, DiffLine{' ', len(a) - tail + i, len(b) - tail + i})
	}
	return ops
}

func differing(a, b []string, base, steps int) []DiffLine {
	n, m := len(a), len(b)
	limit := min(n+m, steps)
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
				return wayBack(trace, n, m, limit, base)
			}
		}
	}
	var ops []DiffLine
	for i := range n {
		ops = append(ops, DiffLine{'-', base + i, base})
	}
	for i := range m {
		ops = append(ops, DiffLine{'+', base + n, base + i})
	}
	return ops
}

func wayBack(trace [][]int, x, y, limit, base int) []DiffLine {
	var ops []DiffLine
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
			ops = append(ops, DiffLine{' ', base + x, base + y})
		}
		if d > 0 {
			if x == px {
				y--
				ops = append(ops, DiffLine{'+', base + x, base + y})
			} else {
				x--
				ops = append(ops, DiffLine{'-', base + x, base + y})
			}
		}
	}
	slices.Reverse(ops)
	return ops
}
