package sessionlog

import (
	"fmt"
	"slices"
)

// node is all that the index of a tree holds of a line.
type node struct {
	off, size int64
	num       int32 // line
	parent    int32 // a node, or one of the two below
	kind      nodeKind
	side      bool // of a sidechain
	on        bool // of the conversation
}

const (
	root   = -1 // has no parent
	broken = -2 // its parent is not in the file
)

type nodeKind uint8

const (
	linkNode   nodeKind = iota // only leads from one message to the next
	userNode                   // a user's message; in pi's logs any message
	answerNode                 // the model's answer, or a part of it
	resultNode                 // a message with tool results
	markNode                   // a compaction
	queuedNode                 // typed while the agent worked; stands outside the tree
	headNode                   // says something about the session, and is not in the tree
)

type tree struct {
	nodes []node
	ids   map[string]int
	links map[int]string // nodes whose parent was not seen yet
}

func newTree() *tree { return &tree{ids: make(map[string]int), links: make(map[int]string)} }

// add appends a node. It reports false for an id that the tree has already: resumed
// sessions repeat lines.
func (t *tree) add(id, parent string, n node) (int, bool) {
	at := len(t.nodes)
	if id != "" {
		if _, ok := t.ids[id]; ok {
			return 0, false
		}
		t.ids[id] = at
	}
	n.parent = root
	if parent != "" {
		if p, ok := t.ids[parent]; ok && p != at {
			n.parent = int32(p)
		} else {
			n.parent = broken
			t.links[at] = parent
		}
	}
	t.nodes = append(t.nodes, n)
	return at, true
}

// walk marks the path from a leaf to the root. Where the parent is not in the file, the path
// continues with the line before: logs lose lines, and a compaction links to lines that were
// never written.
func (t *tree) walk(leaf int) {
	for at, id := range t.links {
		if p, ok := t.ids[id]; ok {
			t.nodes[at].parent = int32(p)
		}
	}
	for at := leaf; at >= 0 && !t.nodes[at].on; {
		t.nodes[at].on = true
		next := int(t.nodes[at].parent)
		if next == broken {
			next = t.before(at, queuedNode)
		}
		at = next
	}
}

// before returns the newest node of the main line before a node that is not of some kinds, root if
// there is none.
func (t *tree) before(at int, not ...nodeKind) int {
	for at--; at >= 0; at-- {
		if n := t.nodes[at]; !n.side && !slices.Contains(not, n.kind) {
			return at
		}
	}
	return root
}

// all marks every node of the main line, for logs that turn out not to be trees.
func (t *tree) all() {
	for i := range t.nodes {
		t.nodes[i].on = !t.nodes[i].side
	}
}

// leaf returns the last message of the main line, root if there is none.
func (t *tree) leaf() int { return t.before(len(t.nodes), linkNode, queuedNode) }

// readTree reads a log whose lines name themselves and their parents, in two passes: an index
// of the lines by what kind says of them, then the lines on the way to the last leaf. If no
// line names a parent, the log is no tree, and all lines are read.
func (s *sink) readTree(
	id, parent string, kind func(value) (nodeKind, error), read func(*sink, Record, value) error,
) error {
	t, linear := newTree(), true
	err := s.lines(func(ln line, e value) error {
		k, err := kind(e)
		if err == nil && k == linkNode && s.foreign(e) {
			err = errShape
		}
		if err != nil || k == headNode {
			return err
		}
		up := e.get(parent)
		linear = linear && !up.isString()
		t.add(e.get(id).str(), up.str(), node{off: ln.off, size: ln.size, num: int32(ln.num), kind: k})
		return nil
	})
	if err != nil {
		return err
	}
	if linear {
		t.all()
	} else {
		t.walk(t.leaf())
	}
	var buf []byte
	for _, n := range t.nodes {
		rec := Record{Line: int(n.num), Abandoned: !n.on}
		if !n.on {
			if n.kind != linkNode {
				s.info.Abandoned++
			}
			if !s.opts.Abandoned {
				continue
			}
		}
		v, err := s.reread(n, &buf)
		if err != nil {
			return err
		}
		if err := read(s, rec, v); err != nil {
			return err
		}
	}
	return s.err
}

// reread reads the line of a node again, into a buffer that the value shares.
func (l *Log) reread(n node, buf *[]byte) (value, error) {
	text, err := l.src.again(buf, n.off, n.size)
	if err != nil {
		return value{}, err
	}
	if n.num == 1 {
		text = trimBOM(text)
	}
	v, err := parse(text)
	if err != nil {
		return value{}, fmt.Errorf("line %d changed while it was read: %w", n.num, err)
	}
	return v, nil
}
