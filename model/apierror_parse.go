package model

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
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
	v := jsonspan.Value(body)
	if v.Valid(jsonspan.Invalid) != nil {
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
func (eb *errorBody) read(v jsonspan.Value, depth int) {
	if depth > 5 {
		return
	}
	switch v.Kind() {
	case jsonspan.String:
		firstOf(&eb.message, v.Text())
	case jsonspan.Array:
		eb.read(v.Get(0), depth+1)
	case jsonspan.Object:
		for _, wrapper := range [...]string{"response", "error", "errors"} {
			eb.read(v.Get(wrapper), depth+1)
		}
		eb.fields(v, depth)
	}
}

func (eb *errorBody) fields(v jsonspan.Value, depth int) {
	for _, key := range [...]string{"message", "Message", "detail", "msg", "error_message"} {
		eb.read(v.Get(key), depth+1) // FastAPI: a list of {"msg":…}
	}
	if t := scalarText(v.Get("type")); t != "error" && !strings.HasPrefix(t, "response.") {
		firstOf(&eb.typ, t)
	}
	firstOf(&eb.typ, scalarText(v.Get("__type")))
	firstOf(&eb.code, scalarText(v.Get("code")))
	firstOf(&eb.param, scalarText(v.Get("param")))
	firstOf(&eb.status, scalarText(v.Get("status")))
	firstOf(&eb.request, scalarText(v.Get("request_id")))
	firstInt(&eb.used, v.Get("n_prompt_tokens"))
	firstInt(&eb.limit, v.Get("n_ctx"))
	details := v.Get("details")
	eb.code = cmp.Or(scalarText(details.Get("error_code")), eb.code) // Anthropic
	for e := range details.Elements() {                              // Gemini
		firstOf(&eb.delay, scalarText(jsonspan.Value(e.Of(details)).Get("retryDelay")))
	}
	eb.wrapped(scalarText(v.Get("metadata", "raw")), depth) // OpenRouter wraps the real error
}

// wrapped takes over an error that a gateway put into its own as text.
func (eb *errorBody) wrapped(raw string, depth int) {
	firstOf(&eb.extra, raw)
	v := jsonspan.Value(raw)
	if v.Valid(jsonspan.Invalid) != nil {
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

func firstInt(field *int, v jsonspan.Value) {
	if n := v.Int(); *field == 0 && n >= 1 && n <= maxTokens {
		*field = n
	}
}

// scalarText reads a value that is a string with some providers and a number with others.
func scalarText(v jsonspan.Value) string {
	if v.Kind() == jsonspan.Number {
		return string(v)
	}
	return v.Text()
}
