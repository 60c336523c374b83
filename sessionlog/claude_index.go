package sessionlog

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
)

// steps lists the nodes of each message, in the order of the file: the parts of an answer are
// one message, and so are the results of its calls.
func (x *claudeIndex) steps() (steps [][]int) {
	stepOf := make(map[int]int)    // by node, of answers
	resultsOf := make(map[int]int) // the step of the results, by the step of their answer
	partOf := make(map[int]int)    // the first part of an answer, by the others
	for _, nodes := range x.answers {
		for _, at := range nodes[1:] {
			partOf[at] = nodes[0]
		}
	}
	for at, n := range x.nodes {
		step := len(steps) // one of its own, unless it joins another
		switch n.kind {
		case linkNode:
			continue
		case answerNode:
			if first, ok := partOf[at]; ok && x.sameLine(first, at) {
				step = stepOf[first]
			}
			stepOf[at] = step
		case resultNode:
			if call := x.lastCall(at); call >= 0 {
				answer := stepOf[call]
				if joined, ok := resultsOf[answer]; ok && x.sameLine(steps[joined][0], at) {
					step = joined
				} else {
					resultsOf[answer] = step
				}
			}
		}
		if step == len(steps) {
			steps = append(steps, nil)
		}
		steps[step] = append(steps[step], at)
	}
	return steps
}

// lastCall is the last node before this one with a call that it answers, or -1: behind that, no
// result of it stands before its call.
func (x *claudeIndex) lastCall(at int) int {
	last := -1
	for _, id := range x.results[at] {
		if call, ok := x.calls[id]; ok && call < at {
			last = max(last, call)
		}
	}
	return last
}

func (x *claudeIndex) sameLine(a, b int) bool {
	return x.nodes[a].on == x.nodes[b].on && x.nodes[a].side == x.nodes[b].side
}

// claudeIndex is what the first pass over a Claude Code log keeps: the tree, and which
// lines belong together.
type claudeIndex struct {
	*tree
	log     *Log
	linked  bool              // some line names its parent: the log is a tree
	answers map[string][]int  // nodes by the id of the answer they are a part of
	calls   map[string]int    // the node of each call
	results map[int][]string  // the calls that a node answers
	about   map[int]string    // the call that an injected node belongs to
	waiting []queuedText      // typed and not delivered yet
	queued  map[int]string    // delivered, by node
	logged  map[string]bool   // queued texts that the log has as messages too
	titles  map[string]string // by kind of title line

	compacted string          // when, the last time; empty if never
	said      map[uint64]bool // the texts of messages without calls and results, hashed
	seed      maphash.Seed
	answered  map[string]bool // calls
}

type queuedText struct {
	text string
	node node
}

func indexClaude(l *Log) (*claudeIndex, error) {
	x := &claudeIndex{
		tree: newTree(), log: l,
		answers: make(map[string][]int), calls: make(map[string]int), results: make(map[int][]string),
		about: make(map[int]string), queued: make(map[int]string),
		logged: make(map[string]bool), titles: make(map[string]string),
		said: make(map[uint64]bool), seed: maphash.MakeSeed(), answered: make(map[string]bool),
	}
	if err := l.lines(x.line); err != nil {
		return nil, err
	}
	for _, kind := range []string{"summary", "ai-title", "custom-title"} { // the person's own title wins
		if t := x.titles[kind]; t != "" {
			l.info.Title = t
		}
	}
	// A sub-agent that has a file of its own has nothing in it that is no sidechain.
	if len(x.nodes) > 0 && !slices.ContainsFunc(x.nodes, func(n node) bool { return !n.side }) {
		for at := range x.nodes {
			x.nodes[at].side = false
		}
		l.info.Parent = l.info.SessionID
	}
	if x.linked {
		x.walk(x.leaf())
		x.bringBack()
	} else {
		x.all()
	}
	x.placeQueued()
	return x, nil
}

func (x *claudeIndex) line(ln line, e value) error {
	if !e.get("type").isString() {
		return errShape
	}
	info := &x.log.info
	info.SessionID = cmp.Or(info.SessionID, e.get("sessionId").str(), e.get("session_id").str())
	n := node{off: ln.off, size: ln.size, num: int32(ln.num)}
	n.side = e.get("isSidechain").isTrue() || e.get("parent_tool_use_id").isString()
	switch typ := e.get("type").str(); typ {
	case "user", "assistant":
		if !e.get("message").isObject() {
			return errShape
		}
		x.message(n, e, typ == "assistant")
		return nil
	case "system":
		if s := e.get("subtype"); s.is("compact_boundary") || s.is("microcompact_boundary") {
			n.kind = markNode
			x.compacted = e.get("timestamp").str()
		}
	case "attachment":
		if a := e.get("attachment"); a.get("type").is("queued_command") {
			n.kind = userNode
			x.logged[a.get("prompt").texts()] = true
		}
	case "queue-operation":
		x.queue(n, e)
		return nil
	case "summary", "ai-title", "custom-title":
		for _, key := range []string{"summary", "aiTitle", "customTitle"} {
			if t := e.get(key); t.isString() {
				x.titles[typ] = t.str()
			}
		}
		return nil
	default:
		if !e.get("uuid").isString() && x.log.foreign(e) {
			return errShape
		}
	}
	if e.get("uuid").isString() {
		x.link(n, e)
	}
	return nil
}

