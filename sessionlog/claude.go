package sessionlog

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

// ClaudeCode is the format of Claude Code sessions.
const ClaudeCode Format = "claude-code"

// ClaudeWindow is the window in tokens that Claude Code uses unless it is told to use a
// larger one that the model has, which its log does not say.
const ClaudeWindow = 200_000

var claudeFormat = format{
	name:          ClaudeCode,
	agent:         "Claude Code",
	folders:       map[string][]string{".claude/projects": {"*/*.jsonl"}},
	bytesPerToken: 12,
	line: func(e value) bool {
		if !slices.Contains(claudeTypes, e.get("type").str()) {
			return false
		}
		return e.get("snapshot").isObject() ||
			slices.ContainsFunc([]string{"uuid", "sessionId", "session_id", "leafUuid"},
				func(name string) bool { return e.get(name).isString() })
	},
	read: readClaude,
}

var claudeTypes = []string{
	"user", "assistant", "system", "summary", "progress", "attachment", "file-history-snapshot", "queue-operation",
	"custom-title", "ai-title", "last-prompt", "mode", "permission-mode", "pr-link", "agent-name", "tag",
}

// readClaude reads a Claude Code log in two passes: an index of the tree, then the lines of
// the conversation, joined into messages.
func readClaude(l *Log, s *sink) error {
	x, err := indexClaude(l)
	if err != nil {
		return err
	}
	r := &claudeReader{log: l, sink: s, index: x}
	for _, nodes := range x.steps() {
		if err := r.step(nodes); err != nil {
			return err
		}
	}
	return nil
}

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
			if call, ok := x.calls[x.results[at][0]]; ok && call < at {
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

func (x *claudeIndex) sameLine(a, b int) bool {
	return x.nodes[a].on == x.nodes[b].on && x.nodes[a].side == x.nodes[b].side
}

type claudeReader struct {
	log   *Log
	sink  *sink
	index *claudeIndex
	buf   []byte
	// the message that is being assembled
	parts  bytes.Buffer
	rec    Record
	role   string
	origin transcript.Origin
}

func (r *claudeReader) step(nodes []int) error {
	first := r.index.nodes[nodes[0]]
	r.rec = Record{Line: int(first.num), Sidechain: first.side, Abandoned: !first.on && !first.side}
	info, opts := &r.log.info, r.log.opts
	if first.kind != markNode {
		if r.rec.Sidechain {
			info.Sidechain++
		} else if r.rec.Abandoned {
			info.Abandoned++
		}
	}
	if r.rec.Sidechain && !opts.Sidechains || r.rec.Abandoned && !opts.Abandoned {
		return nil
	}
	switch first.kind {
	case queuedNode:
		v, err := r.log.reread(first, &r.buf)
		if err != nil {
			return err
		}
		text := r.index.queued[nodes[0]]
		r.rec.Time = v.get("timestamp").time()
		return r.sink.user(r.rec, textOrigin(text), transcript.Say(text))
	case markNode:
		return r.mark(first)
	}
	return r.message(nodes)
}

func (r *claudeReader) mark(n node) error {
	v, err := r.log.reread(n, &r.buf)
	if err != nil {
		return err
	}
	meta := v.get("compactMetadata")
	partial := v.get("subtype").is("microcompact_boundary")
	if partial {
		meta = v.get("microcompactMetadata")
	}
	c := Compaction{Line: int(n.num), Trigger: meta.get("trigger").str(), Partial: partial}
	c.PreTokens = meta.get("preTokens").num()
	if c.Trigger == "auto" && !partial && c.PreTokens > 0 && c.PreTokens <= ClaudeWindow {
		r.log.info.Window = ClaudeWindow // it was full
	}
	r.sink.compaction(c)
	return nil
}

func (r *claudeReader) message(nodes []int) error {
	r.parts.Reset()
	r.role, r.origin = "", transcript.OriginUnknown
	var content value
	for _, at := range nodes {
		v, err := r.log.reread(r.index.nodes[at], &r.buf)
		if err != nil {
			return err
		}
		if content = r.part(v); len(nodes) > 1 {
			r.append(content)
		}
	}
	if len(nodes) > 1 {
		content = value{b: append(append([]byte{'['}, r.parts.Bytes()...), ']')}
	}
	if err := r.assemble(content); err != nil {
		return err
	}
	if cap(r.buf) > longLine || r.parts.Cap() > longLine {
		r.buf, r.parts = nil, bytes.Buffer{} // the message has its own copy
	}
	if r.role == "user" && r.origin == transcript.OriginUnknown {
		r.origin = blocksOrigin(r.rec.Message.Blocks().List())
	}
	r.rec.Message = r.rec.Message.WithOrigin(r.origin)
	if r.origin == transcript.OriginSummary {
		r.sink.summarized(r.rec.Line, r.rec.Message.Text())
	}
	rec := r.rec
	r.rec = Record{} // whoever gets it may let go of it
	return r.sink.add(rec)
}

// part takes one line's share of the message and returns its content.
func (r *claudeReader) part(e value) (content value) {
	e = e.indexed(nil)
	m := e.get("message").indexed(nil)
	content, r.role = m.get("content"), cmp.Or(m.get("role").str(), r.role)
	if name := m.get("model"); name.exists() {
		r.rec.Model = name.str()
	}
	if u := m.get("usage"); u.exists() {
		r.rec.Usage = anthropicUsage(u)
	}
	if a := e.get("attachment"); a.exists() {
		r.role, content = "user", a.get("prompt")
	}
	if r.rec.Time.IsZero() {
		r.rec.Time = e.get("timestamp").time()
	}
	switch {
	case r.rec.Model == "<synthetic>": // the program itself speaks: errors, interruptions
		r.rec.Model, r.rec.Usage, r.origin = "", nil, transcript.OriginInjected
	case e.get("isCompactSummary").isTrue():
		r.origin = transcript.OriginSummary
	case e.get("isMeta").isTrue():
		r.origin = transcript.OriginInjected
	}
	info := &r.log.info
	info.Dir = cmp.Or(info.Dir, e.get("cwd").str()) // where it began: a shell may go elsewhere
	if version := e.get("version"); version.exists() {
		info.Version = version.str()
	}
	return content
}

// append collects the text of blocks; a string counts as a block.
func (r *claudeReader) append(content value) {
	text := content.b
	switch {
	case content.isArray():
		text = bytes.TrimSpace(text[1 : len(text)-1])
	case content.isString():
		text = append(append([]byte(`{"type":"text","text":`), text...), '}')
	}
	if len(text) == 0 || !content.exists() {
		return
	}
	if r.parts.Len() > 0 {
		r.parts.WriteByte(',')
	}
	r.parts.Write(text)
}

// assemble makes the message of the element that was on the wire.
func (r *claudeReader) assemble(content value) error {
	r.role = cmp.Or(r.role, "user")
	if !content.exists() {
		content.b = []byte("[]")
	}
	open := `{"messages":[{"role":` + transcript.Plain(r.role).Literal() + `,"content":`
	body, err := anthropic.Decode(slices.Concat([]byte(open), content.b, []byte("}]}")))
	if err != nil {
		return r.log.skip(damagedError{err}, r.rec.Line)
	}
	r.rec.Message = body.Messages[0]
	return nil
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
	at, ok := x.link(n, e)
	if !ok {
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
