package transcript

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Codec reads a message back from its bytes on a wire. The wire packages have one for
// each format; a session that has them stores only a message's raw bytes. So it must give back
// exactly the blocks that [WireMessage] got with these bytes, else the session stores these as
// well. It must be safe for concurrent use.
type Codec func(raw []byte) (Message, error)

// neutralMessage is the neutral form of a message, which is stored if there is no wire form
// or no codec for it. Fields may be added; names and meanings stay (docs/format.md).
type neutralMessage struct {
	Role   Role           `json:"role"`
	Origin Origin         `json:"origin,omitempty"`
	Format Format         `json:"format,omitempty"`
	Raw    exact          `json:"raw,omitempty"`
	Blocks []neutralBlock `json:"blocks"`
}

type neutralBlock struct {
	Kind      string         `json:"kind"`
	Text      exact          `json:"text,omitempty"` // text, thinking, a call's input
	ID        exact          `json:"id,omitempty"`
	Name      exact          `json:"name,omitempty"` // tool; an opaque block's type
	Error     bool           `json:"error,omitempty"`
	Redacted  bool           `json:"redacted,omitempty"`
	Stays     bool           `json:"stays,omitempty"`
	Stands    bool           `json:"stands,omitempty"`
	Opens     exact          `json:"opens,omitempty"`
	Closes    exact          `json:"closes,omitempty"`
	Bound     bool           `json:"bound,omitempty"`
	Refers    bool           `json:"refers,omitempty"`
	Signed    bool           `json:"signed,omitempty"`
	Signature exact          `json:"signature,omitempty"`
	MediaType string         `json:"media_type,omitempty"`
	URL       exact          `json:"url,omitempty"`
	Detail    string         `json:"detail,omitempty"`
	Parts     []neutralBlock `json:"parts,omitempty"`
	Raw       exact          `json:"raw,omitempty"`
}

// exact is text that JSON keeps byte for byte: what is not UTF-8 is written as base64.
type exact string

func (e exact) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(e)) {
		return json.Marshal(string(e))
	}
	return json.Marshal(map[string][]byte{"base64": []byte(e)})
}

func (e *exact) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var b struct{ Base64 []byte }
		err := json.Unmarshal(data, &b)
		*e = exact(b.Base64)
		return err
	}
	return json.Unmarshal(data, (*string)(e))
}

// MarshalJSON writes the message in pleat's neutral form, which has everything that the
// message's methods return.
func (m Message) MarshalJSON() ([]byte, error) {
	is := m.get()
	return json.Marshal(neutralMessage{is.role, is.origin, is.format, exact(is.raw), toNeutral(is.blocks)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (m *Message) UnmarshalJSON(data []byte) error {
	var n neutralMessage
	if err := json.Unmarshal(data, &n); err != nil {
		return fmt.Errorf("decode message: %w", err)
	}
	blocks, err := fromNeutral(n.Blocks)
	if err != nil {
		return fmt.Errorf("decode message: %w", err)
	}
	*m = Message{&message{role: n.Role, blocks: blocks, format: n.Format, raw: string(n.Raw), origin: n.Origin}}
	return nil
}

// MessageJSON returns a message's bytes on the wire it came from, or its neutral form if
// it has none.
func MessageJSON(m Message) (string, error) { return rawOr(m.Raw(), m) }

// BlockJSON returns a block's bytes on the wire it came from, or its neutral form if it has
// none.
func BlockJSON(b Block) (string, error) {
	n := toNeutral(BlocksOf(b))[0]
	return rawOr(string(n.Raw), n)
}

func rawOr(raw string, v any) (string, error) {
	if raw != "" {
		return raw, nil
	}
	out, err := json.Marshal(v)
	return string(out), err
}

func toNeutral(b Blocks) []neutralBlock {
	out := make([]neutralBlock, 0, b.Len())
	for _, blk := range b.list {
		n := neutralBlock{Kind: blk.Kind().String(), Text: exact(blk.content().String()), Raw: exact(blk.raw())}
		switch b := blk.(type) {
		case Thinking:
			n.Signature, n.Redacted, n.Stays = exact(b.Signature), b.Redacted, b.Stays
		case ToolCall:
			n.ID, n.Name, n.Signed, n.Bound = exact(b.ID), exact(b.Name), b.Signed, b.Bound
		case ToolResult:
			n.ID, n.Error, n.Parts = exact(b.CallID), b.Error, toNeutral(b.Parts)
		case Image:
			n.MediaType, n.URL, n.Detail = b.MediaType, exact(b.URL), b.Detail
		case Opaque:
			n.Name, n.Stands, n.Opens, n.Closes = exact(b.Type), b.Stands, exact(b.Opens), exact(b.Closes)
			n.Bound, n.Refers = b.Bound, b.Refers
		}
		out = append(out, n)
	}
	return out
}

func fromNeutral(list []neutralBlock) (Blocks, error) {
	out := make([]Block, 0, len(list))
	for i, n := range list {
		text, raw := Plain(string(n.Text)), string(n.Raw)
		switch n.Kind {
		case "text":
			out = append(out, Text{Text: text, Raw: raw})
		case "thinking":
			out = append(out, Thinking{
				Text: text, Signature: string(n.Signature), Redacted: n.Redacted, Stays: n.Stays, Raw: raw,
			})
		case "tool_call":
			out = append(out, ToolCall{
				ID: string(n.ID), Name: string(n.Name), Input: text, Signed: n.Signed, Bound: n.Bound, Raw: raw,
			})
		case "tool_result":
			parts, err := fromNeutral(n.Parts)
			if err != nil {
				return Blocks{}, fmt.Errorf("block %d: %w", i, err)
			}
			out = append(out, ToolResult{CallID: string(n.ID), Error: n.Error, Parts: parts, Raw: raw})
		case "image":
			out = append(out, Image{MediaType: n.MediaType, Data: text, URL: string(n.URL), Detail: n.Detail, Raw: raw})
		case "opaque":
			out = append(out, Opaque{
				Type: string(n.Name), Stands: n.Stands, Opens: string(n.Opens), Closes: string(n.Closes),
				Bound: n.Bound, Refers: n.Refers, Raw: raw,
			})
		default:
			return Blocks{}, fmt.Errorf("block %d: unknown kind %q", i, n.Kind)
		}
	}
	return Blocks{out}, nil
}
