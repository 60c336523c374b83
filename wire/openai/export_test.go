package openai

import (
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Body returns the bytes that were decoded.
func (r *Request) Body() []byte { return r.body.Data }

// Hashes returns the hash of each message.
func (r *ChatRequest) Hashes() []transcript.Hash { return hashesOf(&r.Request, ChatMessageHash) }

// Hashes returns the hash of each item.
func (r *ResponsesRequest) Hashes() []transcript.Hash { return hashesOf(&r.Request, ItemHash) }

func hashesOf(r *Request, hash func([]byte) transcript.Hash) []transcript.Hash {
	var out []transcript.Hash
	for _, e := range r.body.Elements {
		out = append(out, hash(e.Span.Of(r.body.Data)))
	}
	return out
}

// CheckAgainst is Check for a request that was made from another one by leaving out items.
// It also finds items that followed a reasoning item in before and have lost it, which the
// provider notices by their ids.
func (r *ResponsesRequest) CheckAgainst(before *ResponsesRequest, m model.Model) []transcript.Violation {
	c := checker{Violations: r.Check(m)}
	here := make(map[string]bool, len(r.items))
	for _, n := range r.items {
		here[n.id] = true
	}
	reasoned := before.reasonedBy()
	for i, n := range before.items {
		if n.id == "" || !here[n.id] {
			continue
		}
		for _, at := range reasoned[i] {
			if rs := before.items[at].id; rs != "" && !here[rs] {
				c.Violations.Add("reasoning-missing", "input",
					"Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", n.id, n.typ, rs)
			}
		}
	}
	return c.Violations
}

// reasonedBy returns for each of the model's items the reasoning items that it followed: the
// nearest run of them, unless somebody else spoke in between. Tool outputs do not end an
// answer, because clients put them right after their calls.
func (r *ResponsesRequest) reasonedBy() map[int][]int {
	var run []int
	out := make(map[int][]int)
	inRun := false
	for i, n := range r.items {
		switch {
		case n.typ == "reasoning":
			if !inRun {
				run = nil
			}
			run, inRun = append(run, i), true
			continue
		case n.typ == "compaction": // it replaces everything before it
			run = nil
		case r.Messages[i].Role() == transcript.RoleAssistant:
			if len(run) > 0 {
				out[i] = run
			}
		case r.Messages[i].Role() != transcript.RoleTool:
			run = nil
		}
		inRun = false
	}
	return out
}