// link adds a node to the tree. A compaction boundary has only a logical parent. In old logs
// it has none, and then it follows the line before it.
func (x *claudeIndex) link(n node, e value) (int, bool) {
	parent := cmp.Or(e.get("parentUuid").str(), e.get("logicalParentUuid").str())
	x.linked = x.linked || parent != ""
	at, ok := x.add(e.get("uuid").str(), parent, n)
	if ok && parent == "" && n.kind == markNode {
		x.nodes[at].parent = broken
	}
	return at, ok
}

func (x *claudeIndex) message(n node, e value, answer bool) {
	n.kind = userNode
	if answer {
		n.kind = answerNode
	}
	m := e.get("message").indexed(nil)
	calls, results := toolIDs(m.get("content"))
	if len(results) > 0 {
		n.kind = resultNode
	}
	again := x.isAgain(m.get("content"), calls, results)
	if again && x.compacted != "" && e.get("timestamp").str() <= x.compacted {
		n.kind = linkNode
	}
	at, ok := x.link(n, e)
	if !ok || n.kind == linkNode {
		return
	}
	if id := m.get("id").str(); answer && id != "" {
		x.answers[id] = append(x.answers[id], at)
	}
	for _, call := range calls {
		x.calls[call] = at
	}
	if len(results) > 0 {
		x.results[at] = results
	}
	if source := e.get("sourceToolUseID"); source.isString() && e.get("isMeta").isTrue() {
		x.about[at] = source.str()
	}
}

// isAgain reports whether a message was in the log before: a mod that compacts writes the messages that stay once
// more, with the time of the compaction or their own. Its page is no message either.
func (x *claudeIndex) isAgain(content value, calls, results []string) bool {
	if len(calls)+len(results) == 0 {
		text := content.texts()
		key := maphash.String(x.seed, text)
		again := x.said[key] || strings.HasPrefix(text, pageStart)
		x.said[key] = true
		return again
	}
	known := func(id string) bool { _, ok := x.calls[id]; return ok }
	answered := func(id string) bool { return x.answered[id] }
	again := !slices.ContainsFunc(calls, func(id string) bool { return !known(id) }) &&
		!slices.ContainsFunc(results, func(id string) bool { return !answered(id) })
	for _, id := range results {
		x.answered[id] = true
	}
	return again
}

// pageStart is what a page of pleat's begins with.
const pageStart = "[pleat: messages "

// toolIDs lists the ids of the calls and of the answered calls in a content.
func toolIDs(content value) (calls, results []string) {
	for elem := range content.elems() {
		switch b := elem; b.get("type").str() {
		case "tool_use":
			calls = append(calls, b.get("id").str())
		case "tool_result":
			results = append(results, b.get("tool_use_id").str())
		}
	}
	return calls, results
}

// bringBack puts lines on the path that forked off although they belong to an answer on it:
// its other blocks, the results of its calls, and what those brought in.
func (x *claudeIndex) bringBack() {
	for _, nodes := range x.answers {
		if slices.ContainsFunc(nodes, func(at int) bool { return x.nodes[at].on }) {
			for _, at := range nodes {
				x.nodes[at].on = !x.nodes[at].side
			}
		}
	}
	answered := make(map[string]bool)
	for at, ids := range x.results {
		for _, id := range ids {
			answered[id] = answered[id] || x.nodes[at].on
		}
	}
	for at := range x.nodes { // in order, so that of two answers the first is taken
		n := &x.nodes[at]
		if n.on || n.side {
			continue
		}
		for _, id := range x.results[at] {
			if call, ok := x.calls[id]; ok && x.nodes[call].on && !answered[id] {
				n.on, answered[id] = true, true
			}
		}
		if call, ok := x.calls[x.about[at]]; ok && x.nodes[call].on && x.about[at] != "" {
			n.on = true
		}
	}
}

// queue follows the texts that were typed while the agent worked. A text that is taken out
// while the agent works ("remove") was shown to the model in the middle of its turn, and in
// many versions the log has no other trace of it. One that waited for the end of the turn
// ("dequeue") follows as a message; "popAll" gives all of them back to the person.
func (x *claudeIndex) queue(n node, e value) {
	n.kind = queuedNode
	switch op := e.get("operation").str(); op {
	case "enqueue":
		if text := e.get("content").str(); text != "" {
			x.waiting = append(x.waiting, queuedText{text, n})
		}
	case "popAll":
		x.waiting = x.waiting[:0]
	case "dequeue", "remove":
		i := 0
		if text := e.get("content").str(); text != "" {
			i = slices.IndexFunc(x.waiting, func(q queuedText) bool { return q.text == text })
		}
		if i < 0 || i >= len(x.waiting) {
			return
		}
		q := x.waiting[i]
		x.waiting = slices.Delete(x.waiting, i, i+1)
		if op == "remove" {
			at, _ := x.add("", "", q.node)
			x.queued[at] = q.text
		}
	}
}

// placeQueued decides which queued texts are read: those on the path that the log does not
// have as messages too.
func (x *claudeIndex) placeQueued() {
	on := false
	for at := range x.nodes {
		n := &x.nodes[at]
		switch {
		case n.kind == queuedNode && x.logged[x.queued[at]]:
			n.kind = linkNode
		case n.kind == queuedNode:
			n.on = on
		case !n.side && n.kind != linkNode:
			on = n.on
		}
	}
}
