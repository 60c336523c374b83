package upstreamtest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/wire/openai"
)

func chatUsage(a answer) object {
	out := output(a)
	return object{
		"prompt_tokens": a.prompt, "completion_tokens": out, "total_tokens": a.prompt + out,
		"prompt_tokens_details": object{"cached_tokens": a.read, "cache_write_tokens": a.written},
	}
}

func wholeChat(a answer) any {
	m := object{"role": "assistant", "content": a.text}
	if len(a.calls) > 0 {
		var calls []object
		for _, c := range a.calls {
			function := object{"name": c.name, "arguments": c.input}
			calls = append(calls, object{"id": c.id, "type": "function", "function": function})
		}
		m["tool_calls"] = calls
	}
	return object{
		"id": a.id, "object": "chat.completion", "created": 1, "model": a.model, "usage": chatUsage(a),
		"choices": []object{{"index": 0, "message": m, "finish_reason": a.stop("tool_calls", "stop")}},
	}
}

func chatChunk(a answer, choices []object) object {
	return object{"id": a.id, "object": "chat.completion.chunk", "created": 1, "model": a.model, "choices": choices}
}

func streamChat(s *stream, a answer, r *request) {
	send := func(delta object, finish any) {
		s.send("", chatChunk(a, []object{{"index": 0, "delta": delta, "finish_reason": finish}}))
	}
	send(object{"role": "assistant", "content": ""}, nil)
	if a.text != "" {
		send(object{"content": a.text}, nil)
	}
	for i, c := range a.calls {
		send(object{"tool_calls": []object{{
			"index": i, "id": c.id, "type": "function",
			"function": object{"name": c.name, "arguments": ""},
		}}}, nil)
		half := len(c.input) / 2
		for _, part := range []string{c.input[:half], c.input[half:]} {
			send(object{"tool_calls": []object{{"index": i, "function": object{"arguments": part}}}}, nil)
		}
	}
	send(object{}, a.stop("tool_calls", "stop"))
	if r.usage {
		last := chatChunk(a, []object{})
		last["usage"] = chatUsage(a)
		s.send("", last)
	}
	s.send("", "[DONE]")
}

func decodeResponses(body []byte, m model.Model) (*request, error) {
	r, err := openai.DecodeResponses(body)
	if err != nil {
		return nil, err
	}
	return &request{
		model: r.Model, stream: streams(body), tools: append(slices.Clip(r.Tools), r.InputTools()...),
		messages: r.Messages, body: string(body), violations: texts(r.Check(m)),
	}, nil
}

func responseItems(a answer) []object {
	var out []object
	if a.thinking != "" {
		out = append(out, object{
			"type": "reasoning", "id": "rs_" + a.id, "summary": []object{},
			"encrypted_content": "c2VhbGVk",
		})
	}
	if a.text != "" {
		out = append(out, object{
			"type": "message", "id": "msg_" + a.id, "status": "completed", "role": "assistant",
			"content": []object{{"type": "output_text", "text": a.text, "annotations": []object{}}},
		})
	}
	for i, c := range a.calls {
		if c.script {
			out = append(out, object{
				"type": "custom_tool_call", "id": fmt.Sprintf("ctc_%s_%d", a.id, i), "status": "completed",
				"call_id": c.id, "name": c.name, "namespace": "functions", "input": c.input,
			})
			continue
		}
		item := object{
			"type": "function_call", "id": fmt.Sprintf("fc_%s_%d", a.id, i), "status": "completed",
			"call_id": c.id, "name": c.name, "arguments": c.input,
		}
		if c.namespace != "" {
			item["namespace"] = c.namespace
		}
		out = append(out, item)
	}
	return out
}

func wholeResponse(a answer) any {
	out := output(a)
	return object{
		"id": a.id, "object": "response", "created_at": 1, "status": "completed", "model": a.model, "error": nil,
		"incomplete_details":  nil,
		"output":              responseItems(a),
		"parallel_tool_calls": true,
		"tool_choice":         "auto",
		"tools":               []object{},
		"usage": object{
			"input_tokens":          a.prompt,
			"input_tokens_details":  object{"cached_tokens": a.read, "cache_write_tokens": a.written},
			"output_tokens":         out,
			"output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": a.prompt + out,
		},
	}
}

func streamResponse(s *stream, a answer, _ *request) {
	send := func(typ string, v object) {
		v["sequence_number"] = s.n
		s.n++
		s.event(typ, v)
	}
	begun := wholeResponse(a).(object)
	begun["status"], begun["output"], begun["usage"] = "in_progress", []object{}, nil
	send("response.created", object{"response": begun})
	send("response.in_progress", object{"response": begun})
	for i, item := range responseItems(a) {
		bare, id := maps.Clone(item), item["id"]
		switch item["type"] {
		case "message":
			bare["status"], bare["content"] = "in_progress", []object{}
			part := func(text string) object {
				return object{"part": object{"type": "output_text", "text": text, "annotations": []object{}}}
			}
			at := object{"item_id": id, "output_index": i, "content_index": 0}
			send("response.output_item.added", object{"output_index": i, "item": bare})
			send("response.content_part.added", merge(at, part("")))
			send("response.output_text.delta", merge(at, object{"delta": a.text}))
			send("response.output_text.done", merge(at, object{"text": a.text}))
			send("response.content_part.done", merge(at, part(a.text)))
		case "function_call", "custom_tool_call":
			kind, member := "response.function_call_arguments", "arguments"
			if item["type"] == "custom_tool_call" {
				kind, member = "response.custom_tool_call_input", "input"
			}
			bare["status"], bare[member] = "in_progress", ""
			at := object{"item_id": id, "output_index": i}
			send("response.output_item.added", object{"output_index": i, "item": bare})
			send(kind+".delta", merge(at, object{"delta": item[member]}))
			send(kind+".done", merge(at, object{member: item[member]}))
		default:
			send("response.output_item.added", object{"output_index": i, "item": bare})
		}
		send("response.output_item.done", object{"output_index": i, "item": item})
	}
	send("response.completed", object{"response": wholeResponse(a)})
}

func merge(a, b object) object {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}
