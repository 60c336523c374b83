package anthropic

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// DefaultMaxTokens is sent if a request does not limit the answer, because the wire demands a
// number.
const DefaultMaxTokens = 16000

// Encode writes a request from scratch, for programs that have no original bytes. The
// same request always gives the same bytes, and the result is legal as far as the
// request allows:
//
//   - a message that came off this wire goes in as it came; others are mapped as
//     [EncodeMessage] does, neighbours of one role together;
//   - system messages at the beginning become part of the system prompt; later ones
//     stay, but move behind user messages that follow them;
//   - a call without a result gets an error result that says so;
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
	return encode(req, func(msgs []transcript.Message) ([][]byte, error) { return encodeTurns(collect(msgs)) })
}

func encode(req *model.Request, arrange func([]transcript.Message) ([][]byte, error)) ([]byte, error) {
	system, msgs := wire.SplitSystem(req)
	list, err := arrange(msgs)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	tools, err := encodeTools(req.Tools)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	caching := req.SessionKey != "" && !marked(list) && !markedTool(req.Tools)
	if caching && req.Marker > 0 {
		if first, err := arrange(msgs[:min(max(req.Marker-(len(req.Messages)-len(msgs)), 0), len(msgs))]); err == nil {
			markElement(list, first)
		}
	}
	out := jsonspan.AppendQuote([]byte(`{"model":`), req.Model)
	maxTokens := req.MaxTokens
	if maxTokens == 0 {
		maxTokens = DefaultMaxTokens
	}
	out = strconv.AppendInt(append(out, `,"max_tokens":`...), int64(maxTokens), 10)
	out = appendHead(out, system, tools, caching)
	if len(tools) > 0 && req.NoTools {
		out = append(out, `,"tool_choice":{"type":"none"}`...)
	}
	out = append(out, `,"messages":[`...)
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, m...)
	}
	out = append(out, ']')
	if req.Temperature != nil {
		out = strconv.AppendFloat(append(out, `,"temperature":`...), *req.Temperature, 'g', -1, 64)
	}
	if caching {
		out = append(out, fiveMinutes...)
	}
	if req.Stream {
		out = append(out, `,"stream":true`...)
	}
	return append(out, '}'), nil
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

// marked reports whether a message brings a cache marker.
func marked(list [][]byte) bool {
	for _, m := range list {
		if r, _ := message(m); len(r.marks[sectionMessages]) > 0 {
			return true
		}
	}
	return false
}

// markedTool reports whether a definition that goes in as it came brings a cache marker.
func markedTool(tools []model.Tool) bool {
	for _, t := range tools {
		if ownTool(t.Raw) && jsonspan.Value(t.Raw).Get("cache_control") != nil {
			return true
		}
	}
	return false
}

func encodeTools(tools []model.Tool) ([]byte, error) {
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
