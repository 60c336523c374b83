// Package dump writes messages down as programs do: for a summarizer that takes a conversation as text, and for
// files.
package dump

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/transcript"
)

// speaks matches the beginning of a line that says who speaks, or may look so: it has a bracket, or
// something beyond ASCII, which may be a bracket too, or nothing that is seen.
var speaks = regexp.MustCompile(`\n([\[\x{80}-\x{10FFFF}])`)

// Plain writes a message for a summarizer: what was said, which tools were called with
// what, and what they returned. In a text, lines that could pass for the beginning of another are
// indented; all others are as the published designs have them.
func Plain(m transcript.Message) (lines []string) {
	line := func(from, text string) {
		lines = append(lines, "["+from+"] "+speaks.ReplaceAllString(fence.Shown(text), "\n  $1"))
	}
	for _, blk := range m.Blocks().All() {
		switch blk := blk.(type) {
		case transcript.Text:
			line(fence.Line(string(m.Role())), blk.Text.String())
		case transcript.ToolCall:
			line("assistant→tool", fence.Line(blk.Name)+"("+spaced(blk.Input.String())+")")
		case transcript.ToolResult:
			from := "tool→result"
			if blk.Error {
				from = "tool→error"
			}
			line(from, blk.Text())
		case transcript.Opaque:
			if blk.Type == annotate.ByProgram {
				line(annotate.ByProgram, blk.Raw)
			}
		}
	}
	return lines
}

// Line is a message as a program writes it down in Anthropic's form, whatever its wire: role and content.
func Line(m transcript.Message) []byte {
	var line bytes.Buffer
	if m.Format() != transcript.FormatAnthropic || json.Compact(&line, []byte(m.Raw())) != nil {
		return []byte(JSON(m, true))
	}
	return line.Bytes()
}

// JSON is a message as programs dump theirs: role and content, without signatures, and
// without ids where they tell nothing.
func JSON(m transcript.Message, ids bool) string {
	blocks, role := m.Blocks(), m.Role()
	if role == transcript.RoleTool {
		role = transcript.RoleUser // on the wires that the texts are about
	}
	list := make([]string, 0, blocks.Len())
	for _, blk := range blocks.All() {
		if t, ok := blk.(transcript.Text); ok && blocks.Len() == 1 {
			return fmt.Sprintf(`{"role": "%s", "content": %s}`, role, quoted(t.Text.String()))
		}
		list = append(list, blockJSON(blk, ids))
	}
	return fmt.Sprintf(`{"role": "%s", "content": [%s]}`, role, strings.Join(list, ", "))
}

func blockJSON(blk transcript.Block, ids bool) string {
	id := func(name, id string) string {
		if !ids {
			return ""
		}
		return fmt.Sprintf(`, "%s": %s`, name, quoted(id))
	}
	switch blk := blk.(type) {
	case transcript.Text:
		return fmt.Sprintf(`{"type": "text", "text": %s}`, quoted(blk.Text.String()))
	case transcript.Thinking:
		return fmt.Sprintf(`{"type": "thinking", "thinking": %s}`, quoted(blk.Text.String()))
	case transcript.ToolCall:
		return fmt.Sprintf(`{"type": "tool_use"%s, "name": %s, "input": %s}`, id("id", blk.ID), quoted(blk.Name),
			spaced(blk.Input.String()))
	case transcript.ToolResult:
		failed := ""
		if blk.Error {
			failed = `, "is_error": true`
		}
		of := id("tool_use_id", blk.CallID)
		return fmt.Sprintf(`{"type": "tool_result"%s, "content": %s%s}`, of, quoted(blk.Text()), failed)
	case transcript.Image:
		switch {
		case ids && blk.Data.Size() > 0:
			const source = `{"type": "image", "source": {"type": "base64", "media_type": %s, "data": %s}}`
			return fmt.Sprintf(source, quoted(blk.MediaType), quoted(blk.Data.String()))
		case ids && blk.URL != "":
			return fmt.Sprintf(`{"type": "image", "source": {"type": "url", "url": %s}}`, quoted(blk.URL))
		}
	case transcript.Opaque:
		return fmt.Sprintf(`{"type": %s}`, quoted(blk.Type))
	}
	return fmt.Sprintf(`{"type": "%s"}`, blk.Kind())
}

// quoted is a text as a JSON string that people can read.
func quoted(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string can be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// spaced is the input of a call with one space after each comma and colon. What is no JSON
// becomes a string.
func spaced(input string) string {
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(input)) != nil {
		return quoted(input)
	}
	out := make([]byte, 0, compact.Len()+16)
	inside := false
	for i, c := range compact.Bytes() {
		out = append(out, c)
		switch {
		case c == '"' && (i == 0 || !escaped(compact.Bytes()[:i])):
			inside = !inside
		case !inside && (c == ',' || c == ':'):
			out = append(out, ' ')
		}
	}
	return string(out)
}

// escaped reports whether what follows the text is escaped: it ends with an odd number of
// backslashes.
func escaped(before []byte) bool {
	return (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 1
}
