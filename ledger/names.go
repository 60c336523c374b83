package ledger

import (
	"slices"
	"strings"
)

// joinPaths writes paths in the least room without inventing any: those of a common
// directory together, as in src/{a.go,b.go}, recursively. Each path can be read off
// again by taking the braces apart.
func joinPaths(paths []string) string {
	sorted := slices.Clone(paths)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	return strings.Join(braced(sorted, 0), ", ")
}

// braced groups sorted paths that share more than their first from bytes.
func braced(paths []string, from int) []string {
	var out []string
	for len(paths) > 0 {
		n, prefix := sharedDir(paths, from)
		if n < 2 {
			out = append(out, paths[0][from:])
			paths = paths[1:]
			continue
		}
		inner := braced(paths[:n], prefix)
		out = append(out, paths[0][from:prefix]+"{"+strings.Join(inner, ",")+"}")
		paths = paths[n:]
	}
	return out
}

// sharedDir finds how many of the sorted paths stand below the first element of the first
// of them after from, and how far their common directories reach.
func sharedDir(paths []string, from int) (n, prefix int) {
	first := paths[0]
	start := from
	if strings.HasPrefix(first[from:], "/") {
		start++ // an absolute path begins with an empty element
	}
	slash := strings.IndexByte(first[start:], '/')
	if slash < 0 {
		return 1, from
	}
	prefix = start + slash + 1
	for n = 1; n < len(paths) && strings.HasPrefix(paths[n], first[:prefix]); n++ {
	}
	if n < 2 {
		return n, prefix
	}
	last := paths[n-1] // sorted: what the first and the last share, all share
	for i := prefix; i < len(first) && i < len(last) && first[i] == last[i]; i++ {
		if first[i] == '/' && i+1 < len(first) && i+1 < len(last) {
			prefix = i + 1
		}
	}
	return n, prefix
}
