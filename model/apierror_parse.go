package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// errorBody is what the error bodies of the providers have in common. No two agree on
// the shape: see [parseErrorBody].
type errorBody struct {
	message string
	typ     string
	code    string
	param   string
	status  string // Gemini: a name such as INVALID_ARGUMENT
	request string
	delay   string // Gemini: how long to wait, such as "34s"
	used    int    // llama.cpp: n_prompt_tokens
	limit   int    // llama.cpp: n_ctx
	extra   string // more text to match on: an error wrapped in the error
	empty   bool   // the body has nothing in it
}

// maxErrorBody bounds how much of a body is looked at. Error bodies are small; what is
// not is somebody's page or a stream.
const maxErrorBody = 1 << 20

// parseErrorBody reads any body. What is not JSON is the message itself.
func parseErrorBody(body []byte) errorBody {
	if len(body) > maxErrorBody {
		body = body[:maxErrorBody]
	}
	body = bytes.TrimSpace(body)
	if data := sseData(body); data != nil {
		body = data
	}
	if len(body) == 0 {
		return errorBody{empty: true}
	}
	var v any
	if json.Unmarshal(body, &v) != nil {
		return errorBody{message: string(body)}
	}
	var eb errorBody
	eb.read(v, 0)
	if eb.message == "" && eb.typ == "" && eb.code == "" {
		bare := strings.Join(strings.Fields(string(body)), "")
		if eb.empty = slices.Contains([]string{"null", `""`, "{}", "[]"}, bare); !eb.empty {
			eb.message = string(body)
		}
	}
	return eb
}

// sseData returns the data of the last event of a stream that has any: an error ends a
// stream. It returns nil if the body is not one.
func sseData(body []byte) []byte {
	if !bytes.HasPrefix(body, []byte("event:")) && !bytes.HasPrefix(body, []byte("data:")) {
		return nil
	}
	var last []byte
	for line := range bytes.Lines(body) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if data = bytes.TrimSpace(data); string(data) != "[DONE]" {
				last = data
			}
		}
	}
	return last
}

// read collects the fields of the shapes
//
//	{"type":"error","error":{"type":…,"message":…},"request_id":…}      Anthropic
//	{"error":{"message":…,"type":…,"param":…,"code":…}}                 OpenAI, vLLM, llama.cpp
//	{"error":{"code":400,"message":…,"status":…,"details":[…]}}         Gemini, also in an array
//	{"error":"…"}                                                       Ollama
//	{"type":"error","code":…,"message":…,"param":…}                     Responses, in a stream
//	{"type":"response.failed","response":{"error":{"code":…}}}          Responses, in a stream
//	{"message":…}, {"Message":…}, {"detail":…}, {"object":"error",…}    gateways
//
// Inner objects win over outer ones; depth bounds hostile nesting.
func (eb *errorBody) read(v any, depth int) {
	if depth > 4 {
		return
	}
	switch v := v.(type) {
	case string:
		firstOf(&eb.message, v)
	case []any:
		if len(v) > 0 {
			eb.read(v[0], depth+1)
		}
	case map[string]any:
		for _, wrapper := range [...]string{"response", "error", "errors"} {
			if inner, ok := v[wrapper]; ok {
				eb.read(inner, depth+1)
			}
		}
		eb.fields(v, depth)
	}
}

func (eb *errorBody) fields(v map[string]any, depth int) {
	for _, key := range [...]string{"message", "Message", "detail", "msg", "error_message"} {
		switch m := v[key].(type) {
		case string:
			firstOf(&eb.message, m)
		case []any, map[string]any: // FastAPI: a list of {"msg":…}
			eb.read(m, depth+1)
		}
	}
	if t := scalarText(v["type"]); t != "error" && !strings.HasPrefix(t, "response.") {
		firstOf(&eb.typ, t)
	}
	firstOf(&eb.typ, scalarText(v["__type"]))
	firstOf(&eb.code, scalarText(v["code"]))
	firstOf(&eb.param, scalarText(v["param"]))
	firstOf(&eb.status, scalarText(v["status"]))
	firstOf(&eb.request, scalarText(v["request_id"]))
	firstInt(&eb.used, v["n_prompt_tokens"])
	firstInt(&eb.limit, v["n_ctx"])
	switch d := v["details"].(type) {
	case map[string]any: // Anthropic
		if c := scalarText(d["error_code"]); c != "" {
			eb.code = c
		}
	case []any: // Gemini
		for _, e := range d {
			if m, ok := e.(map[string]any); ok {
				firstOf(&eb.delay, scalarText(m["retryDelay"]))
			}
		}
	}
	if meta, ok := v["metadata"].(map[string]any); ok { // OpenRouter wraps the real error
		eb.wrapped(scalarText(meta["raw"]), depth)
	}
}

// wrapped takes over an error that a gateway put into its own as text.
func (eb *errorBody) wrapped(raw string, depth int) {
	if raw == "" {
		return
	}
	firstOf(&eb.extra, raw)
	var v any
	if json.Unmarshal([]byte(raw), &v) != nil {
		return
	}
	var inner errorBody
	inner.read(v, depth+1)
	eb.message = cmp.Or(inner.message, eb.message)
	eb.typ, eb.code, eb.param = cmp.Or(inner.typ, eb.typ), cmp.Or(inner.code, eb.code), cmp.Or(inner.param, eb.param)
}

// firstOf gives a field its first non-empty value.
func firstOf(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

func firstInt(field *int, v any) {
	if f, ok := v.(float64); ok && *field == 0 && f >= 1 && f <= maxTokens {
		*field = int(f)
	}
}

// scalarText reads a value that is a string with some providers and a number with others.
func scalarText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}
