package anthropic

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
)

// ThinkingStillValid compares a request with the one before it in its conversation, as
// a model that binds its thinking to the exact prompt before it would (see
// [pleat.ThinkingRule]). It returns a violation for each thinking block of after that
// such a model would refuse; none means that the thinking is valid, if it was in before.
//
// Appending, moving cache markers and parameters outside of system, tools and messages
// are no changes. Thinking may be left out at the front, at the end or altogether, and
// a compaction block starts over. Everything else that differs invalidates the thinking
// behind it.
func ThinkingStillValid(before, after *Request) []pleat.Violation {
	old, now := flatten(before), flatten(after)
	if path := headChange(before, after); path != "" {
		return bound(now, 0, path)
	}
	old, now = restart(old, now)
	kept, removed := false, "" // whether thinking was kept; where some went after that
	i := 0
	for j, item := range now {
		for i < len(old) && old[i].thinking && old[i].sum != item.sum {
			if kept && removed == "" {
				removed = item.path
			}
			i++
		}
		switch {
		case i == len(old): // new since then
			if removed != "" && item.thinking {
				return bound(now, j, removed)
			}
			continue
		case item.sum != old[i].sum || item.role != old[i].role:
			return bound(now, j, item.path)
		case item.thinking && removed != "":
			return bound(now, j, removed)
		}
		kept = kept || item.thinking
		i++
	}
	return nil
}

// boundItem is a block as the binding sees it: neither cache markers nor the borders
// between messages of one role count.
type boundItem struct {
	role       pleat.Role
	sum        pleat.Hash
	thinking   bool
	compaction bool
	path       string
}

func flatten(r *Request) []boundItem {
	var out []boundItem
	for i, m := range r.Messages {
		for j, b := range m.Blocks().All() {
			raw, _ := blockRaw(b)
			o, _ := b.(pleat.Opaque)
			item := boundItem{role: m.Role(), thinking: b.Kind() == pleat.KindThinking, compaction: o.Type == "compaction", path: blockPath(i, j)}
			if t, ok := b.(pleat.Text); ok && raw == "" { // content that is a string
				raw = `{"type":"text","text":` + t.Text.Literal() + `}`
			}
			item.sum = sha256.Sum256(wire.AppendNormal(nil, []byte(raw)))
			out = append(out, item)
		}
	}
	return out
}

// restart cuts both lists behind a compaction block that after has: the prefix starts
// over there. Behind a first block that before did not have, what after keeps of before
// is the end of it.
func restart(old, now []boundItem) ([]boundItem, []boundItem) {
	at := lastCompaction(now)
	if at < 0 {
		return old, now
	}
	block, rest := now[at], now[at+1:]
	for i := len(old) - 1; i >= 0; i-- {
		if old[i].compaction && old[i].sum == block.sum {
			return old[i+1:], rest
		}
	}
	if at > 0 { // it came with the answer to before: what follows is new
		return nil, rest
	}
	return keptEnd(old, rest), rest
}

// keptEnd returns the end of old that rest begins with: where its first block stands at
// a change of roles, best where all of it follows. If there is no such place, rest is
// new, unless it brings thinking of old along: then it is old, changed.
func keptEnd(old, rest []boundItem) []boundItem {
	var found []boundItem
	for i := range old {
		if len(rest) > 0 && old[i].sum == rest[0].sum && (i == 0 || old[i-1].role != old[i].role) {
			if found = old[i:]; samePrefix(found, rest) {
				return found
			}
		}
	}
	if found != nil {
		return found
	}
	for _, item := range rest {
		if item.thinking && slices.ContainsFunc(old, func(o boundItem) bool { return o.sum == item.sum }) {
			return old
		}
	}
	return nil
}

func lastCompaction(items []boundItem) int {
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].compaction {
			return i
		}
	}
	return -1
}

func samePrefix(old, now []boundItem) bool {
	for i := range old {
		if i >= len(now) || old[i].sum != now[i].sum {
			return false
		}
	}
	return true
}

// headChange returns the first place before the messages that differs, empty if none
// does. Tools that are only loaded later may be added.
func headChange(before, after *Request) string {
	had, has := systemNormal(before), systemNormal(after)
	if had != has {
		return "system"
	}
	old := make(map[string]string, len(before.Tools))
	for _, t := range before.Tools {
		old[t.Name] = toolNormal(t)
	}
	shared := 0
	for i, t := range after.Tools {
		normal, known := old[t.Name]
		switch {
		case known && normal == toolNormal(t) && shared < len(before.Tools) && before.Tools[shared].Name == t.Name:
			shared++
		case known || kindOf(lookup([]byte(t.Raw), "defer_loading")) != jsonspan.True:
			return fmt.Sprintf("tools.%d", i)
		}
	}
	if shared < len(before.Tools) {
		return "tools"
	}
	return ""
}

func systemNormal(r *Request) string {
	if r.top.system.IsZero() {
		return ""
	}
	return string(appendSystem(nil, r.top.system.Of(r.body.Data)))
}

func toolNormal(t pleat.Tool) string { return string(wire.AppendNormal(nil, []byte(t.Raw))) }

// bound reports every thinking block from an item on, in the provider's words.
func bound(items []boundItem, from int, changed string) []pleat.Violation {
	var out []pleat.Violation
	for _, item := range items[from:] {
		if item.thinking {
			out = append(out, pleat.Violation{Rule: "thinking-bound", Path: item.path, Message: fmt.Sprintf(
				"Invalid `signature` in `thinking` block. The block is bound to a different conversation. "+
					"Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". "+
					"Content before this block differs from when it was created, first at `%s`.", changed)})
		}
	}
	return out
}
