// Package transcript holds what was said and what is shown of it: messages and their
// blocks, the transcript that they are appended to, and the view of it that a model is
// sent. It has values and rules for them, and decides nothing.
package transcript

import (
	"cmp"
	"io"
	"strconv"

	"github.com/pleat-dev/pleat/internal/fence"
)

// Role says who speaks.
type Role string

// The roles of the wire formats. A tool's results are in messages of role [RoleUser] on
// the Anthropic and Gemini wires and of role [RoleTool] on the OpenAI ones.
const (
	RoleSystem    Role = "system"
	RoleDeveloper Role = "developer"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Format names the wire format that a message's raw bytes are in.
type Format string

// The formats. [FormatNone] marks messages made by a program, which have no raw bytes.
const (
	FormatNone      Format = ""
	FormatAnthropic Format = "anthropic" // Anthropic Messages
	FormatChat      Format = "chat"      // OpenAI Chat Completions
	FormatResponses Format = "responses" // OpenAI Responses
	FormatGemini    Format = "gemini"    // Gemini generateContent
)

// Origin says who wrote a message, if the wire or the log said so. The role
// does not tell: agents put reminders, command output and summaries into user messages.
type Origin uint8

// The origins. With [OriginUnknown] the engine judges by the text.
const (
	OriginUnknown  Origin = iota
	OriginTyped           // a person typed it; of results: what they say that a person said
	OriginInjected        // a program put it there
	OriginSummary         // another agent's summary of what it compacted away
)

// Message is one element of a conversation: a role and its blocks. On the Responses
// wire an element is an item, so one answer of the model may be several messages.
// A message is immutable, and small to copy.
type Message struct{ is *message }

type message struct {
	role   Role
	blocks Blocks
	format Format
	raw    string
	origin Origin
}

var noMessage message // what the zero Message is

func (m Message) get() *message {
	if m.is == nil {
		return &noMessage
	}
	return m.is
}

// NewMessage makes a message that has no wire form yet.
func NewMessage(role Role, blocks ...Block) Message {
	return Message{&message{role: role, blocks: BlocksOf(blocks...)}}
}

// WireMessage makes a message that came off a wire; raw is its JSON element. It keeps the
// slice of blocks, which are no pointers.
func WireMessage(role Role, format Format, raw string, blocks ...Block) Message {
	return Message{&message{role: role, blocks: Blocks{blocks}, format: format, raw: raw}}
}

// User makes a user message of one text block.
func User(text string) Message { return NewMessage(RoleUser, Say(text)) }

// Assistant makes an assistant message.
func Assistant(blocks ...Block) Message { return NewMessage(RoleAssistant, blocks...) }

// Results makes the message that answers the calls of the message before it.
func Results(results ...ToolResult) Message {
	blocks := make([]Block, len(results))
	for i, r := range results {
		blocks[i] = r
	}
	return NewMessage(RoleTool, blocks...)
}

// WithOrigin returns the message with its origin set.
func (m Message) WithOrigin(o Origin) Message {
	with := *m.get()
	with.origin = o
	return Message{&with}
}

// Origin says who wrote the message.
func (m Message) Origin() Origin { return m.get().origin }

// Role says who speaks.
func (m Message) Role() Role { return m.get().role }

// Blocks returns the message's blocks.
func (m Message) Blocks() Blocks { return m.get().blocks }

// Format says which wire format Raw is in.
func (m Message) Format() Format { return m.get().format }

// Raw returns the message's bytes on the wire it came from, empty when it has none.
func (m Message) Raw() string { return m.get().raw }

// Text joins the message's text blocks with line feeds.
func (m Message) Text() string { return m.get().blocks.Text() }

// Calls returns the tool calls in the message, in order.
func (m Message) Calls() []ToolCall {
	var calls []ToolCall
	for _, b := range m.get().blocks.list {
		if c, ok := b.(ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// Decoded returns the message with its literals decoded, for a message that is about to be
// read several times.
func (m Message) Decoded() Message {
	if m.Raw() == "" {
		return m
	}
	decoded := *m.is
	decoded.blocks = decoded.blocks.decoded()
	return Message{&decoded}
}

// Weight is about how many bytes of memory the message takes.
func (m Message) Weight() int {
	raw := m.Raw()
	return 200 + len(raw) + m.Blocks().weight(raw != "") // then blocks are parts of raw
}

// Note is something that the agent wrote down for itself, outside of the transcript.
type Note struct {
	Key  string `json:"key"`  // its name
	Text string `json:"text"` // empty: the note was removed
	At   int    `json:"-"`    // the number of messages before it
}

// RenderMessage writes message i as text: what unfolding a stretch of messages shows if texts is
// [fence.Block], and what the stretch's hash is of if it is [fence.Alone].
func RenderMessage(w io.StringWriter, i int, m Message, texts func(tag, text string) string) {
	w.WriteString("--- message " + strconv.Itoa(i+1) + ", " + fence.Line(string(m.Role())) + "\n")
	for _, blk := range m.Blocks().All() {
		renderBlock(w, blk, texts)
	}
}

// renderBlock writes a block as text. What it holds cannot pass for the beginning of another
// block or message.
func renderBlock(b io.StringWriter, blk Block, texts func(tag, text string) string) {
	switch blk := blk.(type) {
	case Text:
		b.WriteString(texts("text", blk.Text.String()))
	case Thinking:
		if blk.Text.IsEmpty() {
			return
		}
		b.WriteString("(thinking)" + fence.After("thinking", blk.Text.String()))
	case ToolCall:
		b.WriteString("(call " + fence.Line(blk.ID+") "+blk.Name) + fence.After("input", blk.Input.String()))
	case ToolResult:
		word := "result"
		if blk.Error {
			word = "error"
		}
		b.WriteString("(" + word + " of " + fence.Line(blk.CallID) + ")" + fence.After("result", blk.Text()))
		for _, p := range blk.Parts.All() {
			if p.Kind() != KindText {
				b.WriteString("\n(" + p.Kind().String() + ")")
			}
		}
	case Image:
		b.WriteString("(image " + fence.Line(blk.MediaType) + ")")
	case Opaque:
		b.WriteString("(" + fence.Line(blk.Type) + ")" + fence.After("raw", blk.Raw))
	}
	b.WriteString("\n")
}

// Unanswered returns the tool calls in a conversation that have no result, in the order
// in which they were made. Given the messages of a single reply, it returns all calls in
// them.
func Unanswered(msgs ...Message) []ToolCall {
	var calls []ToolCall
	unanswered(msgs, func(_ int, c ToolCall) { calls = append(calls, c) })
	return calls
}

// Repair answers the tool calls that have no result, as after a crash or a cancelled run:
// providers refuse a conversation with such a call in it. Each gets an error result with
// the text that text returns for it, which is what the model is told about the call; nil or empty:
// that its result was lost. The results of one answer, which assistant messages in a row are, are one new
// message right after it and the messages with nothing but results that follow it, so a conversation
// that ends with calls, or with the results of some, goes on at its end. The given messages stay as they
// are, and a conversation without such calls is returned as it is.
func Repair(msgs []Message, text func(ToolCall) string) []Message {
	if text == nil {
		text = lost
	}
	results := make(map[int][]ToolResult) // by the message they go before
	unanswered(msgs, func(at int, c ToolCall) {
		results[at] = append(results[at], ErrorResult(c.ID, cmp.Or(text(c), lost(c))))
	})
	if len(results) == 0 {
		return msgs
	}
	repaired := make([]Message, 0, len(msgs)+len(results))
	for i := range len(msgs) + 1 {
		if results[i] != nil {
			repaired = append(repaired, Results(results[i]...))
		}
		if i < len(msgs) {
			repaired = append(repaired, msgs[i])
		}
	}
	return repaired
}

// lost is what the model is told of a call whose result is not known.
func lost(c ToolCall) string {
	return "[interrupted] The result of " + c.Name + " was lost. It may have taken effect: look before you repeat it."
}

// unanswered calls visit for each call without a result, with the message that one would go before.
func unanswered(msgs []Message, visit func(at int, c ToolCall)) {
	t := NewTranscript(msgs...)
	for _, r := range t.rounds {
		at := r.Calls[len(r.Calls)-1].Call.Message + 1
		for at < len(msgs) && msgs[at].Role() == RoleAssistant {
			at++
		}
		for at < len(msgs) && onlyResults(msgs[at]) {
			at++
		}
		for _, c := range r.Calls {
			if !c.Answered {
				visit(at, t.Block(c.Call).(ToolCall))
			}
		}
	}
}

func onlyResults(m Message) bool {
	for _, b := range m.Blocks().All() {
		if b.Kind() != KindToolResult {
			return false
		}
	}
	return m.Blocks().Len() > 0
}
