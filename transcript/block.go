package transcript

import (
	"iter"
	"strings"
)

// Kind names the kinds of block.
type Kind uint8

// The kinds of block.
const (
	KindText Kind = iota + 1
	KindThinking
	KindToolCall
	KindToolResult
	KindImage
	KindOpaque
)

var kindNames = [...]string{"", "text", "thinking", "tool_call", "tool_result", "image", "opaque"}

// String returns the kind's name as it appears in JSON output.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Block is one part of a message. The set is closed: [Text], [Thinking], [ToolCall],
// [ToolResult], [Image] and [Opaque]. Blocks are values; nothing in the package changes
// one after it was made.
//
// Every block has a Raw field: its bytes on the wire it came from, empty when the
// program made it. Unknown fields, key order, number forms and signatures live there,
// never interpreted by the core.
type Block interface {
	Kind() Kind
	isBlock()
}

// Text is something said in words.
type Text struct {
	Text Content
	Raw  string
}

// Thinking is a model's reasoning. Providers sign it; its bytes are only ever kept
// whole or removed.
type Thinking struct {
	Text      Content
	Signature string // provider's signature or encrypted content, as it came
	Redacted  bool   // only ciphertext is there
	Raw       string
}

// ToolCall is a request by the model to run a tool.
type ToolCall struct {
	ID    string
	Name  string
	Input Content // the arguments as JSON text, or free text for custom tools
	Raw   string
}

// ToolResult answers the call with the same id.
type ToolResult struct {
	CallID string
	Error  bool // the wire says that the tool failed
	Parts  Blocks
	Raw    string
}

// Image is a picture, inline or by reference.
type Image struct {
	MediaType string
	Data      Content // base64, empty when the picture is referred to by URL or file id
	URL       string
	Detail    string // provider's resolution hint: "low", "high", …
	Raw       string
}

// Opaque is anything the core does not understand: documents, server tools, compaction
// items, blocks invented after this was written. It travels as raw bytes and is never
// folded.
type Opaque struct {
	Type string
	Raw  string
}

// Kind implements [Block].
func (Text) Kind() Kind { return KindText }

// Kind implements [Block].
func (Thinking) Kind() Kind { return KindThinking }

// Kind implements [Block].
func (ToolCall) Kind() Kind { return KindToolCall }

// Kind implements [Block].
func (ToolResult) Kind() Kind { return KindToolResult }

// Kind implements [Block].
func (Image) Kind() Kind { return KindImage }

// Kind implements [Block].
func (Opaque) Kind() Kind { return KindOpaque }

func (Text) isBlock()       {}
func (Thinking) isBlock()   {}
func (ToolCall) isBlock()   {}
func (ToolResult) isBlock() {}
func (Image) isBlock()      {}
func (Opaque) isBlock()     {}

// Blocks is a list of blocks that cannot be changed. The zero value is empty.
type Blocks struct{ list []Block }

// BlocksOf makes a list; it takes ownership of the slice.
func BlocksOf(list ...Block) Blocks { return Blocks{list} }

// Len is the number of blocks.
func (b Blocks) Len() int { return len(b.list) }

// At returns block i.
func (b Blocks) At(i int) Block { return b.list[i] }

// All yields the blocks with their positions.
func (b Blocks) All() iter.Seq2[int, Block] {
	return func(yield func(int, Block) bool) {
		for i, blk := range b.list {
			if !yield(i, blk) {
				return
			}
		}
	}
}

// Text joins the text of the text blocks in the list with line feeds; other kinds add
// nothing. For a tool result this is what unfolding it shows.
func (b Blocks) Text() string {
	first, n := "", 0
	var sb strings.Builder
	for _, blk := range b.list {
		t, ok := blk.(Text)
		if !ok {
			continue
		}
		switch n++; n {
		case 1: // the usual case needs no copy
			first = t.Text.String()
		case 2:
			sb.WriteString(first)
			fallthrough
		default:
			sb.WriteByte('\n')
			sb.WriteString(t.Text.String())
		}
	}
	if n > 1 {
		return sb.String()
	}
	return first
}

// Text is the result's text parts joined with line feeds.
func (r ToolResult) Text() string { return r.Parts.Text() }

// Result makes a tool result of one text part.
func Result(callID, text string) ToolResult {
	return ToolResult{CallID: callID, Parts: BlocksOf(Text{Text: Plain(text)})}
}

// ErrorResult makes the result of a tool that failed.
func ErrorResult(callID, text string) ToolResult {
	r := Result(callID, text)
	r.Error = true
	return r
}

// Say makes a text block.
func Say(text string) Text { return Text{Text: Plain(text)} }

// Call makes a tool call; input is the JSON text of its arguments.
func Call(id, name, input string) ToolCall {
	return ToolCall{ID: id, Name: name, Input: Plain(input)}
}
