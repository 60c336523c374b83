package sessionlog

import (
	"github.com/pleat-dev/pleat/transcript"
)

// sink takes what a reader finds and hands it to the caller. It joins consecutive results:
// those of one answer of the model are one message.
type sink struct {
	log     *Log
	yield   func(Record, error) bool
	n       int // records handed out
	results []transcript.Block
	pending Record // of results
	stopped bool
	err     error // errStop, or what ended reading
}

// add hands out a record with at least one block.
func (s *sink) add(r Record) error {
	if r.Message.Blocks().Len() == 0 {
		return s.err
	}
	_ = s.flush()
	return s.put(r)
}

func (s *sink) put(r Record) error {
	if s.err != nil {
		return s.err
	}
	s.n++
	if r.Model != "" && !r.Sidechain && !r.Abandoned {
		s.log.info.Model = r.Model
	}
	if !s.yield(r, nil) {
		s.stopped, s.err = true, errStop
	}
	return s.err
}

// result takes a tool result; r says where it comes from.
func (s *sink) result(r Record, res transcript.ToolResult) error {
	if len(s.results) > 0 && (r.Sidechain != s.pending.Sidechain || r.Abandoned != s.pending.Abandoned) {
		_ = s.flush()
	}
	if len(s.results) == 0 {
		s.pending = r
	}
	s.results = append(s.results, res)
	return s.err
}

// flush hands out the results that wait.
func (s *sink) flush() error {
	if len(s.results) == 0 {
		return s.err
	}
	r := s.pending
	r.Message = transcript.NewMessage(transcript.RoleTool, s.results...)
	s.results = nil
	return s.put(r)
}

// compaction notes that the agent compacted before the next record.
func (s *sink) compaction(c Compaction) {
	if c.At = s.n; len(s.results) > 0 {
		c.At++
	}
	s.log.info.Compactions = append(s.log.info.Compactions, c)
}

// summary adds the text that stands for what was compacted away.
func (s *sink) summary(r Record, text string) error {
	if text == "" {
		return s.err
	}
	r.Message = transcript.User(text).WithOrigin(transcript.OriginSummary)
	return s.add(r)
}

func (s *sink) change(c FileChange) {
	if c.Path != "" {
		s.log.info.Changes = append(s.log.info.Changes, c)
	}
}

// answer adds an answer of the model whose entry holds the results of its calls as well.
func (s *sink) answer(rec Record, blocks []transcript.Block, results []transcript.ToolResult) error {
	rec.Message = transcript.Assistant(blocks...)
	_ = s.add(rec)
	for _, res := range results {
		_ = s.result(Record{Line: rec.Line, Time: rec.Time}, res)
	}
	return s.flush()
}
