package anthropic

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/transcript"
)

var errNothing = errors.New("nothing to send")

// EncodeMessage returns a message as an element of the messages array. A message that came
// off this wire is returned as it came. In other messages results come first, then the
// images of failed tools, then the rest. Reasoning of other providers is left out, and
// blocks that have no form here become a short note. Ids of calls that this wire does not take
// become others, unless the message has this wire's format: then its calls came off it.
func EncodeMessage(m transcript.Message) ([]byte, error) {
	if m.Format() == transcript.FormatAnthropic && m.Raw() != "" {
		return []byte(m.Raw()), nil
	}
	blocks := m.Blocks().List()
	if m.Format() != transcript.FormatAnthropic {
		blocks = withIDs(blocks, nil)
	}
	list := appendContent(nil, blocks)
	if len(list) == 0 {
		return nil, fmt.Errorf("encode message: %w", errNothing)
	}
	return element(wireRole(m.Role()), list), nil
}

func element(role string, list []byte) []byte {
	out := make([]byte, 0, len(role)+len(list)+28)
	out = append(append(append(out, `{"role":"`...), role...), `","content":[`...)
	return append(append(out, list...), "]}"...)
}

// wireRole maps a role to one of this wire. Results stand in user messages here.
func wireRole(r transcript.Role) string {
	switch r {
	case transcript.RoleAssistant:
		return "assistant"
	case transcript.RoleSystem, transcript.RoleDeveloper:
		return "system"
	}
	return "user"
}

// appendContent appends the blocks of one message: results first, as the wire demands,
// then what failed results could not hold, then the rest in order.
func appendContent(dst []byte, blocks []transcript.Block) []byte {
	var hoisted, rest []transcript.Block
	for _, b := range blocks {
		r, ok := b.(transcript.ToolResult)
		if !ok {
			rest = append(rest, b)
			continue
		}
		if len(dst) > 0 {
			dst = append(dst, ',')
		}
		if raw := ownRaw(r); raw != "" {
			dst = append(dst, raw...)
			continue
		}
		var more []transcript.Block
		dst, more = appendResult(dst, r)
		hoisted = append(hoisted, more...)
	}
	return appendList(dst, append(hoisted, rest...))
}

// maxID is the longest call id that is sent.
const maxID = 64

// appendBlock appends a block as an element of a content list. It appends nothing for empty
// text, which the wire refuses, and for reasoning that only another provider can read.
//
// It uses a block's own bytes where they are of this format. Their type decides, because an
// edited message no longer says where its blocks came from.
func appendBlock(dst []byte, b transcript.Block) []byte {
	if raw := ownRaw(b); raw != "" {
		return append(dst, raw...)
	}
	switch b := b.(type) {
	case transcript.Text:
		if !blank(b.Text.String()) {
			dst = append(append(append(dst, `{"type":"text","text":`...), b.Text.Literal()...), '}')
		}
		return dst
	case transcript.Thinking:
		return appendThinking(dst, b)
	case transcript.ToolCall:
		return appendCall(dst, b)
	case transcript.ToolResult:
		dst, _ = appendResult(dst, b)
		return dst
	case transcript.Image:
		return appendImage(dst, b)
	}
	note := fmt.Sprintf("[%s left out: it has no form here]", cmp.Or(opaqueType(b), "item"))
	return appendBlock(dst, transcript.Say(note))
}

// ownRaw returns a block's bytes if they are of this format, which their type shows, else "".
func ownRaw(b transcript.Block) string {
	block := jsonspan.Value(transcript.RawOf(b))
	if block.Valid(jsonspan.Object) != nil {
		return ""
	}
	typ, ours := block.Get("type").Text(), false
	switch b := b.(type) {
	case transcript.Text:
		ours = typ == "text" && !blank(b.Text.String())
	case transcript.Thinking:
		ours = typ == "thinking" || typ == "redacted_thinking"
	case transcript.Opaque:
		ours = opaqueTypes[typ]
	default:
		ours = typ == wireType(b)
	}
	if !ours {
		return ""
	}
	return string(block)
}

