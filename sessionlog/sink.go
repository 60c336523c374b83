package sessionlog

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/transcript"
)

// sink takes what a reader finds and hands it to the caller. It joins consecutive results:
// those of one answer of the model are one message.
type sink struct {
	*Log
	yield   func(Record, error) bool
	n       int // records handed out
	results []transcript.Block
	pending Record // of results
	err     error  // errStop: the caller has left the loop
}

// add hands out a record in which something is said: pi's sessions begin with an empty message.
func (s *sink) add(r Record) error {
	says := func(b transcript.Block) bool {
		t, ok := b.(transcript.Text)
		return !ok || r.Message.Role() != transcript.RoleUser || strings.TrimSpace(t.Text.String()) != ""
	}
	if !slices.ContainsFunc(r.Message.Blocks().List(), says) {
		return s.err
	}
	s.flush()
	return s.put(r)
}

func (s *sink) put(r Record) error {
	if s.err != nil {
		return s.err
	}
	s.n++
	if r.Model != "" && !r.Sidechain && !r.Abandoned {
		s.info.Model = r.Model
	}
	if !s.yield(r, nil) {
		s.err = errStop
	}
	return s.err
}

// result takes a tool result; r is its record without the message.
func (s *sink) result(r Record, res transcript.ToolResult) error {
	if r.Sidechain != s.pending.Sidechain || r.Abandoned != s.pending.Abandoned {
		s.flush()
	}
	if len(s.results) == 0 {
		s.pending = r
	}
	s.results = append(s.results, res)
	return s.err
}

// flush hands out the results that wait.
func (s *sink) flush() {
	if len(s.results) > 0 {
		r := s.pending
		r.Message = transcript.NewMessage(transcript.RoleTool, s.results...)
		s.results = nil
		_ = s.put(r) // s.err stays
	}
}

// compaction notes that the agent compacted before the next record.
func (s *sink) compaction(c Compaction) {
	if c.At = s.n; len(s.results) > 0 {
		c.At++
	}
	s.info.Compactions = append(s.info.Compactions, c)
}

// summarized gives the newest compaction its summary.
func (s *sink) summarized(line int, words string) {
	all := s.info.Compactions
	for i, c := range slices.Backward(all) {
		if !c.Partial && c.Summary == "" {
			all[i].Summary = words
			return
		}
	}
	s.compaction(Compaction{Line: line, Summary: words})
}

// compacted notes a compaction, and adds the text that stands for what was compacted away.
func (s *sink) compacted(r Record, c Compaction) error {
	c.Line = r.Line
	s.compaction(c)
	return s.summary(r, c.Summary)
}

// summary adds the text that stands for what was compacted away.
func (s *sink) summary(r Record, text string) error {
	return s.user(r, transcript.OriginSummary, transcript.Say(text))
}

func (s *sink) user(r Record, origin transcript.Origin, blocks ...transcript.Block) error {
	r.Message = transcript.NewMessage(transcript.RoleUser, blocks...).WithOrigin(origin)
	return s.add(r)
}

// answer adds an answer of the model, and the results of its calls if its entry holds them.
func (s *sink) answer(rec Record, blocks []transcript.Block, results ...transcript.ToolResult) error {
	rec.Message = transcript.Assistant(blocks...)
	_ = s.add(rec)
	for _, res := range results {
		_ = s.result(Record{Line: rec.Line, Time: rec.Time, Abandoned: rec.Abandoned}, res)
	}
	if len(results) > 0 {
		s.flush()
	}
	return s.err
}
