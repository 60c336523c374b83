package transcript

import (
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
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

var kindNames = []string{"", "text", "thinking", "tool_call", "tool_result", "image", "opaque"}

// String returns the kind's name as it appears in JSON output.
func (k Kind) String() string { return text.NameOf(kindNames, k) }

// Block is one part of a message: a [Text], [Thinking], [ToolCall], [ToolResult], [Image]
// or [Opaque]. Blocks are values and never change.
//
// Every block has a Raw field: its bytes on the wire it came from, empty if a program made
// it. Unknown fields, key order, number forms and signatures are kept there; the engine
// does not interpret them.
type Block interface {
	Kind() Kind
	raw() string
	content() Content // what it holds apart from its parts and its raw bytes
}

// Text is text that somebody said.
type Text struct {
	Text Content
	Raw  string
}

// Thinking is a model's reasoning. Providers sign it, so a view keeps it whole or
// removes it.
type Thinking struct {
	Text      Content
	Signature string // the provider's signature or encrypted content
	Redacted  bool   // the text is encrypted
	Stays     bool   // the provider wants it as long as it gets the message that it is in
	Raw       string
}

// ToolCall is a request by the model to run a tool.
type ToolCall struct {
	ID    string
	Name  string
	Input Content // the arguments as JSON text, or free text for custom tools
	// Signed says that the arguments must stay as they are: the provider has signed them, or the wire has no
	// place for others.
	Signed bool
	Bound  bool // views show it only with the thinking that it followed in its answer
	Raw    string
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

// Opaque is anything the engine does not understand: documents, server tools, compaction
// items, new kinds of block. It is passed on as raw bytes and never folded.
type Opaque struct {
	Type   string
	Stands bool // it holds for the turns after it and cannot be told in words, so no view hides it
	// Opens and Closes tie a block to another, of a later message: one opens what the other closes by the same
	// key, and views show both or neither. Empty: it does not.
	Opens, Closes string
	Bound         bool // views show it only with the thinking that it followed in its answer
	Refers        bool // it stands for what only the provider has, perhaps a call: its answer stays together
	Raw           string
}

// Kind implements [Block].
func (Text) Kind() Kind       { return KindText }
func (Thinking) Kind() Kind   { return KindThinking }
func (ToolCall) Kind() Kind   { return KindToolCall }
func (ToolResult) Kind() Kind { return KindToolResult }
func (Image) Kind() Kind      { return KindImage }
func (Opaque) Kind() Kind     { return KindOpaque }

func (b Text) raw() string       { return b.Raw }
func (b Thinking) raw() string   { return b.Raw }
func (b ToolCall) raw() string   { return b.Raw }
func (b ToolResult) raw() string { return b.Raw }
func (b Image) raw() string      { return b.Raw }
func (b Opaque) raw() string     { return b.Raw }

func (b Text) content() Content     { return b.Text }
func (b Thinking) content() Content { return b.Text }
func (b ToolCall) content() Content { return b.Input }
func (ToolResult) content() Content { return Content{} }
func (b Image) content() Content    { return b.Data }
func (Opaque) content() Content     { return Content{} }

// Blocks is a list of blocks that cannot be changed. The zero value is empty.
type Blocks struct{ list []Block }

// BlocksOf makes a list. Pointers to blocks become the blocks that they point to.
func BlocksOf(list ...Block) Blocks {
	own := slices.Clone(list)
	for i, b := range own {
		own[i] = valueOf(b)
	}
	return Blocks{own}
}

// valueOf returns a block as everything reads it: Go lets a pointer to a block pass for one.
func valueOf(b Block) Block {
	p := reflect.ValueOf(b)
	switch {
	case p.Kind() != reflect.Pointer:
		return b
	case p.IsNil():
		return nil
	}
	return p.Elem().Interface().(Block)
}

// Len is the number of blocks.
func (b Blocks) Len() int { return len(b.list) }

// At returns block i.
func (b Blocks) At(i int) Block { return b.list[i] }

// All yields the blocks with their positions.
func (b Blocks) All() iter.Seq2[int, Block] { return slices.All(b.list) }

// List returns the blocks as a new slice.
func (b Blocks) List() []Block { return slices.Clone(b.list) }

// Has reports whether one of the blocks is of the kind.
func (b Blocks) Has(kind Kind) bool {
	return slices.ContainsFunc(b.list, func(blk Block) bool { return blk.Kind() == kind })
}

// Text joins the text of the text blocks in the list with line feeds; other kinds add
// nothing. For a tool result this is what unfolding it shows.
func (b Blocks) Text() string {
	var few [4]string
	texts := few[:0]
	for _, blk := range b.list {
		if t, ok := blk.(Text); ok {
			texts = append(texts, t.Text.String())
		}
	}
	return strings.Join(texts, "\n") // copies nothing if there is one text
}

// Text is the result's text parts joined with line feeds.
func (r ToolResult) Text() string { return r.Parts.Text() }

// Result makes a tool result of one text part.
func Result(callID, text string) ToolResult {
	return ToolResult{CallID: callID, Parts: Blocks{[]Block{Text{Text: Plain(text)}}}}
}

// ErrorResult makes the result of a tool that failed.
func ErrorResult(callID, text string) ToolResult {
	r := Result(callID, text)
	r.Error = true
	return r
}

// Say makes a text block.
func Say(text string) Text { return Text{Text: Plain(text)} }

// Call makes a tool call; input is the JSON text of its arguments. What is no JSON object, as with custom tools,
// is sent as the argument "input" where the wire wants an object.
func Call(id, name, input string) ToolCall {
	return ToolCall{ID: id, Name: name, Input: Plain(input)}
}

// ImageAt makes an image of a URL, which may carry the picture itself:
// data:image/png;base64,iVBOR…
func ImageAt(url string) Image {
	head, data, ok := strings.Cut(url, ",")
	mediaType, isData := strings.CutPrefix(head, "data:")
	mediaType, isBase64 := strings.CutSuffix(mediaType, ";base64")
	if !ok || !isData || !isBase64 {
		return Image{URL: url}
	}
	mediaType, _, _ = strings.Cut(mediaType, ";") // parameters such as ;name=x.png
	return Image{MediaType: mediaType, Data: Plain(data)}
}

// RawOf returns a block's bytes on the wire it came from.
func RawOf(b Block) string { return b.raw() }

// BlockText returns the text of a block as unfolding shows it.
func BlockText(b Block) string {
	switch b := b.(type) {
	case ToolResult:
		return b.Text()
	case Image:
		return ""
	default:
		return b.content().String()
	}
}

// decoded returns the blocks with their literals decoded.
func (b Blocks) decoded() Blocks {
	out := make([]Block, len(b.list))
	for i, blk := range b.list {
		switch t := blk.(type) {
		case Text:
			t.Text = t.Text.read()
			blk = t
		case Thinking:
			t.Text = t.Text.read()
			blk = t
		case ToolCall:
			t.Input = t.Input.read()
			blk = t
		case ToolResult:
			t.Parts = t.Parts.decoded()
			blk = t
		}
		out[i] = blk
	}
	return Blocks{out}
}

// weight is about how many bytes of memory the blocks take; if shared, their bytes are
// those of their message.
func (b Blocks) weight(shared bool) int {
	n := 0
	for _, blk := range b.list {
		c, own := blk.content(), len(blk.raw())
		switch t := blk.(type) {
		case Thinking:
			own += len(t.Signature)
		case ToolResult:
			n += t.Parts.weight(shared)
		}
		n += 200 + len(c.text)
		if !shared {
			n += len(c.s) + own
		}
	}
	return n
}