// opaqueTypes are the blocks of this format that the core knows only as bytes.
var opaqueTypes = map[string]bool{
	"document": true, "search_result": true, "container_upload": true, "compaction": true, "fallback": true,
	"server_tool_use": true, "web_search_tool_result": true, "web_fetch_tool_result": true,
	"code_execution_tool_result": true, "bash_code_execution_tool_result": true,
	"text_editor_code_execution_tool_result": true, "tool_search_tool_result": true, "advisor_tool_result": true,
	"mcp_tool_use": true, "mcp_tool_result": true, "mcp_tool_listing": true,
	"tool_addition": true, "tool_removal": true, "tool_reference": true, "browser_state": true,
}

// appendThinking appends reasoning that was signed on this wire, by a program that kept the
// signature but not the block's bytes.
func appendThinking(dst []byte, b transcript.Thinking) []byte {
	switch {
	case b.Raw != "" || b.Signature == "":
		return dst
	case b.Redacted:
		dst = append(dst, `{"type":"redacted_thinking","data":`...)
		return append(jsonspan.AppendQuote(dst, b.Signature), '}')
	}
	dst = append(append(dst, `{"type":"thinking","thinking":`...), b.Text.Literal()...)
	dst = append(dst, `,"signature":`...)
	return append(jsonspan.AppendQuote(dst, b.Signature), '}')
}

func appendCall(dst []byte, b transcript.ToolCall) []byte {
	dst = jsonspan.AppendQuote(append(dst, `{"type":"tool_use","id":`...), b.ID)
	dst = jsonspan.AppendQuote(append(dst, `,"name":`...), b.Name)
	dst = append(append(dst, `,"input":`...), cmp.Or(wire.Input(b), "{}")...)
	return append(dst, '}')
}

// appendResult appends a result. The result of a failed tool can hold only text; its other
// parts are returned, to follow the results.
func appendResult(dst []byte, b transcript.ToolResult) (_ []byte, rest []transcript.Block) {
	dst = jsonspan.AppendQuote(append(dst, `{"type":"tool_result","tool_use_id":`...), b.CallID)
	var parts []transcript.Block
	for _, p := range b.Parts.All() {
		if _, isText := p.(transcript.Text); b.Error && !isText {
			rest = append(rest, p)
			continue
		}
		parts = append(parts, p)
	}
	if len(parts) == 1 && parts[0].Kind() == transcript.KindText {
		dst = append(append(dst, `,"content":`...), parts[0].(transcript.Text).Text.Literal()...)
	} else if list := appendList(nil, parts); len(list) > 0 {
		dst = append(append(append(dst, `,"content":[`...), list...), ']')
	}
	if b.Error {
		dst = append(dst, `,"is_error":true`...)
	}
	return append(dst, '}'), rest
}

// appendList appends blocks with commas between them, without those that leave nothing.
func appendList(dst []byte, blocks []transcript.Block) []byte {
	for _, b := range blocks {
		one := appendBlock(nil, b)
		if len(dst) > 0 && len(one) > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, one...)
	}
	return dst
}

func appendImage(dst []byte, b transcript.Image) []byte {
	if b.Data.IsEmpty() && strings.HasPrefix(b.URL, "data:") {
		b = transcript.ImageAt(b.URL)
	}
	switch {
	case !b.Data.IsEmpty() && b.MediaType != "":
		dst = jsonspan.AppendQuote(append(dst, `{"type":"image","source":{"type":"base64","media_type":`...),
			b.MediaType)
		dst = append(append(dst, `,"data":`...), b.Data.Literal()...)
	case b.URL != "":
		dst = jsonspan.AppendQuote(append(dst, `{"type":"image","source":{"type":"url","url":`...), b.URL)
	default:
		return appendBlock(dst, transcript.Say("[image left out: it has no form here]"))
	}
	return append(dst, "}}"...)
}

// withIDs returns the blocks with ids that this wire accepts, apart from those that calls brought
// which came off it: they stay as they are, and so do their results.
func withIDs(blocks []transcript.Block, own map[string]bool) []transcript.Block {
	out := slices.Clone(blocks)
	for i, b := range out {
		switch b := b.(type) {
		case transcript.ToolCall:
			b.ID = callID(b.ID)
			out[i] = b
		case transcript.ToolResult:
			if !own[b.CallID] {
				b.CallID = callID(b.CallID)
				out[i] = b
			}
		}
	}
	return out
}

// callID turns a call's id into one that this wire accepts. Ids of other providers can have
// any characters and any length.
func callID(id string) string {
	if wire.IsName(id) && len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}

// blank reports whether a text is nothing but white space.
func blank(text string) bool { return strings.TrimSpace(text) == "" }
