package sessionlog

import (
	"bytes"
	"strings"

	"github.com/pleat-dev/pleat/transcript"
)

// readClaude reads a Claude Code log in two passes: an index of the tree, then the lines
// of the conversation, put together to messages.
func readClaude(l *Log, s *sink) error {
	x, err := indexClaude(l)
	if err != nil {
		return err
	}
	r := &claudeReader{log: l, sink: s, index: x}
	steps := x.steps()
	x.release()
	var nodes []int
	for _, first := range steps.first {
		if err := r.step(steps.nodes(nodes[:0], first)); err != nil {
			return err
		}
	}
	return nil
}

// release lets go of what only building the index and the steps needs: of a large log that
// is most of the index, and messages are about to need the memory.
func (x *claudeIndex) release() {
	x.ids, x.links, x.answers, x.calls, x.results, x.about, x.logged = nil, nil, nil, nil, nil, nil, nil
}

// claudeSteps are the nodes that make one message together, as lists: a large log has as many
// as it has messages.
type claudeSteps struct {
	first []int32 // node of each message, in the order of the file
	next  []int32 // the node that follows a node in its message, 0: none
}

// nodes appends the nodes of the message that begins with first.
func (s *claudeSteps) nodes(list []int, first int32) []int {
	list = append(list, int(first))
	for at := s.next[first]; at != 0; at = s.next[at] {
		list = append(list, int(at))
	}
	return list
}

// steps puts the nodes that make one message together, in the order of the file: the
// parts of an answer, and the results that answer it.
func (x *claudeIndex) steps() claudeSteps {
	s := claudeSteps{next: make([]int32, len(x.nodes))}
	var last []int32 // node of each message
	stepOf := make([]int32, len(x.nodes))
	answerOf := make(map[int]int32) // the step of an answer's results, by the answer's step
	for _, nodes := range x.answers {
		for _, at := range nodes {
			stepOf[at] = -1 - int32(nodes[0]) // joins the first, whose step is not made yet
		}
	}
	for at, n := range x.nodes {
		if n.kind == linkNode {
			continue
		}
		join := int32(-1)
		switch n.kind {
		case answerNode:
			if first := int(-1 - stepOf[at]); stepOf[at] < 0 && first != at && x.sameLine(first, at) {
				join = stepOf[first]
			}
		case resultNode:
			if call, ok := x.calls[x.results[at][0]]; ok && call < at {
				key := int(stepOf[call])
				if step, ok := answerOf[key]; ok && x.sameLine(int(s.first[step]), at) {
					join = step
				} else {
					answerOf[key] = int32(len(s.first))
				}
			}
		}
		if join >= 0 {
			s.next[last[join]], last[join] = int32(at), int32(at)
			stepOf[at] = join
			continue
		}
		stepOf[at] = int32(len(s.first))
		s.first, last = append(s.first, int32(at)), append(last, int32(at))
	}
	return s
}

func (x *claudeIndex) sameLine(a, b int) bool {
	return x.nodes[a].on == x.nodes[b].on && x.nodes[a].side == x.nodes[b].side
}

type claudeReader struct {
	log   *Log
	sink  *sink
	index *claudeIndex
	buf   []byte
	// of the message that is being put together
	parts   bytes.Buffer
	rec     Record
	role    string
	origin  transcript.Origin
	changes []FileChange
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
		v, err := r.log.again(first, &r.buf)
		if err != nil {
			return err
		}
		text := r.index.queued[nodes[0]]
		r.rec.Time = v.get("timestamp").time()
		r.rec.Message = transcript.User(text).WithOrigin(textOrigin(text))
		return r.sink.add(r.rec)
	case markNode:
		return r.mark(first)
	}
	return r.message(nodes)
}

func (r *claudeReader) mark(n node) error {
	v, err := r.log.again(n, &r.buf)
	if err != nil {
		return err
	}
	meta := v.get("compactMetadata")
	partial := v.get("subtype").is("microcompact_boundary")
	if partial {
		meta = v.get("microcompactMetadata")
	}
	r.sink.compaction(Compaction{Line: int(n.num), Trigger: meta.get("trigger").str(), PreTokens: meta.get("preTokens").num(), Partial: partial})
	return nil
}

