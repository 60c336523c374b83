package summarizer

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

// shown writes what the levers before it left of the turns to be summarized, for policies that
// take a summary as it comes. It leaves out the first groups: a group is an answer of the model
// and what follows it. An earlier summary stands for all that was before it and stays.
func (s *Source) shown(asJSON bool, dropped int) string {
	var parts []string
	write := func(m transcript.Message) {
		if asJSON {
			parts = append(parts, messageJSON(m, false))
		} else {
			parts = append(parts, plainLines(m)...)
		}
	}
	if dropped > 0 {
		write(transcript.User("[earlier turns are left out: all of them together are too long to summarize]"))
	}
	summed, turns := s.turns()
	for _, m := range summed {
		write(m)
	}
	if !asJSON {
		turns = s.Spoken[len(s.Spoken)-len(turns):]
	}
	groups := 0
	for i, m := range turns {
		if i == 0 || m.Role() == transcript.RoleAssistant {
			groups++
		}
		if groups > dropped {
			write(m)
		}
	}
	if asJSON {
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return strings.Join(parts, "\n")
}

// turns are the messages of the view that the summary replaces: an earlier summary, and the
// rest.
func (s *Source) turns() (summed, rest []transcript.Message) {
	all := s.View[min(s.ViewHead, len(s.View)):]
	return all[:s.Summed], all[s.Summed:]
}

// shownGroups is how many groups there are to leave out.
func (s *Source) shownGroups() int {
	n := 0
	_, turns := s.turns()
	for i, m := range turns {
		if i == 0 || m.Role() == transcript.RoleAssistant {
			n++
		}
	}
	return n
}

// speaks matches the beginning of a line that says who speaks, or may look so: it has a bracket, or
// something beyond ASCII, which may be a bracket too, or nothing that is seen.
var speaks = regexp.MustCompile(`\n([\[\x{80}-\x{10FFFF}])`)

// plainLines writes a message for a summarizer: what was said, which tools were called with
// what, and what they returned. In a text, lines that could pass for the beginning of another are
// indented; all others are as the published designs have them.
func plainLines(m transcript.Message) (lines []string) {
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

// Line is a message as a program writes it down: as it was on its wire, or role and content.
func Line(m transcript.Message) []byte {
	var line bytes.Buffer
	if json.Compact(&line, []byte(m.Raw())) != nil {
		return []byte(messageJSON(m, true))
	}
	return line.Bytes()
}

// messageJSON is a message as programs dump theirs: role and content, without signatures, and
// without ids where they tell nothing.
func messageJSON(m transcript.Message, ids bool) string {
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
