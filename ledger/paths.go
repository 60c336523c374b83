package ledger

import (
	"path"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/ledger/toolcall"
)

// PathTable tells which spellings mean the same file: an agent writes /home/me/app/x.go
// in one call and x.go or ./x.go in the next. Relative paths are resolved against the
// directory of the call or, where that is not said, against the root that earlier calls
// gave away; failing that, a relative spelling that ends an absolute one is taken for the
// same file if there is only one such.
type PathTable struct {
	ids   map[string]int   // cleaned spelling to file
	bases map[string][]int // last element to files
	clean []string         // the longest cleaned spelling of each file
	root  string           // cleaned
}

// maxNamesakes bounds the search among files with equal last elements.
const maxNamesakes = 128

// File returns the number of the file that a call in dir means by a spelling.
func (t *PathTable) File(dir, spelling string) int {
	p := t.resolve(dir, spelling)
	if id, ok := t.ids[p]; ok {
		return id
	}
	if t.ids == nil {
		t.ids, t.bases = make(map[string]int), make(map[string][]int)
	}
	dir = toolcall.CleanPath(dir)
	if t.root == "" && toolcall.IsAbs(dir) && dir != p && !isAbs(spelling) {
		t.root = dir
	}
	id, ok := t.namesake(p)
	if !ok {
		id = len(t.clean)
		t.clean = append(t.clean, p)
		t.bases[baseKey(p)] = append(t.bases[baseKey(p)], id)
	}
	t.ids[p] = id
	return id
}

// resolve is the cleaned path that a call in dir means by a spelling, as far as it is known.
func (t *PathTable) resolve(dir, spelling string) string {
	p := toolcall.Join(dir, spelling)
	switch {
	case t.root == "" || toolcall.IsAbs(p):
		return p
	case dir != "" && toolcall.EndsPath(t.root, toolcall.CleanPath(dir)):
		return toolcall.Join(t.root, spelling) // the root was seen from there
	}
	return toolcall.Join(t.root, p)
}

// knows reports whether the file that a call in dir means by a spelling was named before.
func (t *PathTable) knows(dir, spelling string) bool {
	_, ok := t.ids[t.resolve(dir, spelling)]
	return ok
}

// baseKey is the last element of a path, in lower case because some paths are cleaned to that.
func baseKey(p string) string { return strings.ToLower(path.Base(p)) }

// namesake finds the one file that the path can mean by its end.
func (t *PathTable) namesake(p string) (id int, ok bool) {
	same := t.bases[baseKey(p)]
	for _, i := range same[max(0, len(same)-maxNamesakes):] {
		if !toolcall.SameFile(t.clean[i], p) {
			continue
		}
		if ok {
			return 0, false
		}
		id, ok = i, true
	}
	if !ok {
		return 0, false
	}
	long, short := t.clean[id], p
	if len(long) < len(short) {
		long, short = short, long
		t.clean[id] = long
	}
	if t.root == "" && toolcall.IsAbs(long) && strings.Contains(short, "/") {
		t.root = strings.TrimSuffix(long[:len(long)-len(short)], "/")
	}
	return id, true
}

// resolved are the paths of all files as far as they are known in the end.
func (t *PathTable) resolved() []string {
	out := slices.Clone(t.clean)
	for i, p := range out {
		if t.root != "" && !toolcall.IsAbs(p) {
			out[i] = toolcall.Join(t.root, p)
		}
	}
	return out
}

// Below returns the files that are below another, which is a directory then.
func (t *PathTable) Below(dir int) []int {
	paths := t.resolved()
	files := make([]int, len(paths))
	for i := range files {
		files[i] = i
	}
	return below(paths[dir], files, paths)
}

// below returns those of the files whose paths are below a directory.
func below(dir string, files []int, paths []string) (out []int) {
	dir = strings.TrimSuffix(dir, "/*") + "/"
	for _, id := range files {
		if strings.HasPrefix(paths[id], dir) {
			out = append(out, id)
		}
	}
	return out
}

// joinPaths writes paths in the least room without inventing any: those of a common
// directory together, as in src/{a.go,b.go}, recursively. Each path can be read off
// again by taking the braces apart. Either slash divides.
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

const slashes = `/\`

// sharedDir finds how many of the sorted paths are below the first element that the first
// of them has after from, and how far their common directories reach.
func sharedDir(paths []string, from int) (n, prefix int) {
	first := paths[0]
	start := from
	if strings.HasPrefix(first[from:], "/") {
		start++ // an absolute path begins with an empty element
	}
	slash := strings.IndexAny(first[start:], slashes)
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
		if strings.IndexByte(slashes, first[i]) >= 0 && i+1 < len(first) && i+1 < len(last) {
			prefix = i + 1
		}
	}
	return n, prefix
}
