package adversary

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/fence/fencetest"
)

// turn is one thing that a client does.
func (c *client) turn() {
	w := c.w
	last := &c.history[len(c.history)-1]
	switch {
	case len(c.history) > 6 && w.chance(0.05):
		c.fork()
	case len(c.history) > 6 && w.chance(0.03):
		c.edit()
	case len(c.branches) > 0 && w.chance(0.03): // back to where another branch was left
		i := w.IntN(len(c.branches))
		c.history, c.branches[i] = slices.Clone(c.branches[i]), slices.Clone(c.history)
	case last.answers() && c.wire.counts != "" && w.chance(0.2):
		c.count()
		return
	case last.answers() && w.chance(0.2):
		c.beside()
		return
	case last.answers():
		c.say()
	case c.wire.system != nil && c.setup.system && last.role != "system" && len(c.waits(c.history)) == 0 &&
		!(c.wire == messagesWire && len(c.history) == 1) && w.chance(0.08):
		if c.wire.state != nil && w.chance(0.5) {
			c.n++
			c.push(c.wire.state(c.style, c.n))
		} else {
			c.push(c.wire.system(c.style, c.tag()+"The date is today. "+c.words(5)))
		}
	}
	if c.history[len(c.history)-1].answers() {
		c.say()
	}
	c.send()
}

// say types something.
func (c *client) say() {
	w := c.w
	texts := []string{c.tag() + c.words(3+w.IntN(40))}
	switch {
	case w.chance(0.1):
		texts[0] = "go on"
	case w.chance(0.04): // a paste
		texts[0] += strings.Repeat("\npasted line "+c.words(8), 40+w.IntN(80))
	case w.chance(0.1):
		texts = append(texts, "<system-reminder>"+c.words(20)+"</system-reminder>")
	case w.chance(0.05):
		texts[0] += ` [folded: bash ls, 3 lines, 9 bytes. Done and seen; do not repeat it to see it: unfold("abcdefgh")]`
	}
	c.push(c.wire.user(c.style, c.setup, texts, c.setup.images && w.chance(0.3)))
}

// beside asks for something beside the conversation, without tools. Now and then the answer is a
// summary that the next conversation begins with.
func (c *client) beside() {
	c.w.Beside++
	history, with := c.history, c.shell
	c.shell, c.aside = c.bare, true
	if c.setup.binds { // to the tools, too
		c.unthink(len(c.history))
	}
	c.say()
	n := len(c.history)
	c.send()
	answer := c.history[n:]
	c.history, c.shell, c.aside = history, with, false
	if len(answer) == 0 || c.w.chance(0.7) {
		return
	}
	summary := c.tag() + "It goes on from here:"
	for _, e := range answer {
		for _, p := range e.parts {
			summary += "\n" + strings.ReplaceAll(p.text, fencetest.Word, "") // now it is the user's word
		}
	}
	c.branches = append(c.branches, history)
	c.history = nil
	if c.wire == chatWire {
		c.push(history[0].raw)
	}
	c.push(c.wire.user(c.style, c.setup, []string{summary}, false))
}

// count asks how many tokens the conversation has.
func (c *client) count() {
	c.w.Beside++
	history := c.history
	c.counts = true
	c.say()
	c.send()
	c.history, c.counts = history, false
}

// fork goes back and on from there in another way.
func (c *client) fork() {
	c.w.Forks++
	c.branches = append(c.branches, slices.Clone(c.history))
	for at := 2 + c.w.IntN(len(c.history)-2); at < len(c.history); at++ {
		if c.closed(at) {
			c.history = slices.Clone(c.history[:at])
			return
		}
	}
}

// closed reports whether the history can end before an element: no round is cut.
func (c *client) closed(at int) bool {
	open := 0
	for _, e := range c.history[:at] {
		for _, p := range e.parts {
			switch {
			case p.kind == call || p.kind == hosted && p.open:
				open++
			case p.kind == result || p.kind == served:
				open--
			}
		}
	}
	last := c.history[at-1]
	return open == 0 && last.role != "system" && !(last.answers() && !last.has(text))
}

// edit changes something that was said, or leaves out old thinking.
func (c *client) edit() {
	if c.setup.binds && c.w.chance(0.5) {
		c.w.Edits++
		c.unthink(1 + c.w.IntN(len(c.history)-3))
		return
	}
	for at := c.w.IntN(len(c.history) - 3); at < len(c.history)-1; at++ {
		e := c.history[at]
		if e.role != "user" || e.has(result) || len(e.parts) == 0 || e.parts[0].kind != text {
			continue
		}
		c.w.Edits++
		h := slices.Clone(c.history)
		h[at], _ = c.parsed([]byte(c.wire.user(c.style, c.setup, []string{c.tag() + c.words(12)}, false)))
		c.history = h
		if c.setup.binds {
			c.unthink(len(c.history))
		}
		return
	}
}

// unthink removes the thinking of the first n messages. If they changed, no thinking verifies.
func (c *client) unthink(n int) {
	old := c.history
	c.history = nil
	for i, e := range old {
		if i >= n || !e.has(thinking) {
			c.history = append(c.history, e)
			continue
		}
		parts := slices.DeleteFunc(slices.Clone(e.parts), func(p part) bool { return p.kind == thinking })
		if len(parts) > 0 {
			c.push(c.wire.answer(c.style, parts)...)
		}
	}
}
