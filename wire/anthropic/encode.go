package anthropic

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/order"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// defaultMaxTokens is sent if a request does not limit the answer, because the wire demands a
// number.
const defaultMaxTokens = 16000

// Encode writes a request from scratch, for programs that have no original bytes. The
// same request always gives the same bytes, and the result is legal as far as the
// request allows:
//
//   - a message that came off this wire goes in as it came; others are mapped as
//     [EncodeMessage] does, neighbours of one role together, and results together with
//     those that follow them;
//   - system messages at the beginning become part of the system prompt; later ones
//     stay, but move behind user messages that follow them;
//   - results move behind their calls; a call without a result gets an error result that says so;
//   - results that answer no call are an error.
//
// With a SessionKey the request asks for prompt caching, unless its tools or messages have
// markers of their own. One marker ends the part before the messages, so that it stays
// cached when the messages are folded; the automatic one falls on the last block; a third
// comes where the request has a Marker. The key itself is not sent.
func Encode(req *model.Request) ([]byte, error) { return encode(req, arrange) }

// encodeAsIs writes the messages one by one in their order and repairs nothing, so that Check
// can find what is wrong with them.
func encodeAsIs(req *model.Request) ([]byte, error) {
	return encode(req, func(msgs []transcript.Message) ([][]byte, error) { return encodeTurns(collect(msgs)), nil })
}

func encode(req *model.Request, arrange func([]transcript.Message) ([][]byte, error)) ([]byte, error) {
	system, msgs := wire.SplitSystem(req)
	list, err := arrange(msgs)
	if err == nil && len(list) == 0 {
		err = errNothing
	}
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	tools := encodeTools(req.Tools)
	body := write(req, system, tools, list, false)
	if req.SessionKey == "" {
		return body, nil
	}
	if r, err := Decode(body); err != nil || len(r.Markers()) > 0 {
		return body, err
	}
	body = write(req, system, tools, list, true)
	if req.Marker <= 0 {
		return body, nil
	}
	v := transcript.Whole(len(list))
	first, _ := arrange(msgs[:min(max(req.Marker-(len(req.Messages)-len(msgs)), 0), len(msgs))]) // there may be nothing yet
	for v.Marker < min(len(first), len(list)) && bytes.Equal(first[v.Marker], list[v.Marker]) {
		v.Marker++ // a message that was merged with the next one differs
	}
	r, err := Decode(body)
	if err != nil {
		return body, err
	}
	return r.Splice(v)
}

func write(req *model.Request, system string, tools []byte, list [][]byte, caching bool) []byte {
	out := jsonspan.AppendQuote([]byte(`{"model":`), req.Model)
	maxTokens := cmp.Or(req.MaxTokens, defaultMaxTokens)
	out = strconv.AppendInt(append(out, `,"max_tokens":`...), int64(maxTokens), 10)
	out = appendHead(out, system, tools, caching)
	if len(tools) > 0 && req.NoTools {
		out = append(out, `,"tool_choice":{"type":"none"}`...)
	}
	out = append(append(append(out, `,"messages":[`...), bytes.Join(list, []byte{','})...), ']')
	if req.Temperature != nil {
		out = strconv.AppendFloat(append(out, `,"temperature":`...), *req.Temperature, 'g', -1, 64)
	}
	if caching {
		out = append(out, fiveMinutes...)
	}
	if req.Stream {
		out = append(out, `,"stream":true`...)
	}
	return append(out, '}')
}

// appendHead writes what comes before the messages. The provider's cache has the system
// prompt after the tools, so its end is the end of both.
func appendHead(out []byte, system string, tools []byte, caching bool) []byte {
	const marker = fiveMinutes + "}"
	switch {
	case system != "" && caching:
		out = jsonspan.AppendQuote(append(out, `,"system":[{"type":"text","text":`...), system)
		out = append(append(out, marker...), ']')
	case system != "":
		out = jsonspan.AppendQuote(append(out, `,"system":`...), system)
	}
	if len(tools) == 0 {
		return out
	}
	out = append(append(out, `,"tools":[`...), tools...)
	if caching && system == "" {
		out = append(bytes.TrimSuffix(bytes.TrimRight(out, " \t\r\n"), []byte("}")), marker...)
	}
	return append(out, ']')
}

func encodeTools(tools []model.Tool) []byte {
	return wire.Tools(tools, ownTool, "input_schema", `{"type":"object"}`)
}

// ownTool reports whether a definition's bytes are of this wire: it has the schema
// under this wire's name, or it is one of the provider's own tools, whose types end in
// a date.
func ownTool(raw string) bool {
	tool := jsonspan.Value(raw)
	if tool.Valid(jsonspan.Object) != nil {
		return false
	}
	if tool.Get("input_schema") != nil {
		return true
	}
	typ := tool.Get("type").Text()
	if len(typ) < len("_20060102") {
		return false
	}
	date := typ[len(typ)-8:]
	return typ[len(typ)-9] == '_' && strings.Trim(date, "0123456789") == ""
}

// arrange turns the messages into elements of the array and repairs what it can.
func arrange(msgs []transcript.Message) ([][]byte, error) {
	turns, err := wire.Pair(lateSystem(collect(order.Results(msgs))), "assistant")
	if err != nil {
		return nil, err
	}
	turns = together(wire.Merge(turns, ""))
	if len(turns) > 0 && turns[0].Role == "assistant" && turns[0].Raw == "" {
		return nil, errors.New("the first message is the assistant's, not the user's")
	}
	return encodeTurns(turns), nil
}

// encodeTurns writes each turn as an element of the array, without those that leave
// nothing.
func encodeTurns(turns []wire.Turn) (out [][]byte) {
	own := make(map[string]bool) // ids of calls that keep their bytes
	for _, t := range turns {
		for _, b := range t.Blocks {
			if c, ok := b.(transcript.ToolCall); ok && (t.Raw != "" || ownRaw(c) != "") {
				own[c.ID] = true
			}
		}
		if t.Raw != "" {
			out = append(out, []byte(t.Raw))
			continue
		}
		if list := appendContent(nil, withIDs(t.Blocks, own)); len(list) > 0 {
			out = append(out, element(t.Role, list))
		}
	}
	return out
}

func collect(msgs []transcript.Message) []wire.Turn {
	return wire.Turns(msgs, transcript.FormatAnthropic, wireRole)
}

// lateSystem moves system messages after the user message that follows them: the wire wants
// them last before the model's answer, never between a call and its result.
func lateSystem(turns []wire.Turn) []wire.Turn {
	for i := range len(turns) - 1 {
		if turns[i].Role == "system" && turns[i+1].Role == "user" {
			turns[i], turns[i+1] = turns[i+1], turns[i]
		}
	}
	return turns
}

// together puts results in front of those that follow them in a message with bytes of its own.
func together(turns []wire.Turn) (out []wire.Turn) {
	for _, t := range turns {
		n := len(out)
		if n == 0 || out[n-1].Raw != "" || t.Raw == "" || len(out[n-1].Results()) == 0 || len(t.Results()) == 0 {
			out = append(out, t)
			continue
		}
		if r, ok := message([]byte(t.Raw)); ok {
			before := transcript.NewMessage(transcript.RoleUser, out[n-1].Blocks...)
			if e, ok := r.join(before, encodeTurns(out[n-1:])[0], 0); ok {
				t.Raw = t.Raw[:e.Span.Start] + string(e.With) + t.Raw[e.Span.End:]
				t.Blocks, out = slices.Concat(out[n-1].Blocks, t.Blocks), out[:n-1]
			}
		}
		out = append(out, t)
	}
	return out
}
