package sessionlog

import "slices"

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
}

type queuedText struct {
	text string
	node node
}

// claudeFields are the members of a line that the index needs.
type claudeFields struct {
	typ, uuid, parent, logical, side, message, subtype, meta, source, attachment value
	operation, content, parentTool, session                                      value
}

func claudeLine(v value) (m claudeFields) {
	for name, val := range v.fields() {
		switch name {
		case "type":
			m.typ = val
		case "uuid":
			m.uuid = val
		case "parentUuid":
			m.parent = val
		case "logicalParentUuid":
			m.logical = val
		case "isSidechain":
			m.side = val
		case "message":
			m.message = val
		case "subtype":
			m.subtype = val
		case "isMeta":
			m.meta = val
		case "sourceToolUseID":
			m.source = val
		case "attachment":
			m.attachment = val
		case "operation":
			m.operation = val
		case "content":
			m.content = val
		case "parent_tool_use_id":
			m.parentTool = val
		case "sessionId", "session_id":
			m.session = val
		}
	}
	return m
}

func indexClaude(l *Log) (*claudeIndex, error) {
	x := &claudeIndex{
		tree: newTree(), log: l, answers: make(map[string][]int), calls: make(map[string]int), results: make(map[int][]string),
		about: make(map[int]string), queued: make(map[int]string), logged: make(map[string]bool), titles: make(map[string]string),
	}
	if err := l.lines(x.line); err != nil {
		return nil, err
	}
	for _, kind := range []string{"summary", "ai-title", "custom-title"} { // the person's own title wins
		if t := x.titles[kind]; t != "" {
			l.info.Title = t
		}
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

func (x *claudeIndex) line(ln line, v value) error {
	m := claudeLine(v)
	if !m.typ.isString() {
		return damaged(errShape)
	}
	if x.log.info.SessionID == "" {
		x.log.info.SessionID = m.session.str()
	}
	n := node{off: ln.off, size: ln.size, num: int32(ln.num), side: m.side.isTrue() || m.parentTool.isString()}
	switch typ := m.typ.str(); typ {
	case "user", "assistant":
		if !m.message.isObject() {
			return damaged(errShape)
		}
		x.message(n, m, typ == "assistant")
		return nil
	case "system":
		if m.subtype.is("compact_boundary") || m.subtype.is("microcompact_boundary") {
			n.kind = markNode
		}
	case "attachment":
		if m.attachment.get("type").is("queued_command") {
			n.kind = userNode
			x.logged[m.attachment.get("prompt").texts()] = true
		}
	case "queue-operation":
		x.queue(n, m)
		return nil
	case "summary", "ai-title", "custom-title":
		for _, key := range []string{"summary", "aiTitle", "customTitle"} {
			if t := v.get(key); t.isString() {
				x.titles[typ] = t.str()
			}
		}
		return nil
	default:
		if f := classifyLine(v); !m.uuid.isString() && f != "" && f != ClaudeCode {
			return damaged(errShape)
		}
	}
	if m.uuid.isString() {
		x.link(n, m)
	}
	return nil
}

// link adds a node to the tree. A compaction boundary has a logical parent only, and in
// old logs none: what it follows is then the line before it.
func (x *claudeIndex) link(n node, m claudeFields) (int, bool) {
	parent := m.parent.str()
	if parent == "" {
		parent = m.logical.str()
	}
	x.linked = x.linked || parent != ""
	at, ok := x.add(m.uuid.str(), parent, n)
	if ok && parent == "" && n.kind == markNode {
		x.nodes[at].parent = broken
	}
	return at, ok
}

func (x *claudeIndex) message(n node, m claudeFields, answer bool) {
	n.kind = userNode
	if answer {
		n.kind = answerNode
	}
	var calls, results []string
	var id string
	for name, val := range m.message.fields() {
		switch name {
		case "id":
			id = val.str()
		case "content":
			calls, results = toolIDs(val)
		}
	}
	if len(results) > 0 {
		n.kind = resultNode
	}
	at, ok := x.link(n, m)
	if !ok {
		return
	}
	if answer && id != "" {
		x.answers[id] = append(x.answers[id], at)
	}
	for _, call := range calls {
		x.calls[call] = at
	}
	if len(results) > 0 {
		x.results[at] = results
	}
	if m.meta.isTrue() && m.source.isString() {
		x.about[at] = m.source.str()
	}
}

// toolIDs lists the ids of the calls and of the answered calls in a content.
func toolIDs(content value) (calls, results []string) {
	for b := range content.elems() {
		var typ, id, answers value
		for name, val := range b.fields() {
			switch name {
			case "type":
				typ = val
			case "id":
				id = val
			case "tool_use_id":
				answers = val
			}
		}
		switch {
		case typ.is("tool_use"):
			calls = append(calls, id.str())
		case typ.is("tool_result"):
			results = append(results, answers.str())
		}
	}
	return calls, results
}

// bringBack puts the lines on the path that the tree left beside it although they belong
// to an answer on it: its other blocks, its calls' results, and what those brought in.
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

// queue follows the line of texts that were typed while the agent worked. One that is
// taken out while the agent works ("remove") was shown to the model in the middle of its
// turn, and in many versions this is the only trace of it in the log. One that waited
// for the end of the turn ("dequeue") follows as a message; "popAll" gives all of them
// back to the person.
func (x *claudeIndex) queue(n node, m claudeFields) {
	n.kind = queuedNode
	switch op := m.operation.str(); op {
	case "enqueue":
		if text := m.content.str(); text != "" {
			x.waiting = append(x.waiting, queuedText{text, n})
		}
	case "popAll":
		x.waiting = x.waiting[:0]
	case "dequeue", "remove":
		i := 0
		if text := m.content.str(); text != "" {
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

// placeQueued decides which queued texts are read: those that the log has in no other
// form, where the conversation passes.
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
