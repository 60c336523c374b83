package upstreamtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/wire/anthropic"
)

// binding names the models whose thinking is bound to what it was made behind.
var binding = regexp.MustCompile(`^claude-(opus-5-5|sonnet-5-5|haiku-5-5|fable-5-[1-9])`)

// unboundText is how the provider says that thinking was made behind something else.
const unboundText = "%s: Invalid `signature` in `thinking` block. The block is bound to a different conversation. " +
	"Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."

// bind checks the thinking of a Messages request: a block is valid behind what it was made
// behind, whatever became of thinking before it, if what is left of that is without gaps. It
// returns where the first block is that is not, and the signature of thinking in the answer.
// With permission to drop blocks all are valid.
func bind(body string, h http.Header) (wrong, signature string, violations []string) {
	var r struct {
		System, Tools any
		Messages      []struct {
			Role    string
			Content any
		}
		Thinking struct {
			Binding *struct {
				Behavior string `json:"prefix_mismatch_behavior"`
			} `json:"block_binding"`
		}
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		return "", "", []string{err.Error()}
	}
	drops := false
	if r.Thinking.Binding != nil {
		drops = r.Thinking.Binding.Behavior == "drop_block"
		if !strings.Contains(strings.Join(h.Values("Anthropic-Beta"), ","), anthropic.BindingBeta) {
			violations = append(violations, "block_binding: Extra inputs are not permitted")
		}
	}
	c := chain{}
	c.add("tools", r.Tools)
	c.add("system", r.System)
	for i, m := range r.Messages {
		for j, b := range blocksOf(m.Content) {
			block, _ := b.(map[string]any)
			if block["type"] != "thinking" {
				c.add(m.Role, b)
			} else if !c.thinks(block["signature"]) && wrong == "" {
				wrong = fmt.Sprintf("messages.%d.content.%d", i, j)
			}
		}
	}
	if wrong != "" {
		c.last = "" // the rest is dropped too
	}
	if drops {
		wrong = ""
	}
	return wrong, c.sign(), violations
}

// chain is the hash of a prompt up to some place, without thinking.
type chain struct {
	sum  [sha256.Size]byte
	last string // signature of the thinking before it; empty: there is none
}

func (c *chain) sign() string {
	before := sha256.Sum256([]byte(c.last))
	return hex.EncodeToString(c.sum[:]) + hex.EncodeToString(before[:])
}

// thinks reports whether a block of thinking is valid here.
func (c *chain) thinks(signature any) bool {
	got, _ := signature.(string)
	want := c.sign()
	if c.last == "" { // what came before may have been left out
		want = want[:2*sha256.Size]
	}
	c.last = got
	return strings.HasPrefix(got, want)
}

// add adds blocks that one side said. Cache markers are no part of them, and messages of one
// side are one.
func (c *chain) add(who string, v any) {
	for _, b := range blocksOf(v) {
		if block, ok := b.(map[string]any); ok {
			if block["defer_loading"] == true { // a tool that is not there yet
				continue
			}
			delete(block, "cache_control")
			if parts, ok := block["content"]; ok { // of a tool result
				block["content"] = blocksOf(parts)
			}
		}
		part, _ := json.Marshal(b) // it was decoded from JSON
		c.sum = sha256.Sum256(slices.Concat(c.sum[:], []byte(who), part))
	}
}

// blocksOf is a content as a list.
func blocksOf(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		for _, b := range v {
			if block, ok := b.(map[string]any); ok {
				delete(block, "cache_control")
			}
		}
		return v
	case string:
		return []any{map[string]any{"type": "text", "text": v}}
	}
	return []any{v}
}
