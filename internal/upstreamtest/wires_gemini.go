package upstreamtest

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/relay"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/gemini"
)

// geminiFor is the Gemini wire for a request: the URL says which model is asked, and whether
// and how the answer is streamed.
func geminiFor(u *url.URL) *wire {
	name, method, _ := strings.Cut(path.Base(u.Path), ":")
	streams := method == "streamGenerateContent"
	return &wire{
		Wire: relay.Gemini, name: "gemini", prefix: "gem_",
		decode: func(body []byte, m model.Model) (*request, error) {
			if m.ID == "" {
				m, _ = model.DefaultModels().Lookup(name)
			}
			r, err := gemini.Decode(body)
			if err != nil {
				return nil, err
			}
			return &request{
				model: name, stream: streams && u.Query().Get("alt") == "sse", tools: r.Tools, messages: r.Messages,
				body:       string(body),
				violations: slices.Concat(texts(r.Check(m)), wrongIDs(r.Messages), split(r.Messages)),
			}, nil
		},
		whole: func(a answer) any {
			if streams { // without alt=sse it is an array
				return geminiChunks(a)
			}
			chunks := geminiChunks(a)
			last := chunks[len(chunks)-1]
			var parts []object
			for _, c := range chunks {
				parts = append(parts, c["candidates"].([]object)[0]["content"].(object)["parts"].([]object)...)
			}
			last["candidates"].([]object)[0]["content"] = object{"parts": parts, "role": "model"}
			return last
		},
		stream: func(s *stream, a answer, _ *request) {
			for _, c := range geminiChunks(a) {
				s.send("", c)
			}
		},
	}
}

// geminiChunks is an answer as it is streamed. Models before the third generation give calls
// neither ids nor signatures.
func geminiChunks(a answer) []object {
	old := strings.HasPrefix(a.model, "gemini-2")
	var lists [][]object
	if a.thinking != "" {
		lists = append(lists, []object{{"text": a.thinking, "thought": true}})
	}
	if half := len(a.text) / 2; half > 0 {
		lists = append(lists, []object{{"text": a.text[:half]}}, []object{{"text": a.text[half:]}})
	}
	var calls []object
	for i, c := range a.calls {
		call := object{"name": c.name, "args": json.RawMessage(c.input)}
		part := object{"functionCall": call}
		if !old {
			call["id"] = c.id
			if i == 0 {
				part["thoughtSignature"] = signature(c.id)
			}
		}
		calls = append(calls, part)
	}
	if len(calls) == 0 && !old { // the signature of an answer without calls comes last
		calls = []object{{"text": "", "thoughtSignature": signature(a.id)}}
	}
	if len(calls) > 0 {
		lists = append(lists, calls)
	}
	var out []object
	for i, parts := range lists {
		candidate := object{"content": object{"parts": parts, "role": "model"}, "index": 0}
		usage := object{"promptTokenCount": a.prompt, "cachedContentTokenCount": a.read, "totalTokenCount": a.prompt}
		if i == len(lists)-1 {
			candidate["finishReason"] = "STOP"
			usage["candidatesTokenCount"], usage["totalTokenCount"] = output(a), a.prompt+output(a)
		}
		out = append(out, object{
			"candidates": []object{candidate}, "usageMetadata": usage, "modelVersion": a.model,
			"responseId": a.id,
		})
	}
	return out
}

func signature(id string) string {
	return base64.StdEncoding.EncodeToString([]byte("signed, +/ <" + id + "> \xff\xfe"))
}

// wrongIDs finds signatures that did not come back beside the call that they were given for,
// and responses that have other ids than the calls before them.
func wrongIDs(msgs []transcript.Message) (out []string) {
	calls := make(map[string]int)
	for _, m := range msgs {
		for r := range results(m) {
			id := jsonspan.Value(r.Raw).Get("functionResponse", "id").Text()
			if calls[id]--; calls[id] < 0 {
				out = append(out, "id-unknown: "+id)
			}
		}
		clear(calls)
		for _, c := range m.Calls() {
			calls[jsonspan.Value(c.Raw).Get("functionCall", "id").Text()]++
			got := jsonspan.Value(c.Raw).Get("thoughtSignature").Text()
			if got != "" && got != "skip_thought_signature_validator" && got != signature(c.ID) {
				out = append(out, "signature-wrong: "+got+" beside "+c.ID)
			}
		}
	}
	return out
}
