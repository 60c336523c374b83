package anthropic

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/transcript"
)

// maxID is the longest call id that is sent.
const maxID = 64

// appendBlock appends a block as an element of a content list. It appends nothing for
// what the wire has no place for: empty text, and reasoning of other providers, which
// only they can read.
//
// A block's own bytes are used where they are of this format, which their type tells:
// an edited message no longer says where its blocks came from.
func appendBlock(dst []byte, b transcript.Block) ([]byte, error) {
	if raw, typ := blockRaw(b); raw != "" && typ != "" && ours(b, typ) {
		return append(dst, raw...), nil
	}
	switch b := b.(type) {
	case transcript.Text:
		if lit := b.Text.Literal(); !blank(lit) {
			dst = append(append(append(dst, `{"type":"text","text":`...), lit...), '}')
		}
		return dst, nil
	case transcript.Thinking:
		return appendThinking(dst, b), nil
	case transcript.ToolCall:
		return appendCall(dst, b)
	case transcript.ToolResult:
		dst, _, err := appendResult(dst, b)
		return dst, err
	case transcript.Image:
		return appendImage(dst, b)
	case transcript.Opaque:
		note := fmt.Sprintf("[%s left out: it has no form here]", cmp.Or(b.Type, "item"))
		return appendBlock(dst, transcript.Say(note))
	}
	return dst, fmt.Errorf("block of kind %s: %w", b.Kind(), errNoForm)
}

// blockRaw returns a block's bytes and the type they give themselves.
func blockRaw(b transcript.Block) (raw, typ string) {
	switch b := b.(type) {
	case transcript.Text:
		raw = b.Raw
	case transcript.Thinking:
		raw = b.Raw
	case transcript.ToolCall:
		raw = b.Raw
	case transcript.ToolResult:
		raw = b.Raw
	case transcript.Image:
		raw = b.Raw
	case transcript.Opaque:
		raw = b.Raw
	}
	block := jsonspan.Value(raw)
	if block.Valid(jsonspan.Object) != nil {
		return "", ""
	}
	return raw, block.Get("type").Text()
}

// ours reports whether a block that calls itself typ is of this format.
func ours(b transcript.Block, typ string) bool {
	switch b := b.(type) {
	case transcript.Text:
		return typ == "text" && !blank(b.Text.Literal())
	case transcript.Thinking:
		return typ == "thinking" || typ == "redacted_thinking"
	case transcript.ToolCall:
		return typ == "tool_use"
	case transcript.ToolResult:
		return typ == "tool_result"
	case transcript.Image:
		return typ == "image"
	case transcript.Opaque:
		return opaqueTypes[typ]
	}
	return false
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

// appendThinking appends reasoning that was signed on this wire. A signature without
// its block's bytes can only come from a program that took them apart.
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

func appendCall(dst []byte, b transcript.ToolCall) ([]byte, error) {
	if b.Name == "" {
		return dst, fmt.Errorf("tool call %q: it has no name", b.ID)
	}
	dst = jsonspan.AppendQuote(append(dst, `{"type":"tool_use","id":`...), callID(b.ID))
	dst = jsonspan.AppendQuote(append(dst, `,"name":`...), b.Name)
	dst = append(dst, `,"input":`...)
	switch input := jsonspan.Value(b.Input.String()); {
	case input.Valid(jsonspan.Object) == nil:
		dst = append(dst, input...)
	case len(strings.TrimSpace(string(input))) == 0:
		dst = append(dst, "{}"...)
	default: // the free text of a custom tool
		dst = append(append(append(dst, `{"input":`...), b.Input.Literal()...), '}')
	}
	return append(dst, '}'), nil
}

// appendResult appends a result. Results of tools that failed hold only text; their
// other parts are given back, to stand behind the results.
func appendResult(dst []byte, b transcript.ToolResult) (_ []byte, rest []transcript.Block, err error) {
	dst = jsonspan.AppendQuote(append(dst, `{"type":"tool_result","tool_use_id":`...), callID(b.CallID))
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
	} else if list, err := appendList(nil, parts); err != nil {
		return dst, nil, err
	} else if len(list) > 0 {
		dst = append(append(append(dst, `,"content":[`...), list...), ']')
	}
	if b.Error {
		dst = append(dst, `,"is_error":true`...)
	}
	return append(dst, '}'), rest, nil
}

// appendList appends blocks with commas between them, without those that leave nothing.
func appendList(dst []byte, blocks []transcript.Block) ([]byte, error) {
	for _, b := range blocks {
		before := len(dst)
		if before > 0 {
			dst = append(dst, ',')
		}
		start := len(dst)
		var err error
		if dst, err = appendBlock(dst, b); err != nil {
			return dst, err
		}
		if len(dst) == start {
			dst = dst[:before]
		}
	}
	return dst, nil
}

func appendImage(dst []byte, b transcript.Image) ([]byte, error) {
	media, data, url := b.MediaType, b.Data, b.URL
	if rest, ok := strings.CutPrefix(url, "data:"); ok && data.IsEmpty() {
		if m, base64, ok := strings.Cut(rest, ";base64,"); ok {
			media, data = m, transcript.Plain(base64)
		}
	}
	switch {
	case !data.IsEmpty() && media != "":
		dst = jsonspan.AppendQuote(append(dst, `{"type":"image","source":{"type":"base64","media_type":`...), media)
		dst = append(append(dst, `,"data":`...), data.Literal()...)
	case url != "":
		dst = jsonspan.AppendQuote(append(dst, `{"type":"image","source":{"type":"url","url":`...), url)
	default:
		return appendBlock(dst, transcript.Say("[image left out: it has no form here]"))
	}
	return append(dst, "}}"...), nil
}

// callID makes a call's id one that this wire accepts. Ids of other providers can have
// any characters and any length; the same id always becomes the same.
func callID(id string) string {
	if validID(id) && len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}

// validID reports whether the provider's pattern ^[a-zA-Z0-9_-]+$ matches.
func validID(id string) bool {
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return id != ""
}