func (r *claudeReader) message(nodes []int) error {
	r.parts.Reset()
	r.role, r.origin, r.changes = "", transcript.OriginUnknown, r.changes[:0]
	var content value
	for _, at := range nodes {
		v, err := r.log.again(r.index.nodes[at], &r.buf)
		if err != nil {
			return err
		}
		if content = r.part(v, int(r.index.nodes[at].num)); len(nodes) > 1 {
			r.append(content)
		}
	}
	if len(nodes) > 1 {
		content = value{b: append(append([]byte{'['}, r.parts.Bytes()...), ']')}
	}
	blocks := r.assemble(content)
	if cap(r.buf) > longLine || r.parts.Cap() > longLine {
		r.buf, r.parts = nil, bytes.Buffer{} // the message has its own copy
	}
	for _, c := range r.changes {
		r.sink.change(c)
	}
	if r.role == "user" {
		if r.origin == transcript.OriginUnknown {
			r.origin = blocksOrigin(blocks)
		}
		r.rec.Aborted = strings.Contains(r.rec.Message.Text(), interruptedMark)
	}
	r.rec.Message = r.rec.Message.WithOrigin(r.origin)
	if r.origin == transcript.OriginSummary {
		r.summarized()
	}
	rec := r.rec
	r.rec = Record{} // whoever gets it may let go of it
	return r.sink.add(rec)
}

// part takes one line's share of the message and returns its content.
func (r *claudeReader) part(v value, num int) (content value) {
	var result value
	info := &r.log.info
	for name, val := range v.fields() {
		switch name {
		case "message":
			for name, val := range val.fields() {
				switch name {
				case "role":
					r.role = val.str()
				case "content":
					content = val
				case "model":
					r.rec.Model = val.str()
				case "usage":
					r.rec.Usage = anthropicUsage(val)
				}
			}
		case "attachment":
			r.role, content = "user", val.get("prompt")
		case "timestamp":
			if r.rec.Time.IsZero() {
				r.rec.Time = val.time()
			}
		case "isMeta":
			if val.isTrue() {
				r.origin = transcript.OriginInjected
			}
		case "isCompactSummary":
			if val.isTrue() {
				r.origin = transcript.OriginSummary
			}
		case "toolUseResult":
			result = val
		case "cwd":
			info.Dir = val.str()
		case "version":
			info.Agent, info.Version = "Claude Code", val.str()
		}
	}
	if r.rec.Model == "<synthetic>" { // the program's own words: errors, interruptions
		r.rec.Model, r.rec.Usage, r.origin = "", nil, transcript.OriginInjected
	}
	r.changed(result, content, num)
	return content
}

// append collects the text of blocks; a string is one.
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

// assemble makes the element that was on the wire and its message. The one copy of the
// text is the element's; the blocks are parts of it.
func (r *claudeReader) assemble(content value) []transcript.Block {
	if r.role == "" {
		r.role = "user"
	}
	if !content.exists() {
		content.b = []byte("[]")
	}
	open := `{"role":` + transcript.Plain(r.role).Literal() + `,"content":`
	raw := open + string(content.b) + "}"
	content.s = raw[len(open) : len(raw)-1]
	blocks := anthropicBlocks(content)
	r.rec.Message = transcript.WireMessage(transcript.Role(r.role), transcript.FormatAnthropic, raw, blocks...)
	return blocks
}

// changed notes the change of a file from the structured form in which the log repeats a
// tool's result.
func (r *claudeReader) changed(result, content value, num int) {
	patch := result.get("structuredPatch")
	if !result.isObject() || !patch.isArray() {
		return
	}
	_, ids := toolIDs(content)
	c := FileChange{Path: result.get("filePath").str(), Op: Edited, Line: num}
	if len(ids) == 1 {
		c.CallID = ids[0]
	}
	for hunk := range patch.elems() {
		for l := range hunk.get("lines").elems() {
			switch text := l.str(); {
			case strings.HasPrefix(text, "+"):
				c.Added++
			case strings.HasPrefix(text, "-"):
				c.Removed++
			}
		}
	}
	if result.get("type").is("create") {
		c.Op, c.Added = Created, lineCount(result.get("content").str())
	}
	r.changes = append(r.changes, c)
}

// summarized gives the newest compaction the words of its summary.
func (r *claudeReader) summarized() {
	all := r.log.info.Compactions
	for i := len(all) - 1; i >= 0; i-- {
		if !all[i].Partial && all[i].Summary == "" {
			all[i].Summary = r.rec.Message.Text()
			return
		}
	}
	r.sink.compaction(Compaction{Line: r.rec.Line, Summary: r.rec.Message.Text()})
}
