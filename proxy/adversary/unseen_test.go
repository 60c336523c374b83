package adversary

import (
	"strings"
	"testing"
)

const (
	ownRate = 1.9 // bytes of the vocabulary that a token has at least, by the proxy's count
	astray  = 1.2 // of one view in twenty the proxy's count is more than this above the provider's
)

// results looks at what the view shows of every result that the client sent.
func (c *client) results(v *view, shown map[string]string) {
	least, most := c.least(v), c.w.most()
	for i, e := range c.sent {
		for _, p := range e.parts {
			if p.kind != result || p.text == "" {
				continue
			}
			if text, ok := shown[p.id]; ok && text == p.text {
				continue
			}
			c.pending = append(c.pending, p)
			key := p.id + p.text
			if c.refused > 1 || least > most {
				c.excused[key] = true
			}
			if !c.w.strict() || c.seen[key] || !c.arrived[key] || c.excused[key] {
				continue
			}
			c.w.fail("%s: the result of %s in element %d of %d is not whole, no model has seen it, and a view that shows it "+
				"needs %d of %d tokens; in its place: %.300q", c.wire.name, p.id, i, len(c.sent), least, most,
				shown[p.id])
		}
	}
}

// least is how many tokens the smallest view has that shows the newest round whole: what is around
// the messages, the head, a page with next to nothing but what people typed (a third of the size
// that views are folded to, and a fifth more for marks), and the round. They are counted as the
// proxy can know them: by what the provider said of earlier views, which were made of other things,
// or by its own count as long as a conversation has no answer.
// Where thinking has to come first, no view begins with an answer of an open turn that has none:
// the rounds before it stay, too.
func (c *client) least(v *view) int {
	const (
		page = 300 // tokens
		mark = len("- message 100:\n<said 0123>\n\n</said 0123>\n")
	)
	around := v.size
	for _, e := range v.elements {
		around -= len(e.raw)
	}
	newest := len(c.sent)
	for whole := false; !whole; {
		for _, answers := range []bool{false, true} {
			for newest > 0 && c.sent[newest-1].answers() == answers {
				newest--
			}
		}
		whole = c.setup.think != "enabled" || newest == 0 || c.sent[newest].parts[0].kind == thinking ||
			!c.sent[newest-1].has(result)
	}
	typed, kept, head := 0, 0, true
	for i, e := range c.sent {
		if head = head && !e.answers(); head || i >= newest {
			kept += len(e.raw)
			continue
		}
		for _, p := range e.parts {
			if e.role == "user" && p.kind == text {
				typed += mark + len(p.text)
			}
		}
	}
	rate := c.w.provider.rate / astray
	if !c.counted[opening(c.sent)] {
		rate = ownRate
	}
	tokens := func(n int) int { return int(float64(n) / rate) }
	target := c.w.most() * 4 / 7 // half of the window
	return tokens(around+kept) + page + min(tokens(typed), target*2/5)
}

// saw notes what an answered view showed whole.
func (c *client) saw(v *view) {
	c.counted[opening(c.sent)] = true
	for _, e := range v.elements {
		for _, p := range e.parts {
			if p.kind == result {
				c.seen[p.id+p.text] = true
			}
		}
	}
}

func TestLeastWhereThinkingComesFirst(t *testing.T) {
	say := func(role string, size int, kinds ...string) element {
		e := element{role: role, raw: strings.Repeat("x", size)}
		for _, kind := range kinds {
			e.parts = append(e.parts, part{kind: kind})
		}
		return e
	}
	w := &world{provider: &provider{rate: astray, limit: 100_000, numbers: true}}
	c := &client{w: w, setup: &setup{}, sent: []element{
		say("user", 1, text),
		say("assistant", 1_000, thinking, call), say("user", 1_000, result),
		say("assistant", 100, thinking, call), say("user", 100, result),
		say("assistant", 10, call), say("user", 10, result),
	}}
	c.counted = map[string]bool{opening(c.sent): true}
	free := c.least(&view{})
	if c.setup.think = "enabled"; c.least(&view{}) != free+200 {
		t.Errorf("%d tokens, and %d where thinking comes first", free, c.least(&view{}))
	}
}
