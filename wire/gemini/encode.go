package gemini

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/order"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// unsigned is what the provider takes for the signature of a call that it did not make
// itself, such as one of another model.
const unsigned = "skip_thought_signature_validator"

var errNothing = errors.New("nothing to send")

// Encode writes a request from scratch, for programs that have no original bytes. The
// request's model and whether it streams are not in it: they belong into the URL. The same
// request always gives the same bytes, and the result is legal as far as the request allows:
//
//   - a message that came off this wire goes in as it came; others are mapped as
//     [EncodeMessage] does, neighbours of one role together;
//   - system messages at the beginning become part of the system instruction, later ones are
//     the user's;
//   - the results of an answer stand in one content behind it; a call without one gets an error result
//     that says so, and results that answer no call are an error;
//   - where the model wants signatures, a call that has none gets the word for that.
func Encode(req *model.Request) ([]byte, error) {
	facts, _ := model.DefaultModels().Lookup(req.Model)
	return encode(req, facts.Thinking.Signed)
}

func encode(req *model.Request, signed bool) ([]byte, error) {
	system, msgs := wire.SplitSystem(req)
	turns, err := wire.Pair(wire.Merge(collect(order.Results(msgs)), "model"), "model")
	if err != nil {
		return nil, fmt.Errorf("encode gemini request: %w", err)
	}
	return write(req, system, turns, signed)
}

// write writes turns, those with the results of one answer as one content.
func write(req *model.Request, system string, turns []wire.Turn, signed bool) ([]byte, error) {
	e := encoder{names: make(map[string]string), signed: signed}
	var list [][]byte
	for _, t := range turns {
		if raw := e.turn(t); len(raw) > 0 {
			list = append(list, raw)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("encode gemini request: %w", errNothing)
	}
	out := append(append([]byte(`{"contents":[`), bytes.Join(list, []byte{','})...), ']')
	if system != "" {
		out = append(jsonspan.AppendQuote(append(out, `,"systemInstruction":{"parts":[{"text":`...), system), "}]}"...)
	}
	return joinResponses(appendOptions(out, req))
}

// appendOptions writes what comes after the contents.
func appendOptions(out []byte, req *model.Request) []byte {
	if len(req.Tools) > 0 {
		out = append(append(append(out, `,"tools":[{"functionDeclarations":[`...), declare(req.Tools)...), "]}]"...)
		if req.NoTools {
			out = append(out, `,"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}`...)
		}
	}
	var config []byte
	if req.MaxTokens > 0 {
		config = strconv.AppendInt(append(config, `,"maxOutputTokens":`...), int64(req.MaxTokens), 10)
	}
	if req.Temperature != nil {
		config = strconv.AppendFloat(append(config, `,"temperature":`...), *req.Temperature, 'g', -1, 64)
	}
	if len(config) > 0 {
		out = append(append(append(out, `,"generationConfig":{`...), config[1:]...), '}')
	}
	return append(out, '}')
}

// declare writes function declarations. One that came off this wire goes in as it came.
func declare(tools []model.Tool) []byte {
	isOwn := func(raw string) bool {
		v := jsonspan.Value(raw)
		return v.Valid(jsonspan.Object) == nil && v.Get("name") != nil && v.Get("type") == nil &&
			(v.Get("parameters") != nil || v.Get("parametersJsonSchema") != nil)
	}
	return wire.Tools(tools, isOwn, "parametersJsonSchema", "")
}

// EncodeMessage returns a message as an element of the contents array. A message that came
// off this wire is returned as it came. Reasoning of other providers is left out, and blocks
// that have no form here become a short note. A result without bytes of its own is taken for
// that of a function with the name of its call's id: only [Encode] sees the call.
func EncodeMessage(m transcript.Message) ([]byte, error) {
	e := encoder{}
	raw := e.turn(collect([]transcript.Message{m})[0])
	if len(raw) == 0 {
		return nil, fmt.Errorf("encode message: %w", errNothing)
	}
	return raw, nil
}

// EncodeResults returns the content that answers calls of one answer.
func EncodeResults(calls []transcript.ToolCall, results []transcript.ToolResult) []byte {
	e := encoder{names: make(map[string]string)}
	for _, c := range calls {
		e.names[c.ID] = c.Name
	}
	return e.turn(collect([]transcript.Message{transcript.Results(results...)})[0])
}

func collect(msgs []transcript.Message) []wire.Turn {
	return wire.Turns(msgs, transcript.FormatGemini, func(r transcript.Role) string {
		if r == transcript.RoleAssistant {
			return "model"
		}
		return "user"
	})
}
