package proxy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
)

// dialect is how a gateway or a server writes a wire, by its documentation and its SDKs' tests.
type dialect struct {
	on       *protocol.Protocol
	to       string // path; empty: the wire's own
	whole    string // the path of a request that is not streamed, if it is another one
	extra    string // members of each request
	thinking string // members of each answer of the model, which come back with its calls
	chunk    string // a member of each chunk and each whole answer
	first    string // before everything else
	comment  string // before each event
	last     string // before the end
	pad      string // before an answer that is not streamed
	crlf     bool
}

var hm = strings.Repeat("Let me think about the next step. ", 100)

var servers = map[string]dialect{
	"OpenRouter": {
		on: protocol.Chat, to: "/api/v1/chat/completions",
		extra:    `"provider":{"order":["x"]},"reasoning":{"effort":"high"},"transforms":["middle-out"]`,
		thinking: fmt.Sprintf(`"reasoning":%q,"reasoning_details":[{"type":"reasoning.text","text":%[1]q,"index":0}]`, hm),
		chunk:    `"provider":"X"`, comment: ": OPENROUTER PROCESSING\n\n",
		last: `data: {"id":"g","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],` +
			`"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14,"cost":0.1}}` + "\n\n",
	},
	"OpenRouter, Claude": {
		on: protocol.Chat, to: "/api/v1/chat/completions",
		thinking: `"reasoning_details":[{"type":"reasoning.encrypted","data":"c2lnbmVk","index":0}]`,
		comment:  ": OPENROUTER PROCESSING\n\n",
	},
	"OpenRouter, Responses": {on: protocol.Responses, to: "/api/v1/responses", comment: ": OPENROUTER PROCESSING\n\n"},
	"OpenRouter, Messages":  {on: protocol.Messages, to: "/api/v1/messages", chunk: `"provider":"X"`},
	"LiteLLM": {
		on: protocol.Chat, extra: `"metadata":{"tags":["x"]},"cache":{"no-cache":true}`,
		thinking: fmt.Sprintf(`"reasoning_content":%q,"provider_specific_fields":null,`+
			`"thinking_blocks":[{"type":"thinking","thinking":%[1]q,"signature":"c2lnbmVk"}]`, hm),
		comment: ": ping\n\n",
	},
	"Azure": {
		on: protocol.Chat, to: "/openai/deployments/gpt-5.4/chat/completions?api-version=2026-10-01",
		extra: `"data_sources":[]`,
		first: `data: {"choices":[],"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0}]}` + "\n\n",
		last: `data: {"choices":[{"content_filter_offsets":{"check_offset":9},"finish_reason":null,"index":0}],"id":""}` +
			"\n\n",
	},
	"Bedrock, Messages": {on: protocol.Messages, to: "/anthropic/v1/messages", extra: `"anthropic_beta":["x-1"]`},
	"Vertex, Messages": {
		on:    protocol.Messages,
		to:    "/v1/projects/p/locations/l/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict",
		whole: "/v1/projects/p/locations/l/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict",
		extra: `"anthropic_version":"vertex-2023-10-16"`,
	},
	"vLLM": {
		on: protocol.Chat, extra: `"chat_template_kwargs":{"enable_thinking":true},"min_p":0.1`,
		thinking: fmt.Sprintf(`"reasoning":%q`, hm),
		chunk:    `"prompt_token_ids":null,"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}`,
	},
	"SGLang": {
		on: protocol.Chat, extra: `"separate_reasoning":true`, thinking: fmt.Sprintf(`"reasoning_content":%q`, hm),
		chunk: `"metadata":null`,
	},
	"llama.cpp": {
		on: protocol.Chat, extra: `"cache_prompt":true,"timings_per_token":true`,
		thinking: fmt.Sprintf(`"reasoning_content":%q`, hm), chunk: `"timings":{"prompt_n":9}`, comment: ":\n\n",
	},
	"Ollama": {
		on: protocol.Chat, extra: `"options":{"num_ctx":24000},"keep_alive":"5m"`,
		thinking: fmt.Sprintf(`"reasoning":%q`, hm), chunk: `"system_fingerprint":"fp_ollama"`,
	},
	"DeepSeek": {
		on: protocol.Chat, to: "/chat/completions", extra: `"thinking":{"type":"enabled"}`,
		thinking: fmt.Sprintf(`"reasoning_content":%q`, hm), comment: ": keep-alive\n\n", pad: "\n\n\n",
	},
	"DeepSeek, Messages": {on: protocol.Messages, to: "/anthropic/v1/messages", comment: ": keep-alive\n\n", pad: "\n\n\n"},
	"xAI": {
		on: protocol.Chat, extra: `"search_parameters":{"mode":"auto"}`,
		thinking: fmt.Sprintf(`"reasoning_content":%q`, hm), chunk: `"citations":[]`, crlf: true,
	},
	"xAI, Responses": {on: protocol.Responses, extra: `"include":["reasoning.encrypted_content"]`, chunk: `"citations":[]`},
}

// serve answers as the server does, with what to says. It wants the members of its own requests, and unsigned
// thinking with the calls that it gave.
func (d *dialect) serve(t *testing.T, to http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !bytes.Contains(body, []byte(d.extra)) {
			t.Errorf("a request lacks %s", d.extra)
		}
		var sent struct{ Messages []json.RawMessage }
		must(t, json.Unmarshal(body, &sent))
		for i, m := range sent.Messages {
			if d.thinking != "" && bytes.Contains(m, []byte(`"tool_calls":[`)) {
				for _, want := range d.members() {
					if !bytes.Contains(m, []byte(want)) && !strings.Contains(d.thinking, "c2lnbmVk") {
						t.Errorf("message %d has calls without %.60s: %.300s", i, want, m)
					}
				}
			}
		}
		r.Body, r.URL.Path = io.NopCloser(bytes.NewReader(body)), pathOf(d.on, "", false)
		rec := httptest.NewRecorder()
		to.ServeHTTP(rec, r)
		out := rec.Body.String()
		w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
		w.WriteHeader(rec.Code)
		if rec.Code == http.StatusOK {
			out = d.written(out, strings.HasPrefix(rec.Header().Get("Content-Type"), "text/event-stream"))
		}
		_, _ = io.WriteString(w, out)
	})
}

// members are those of the thinking, one by one.
func (d *dialect) members() []string {
	var all map[string]json.RawMessage
	_ = json.Unmarshal([]byte("{"+d.thinking+"}"), &all)
	var list []string
	for name, v := range all {
		if string(v) != "null" {
			list = append(list, fmt.Sprintf("%q:%s", name, v))
		}
	}
	return list
}

// written is an answer in the server's own words.
func (d *dialect) written(out string, streams bool) string {
	with := func(s, after, members string) string {
		if members == "" {
			return s
		}
		return strings.Replace(s, after, after+members+",", 1)
	}
	if !streams {
		return d.pad + with(with(out, `"message":{`, d.thinking), "{", d.chunk)
	}
	var b strings.Builder
	b.WriteString(d.first)
	out = with(out, `"delta":{`, d.thinking)
	for _, e := range strings.SplitAfter(out, "\n\n") {
		if strings.Contains(e, "[DONE]") || strings.Contains(e, "response.completed\n") {
			b.WriteString(d.last)
		}
		if e != "" {
			b.WriteString(d.comment + with(e, "data: {", d.chunk))
		}
	}
	if d.crlf {
		return strings.ReplaceAll(b.String(), "\n", "\r\n")
	}
	return b.String()
}

// strict is an SDK that parses the data of every event, and wants what the server adds.
func (d *dialect) strict(t *testing.T) http.RoundTripper {
	return roundTripFunc(func(r *http.Request) (*http.Response, error) {
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil || resp.StatusCode != http.StatusOK {
			return resp, err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body = io.NopCloser(bytes.NewReader(body))
		for line := range strings.Lines(string(body)) {
			data, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data:")
			if data = strings.TrimSpace(data); ok && data != "[DONE]" && !json.Valid([]byte(data)) {
				t.Errorf("the client got %q", line)
			}
		}
		streams := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
		for _, want := range []string{d.chunk, d.first, d.comment} {
			if (streams || want == d.chunk) && !bytes.Contains(bytes.ReplaceAll(body, []byte("\r"), nil), []byte(want)) {
				t.Errorf("a reply lacks %q: %.300s", want, body)
			}
		}
		return resp, err
	})
}

// Conversations with gateways and servers in their own forms go past the window, streamed and not, with hidden
// rounds: no request is illegal, what is unknown passes both ways, and thinking comes back with its calls.
func TestServers(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	for name, d := range servers {
		for _, streams := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%t", name, streams), func(t *testing.T) {
				t.Parallel()
				script := upstreamtest.New(upstreamtest.Options{
					Calls: 24, Bytes: 800, Limit: 8_000, RecallAt: 13, Beside: streams,
				})
				reports := newReports()
				url := start(t, d.serve(t, script), Options{Window: 8_000, Report: reports.add})
				a := newAgent(d.on, url, "Do all the steps.")
				a.streams, a.to, a.client = streams, d.to, &http.Client{Transport: d.strict(t)}
				if d.extra != "" {
					a.extra = "," + d.extra
				}
				if strings.HasPrefix(name, "Vertex") {
					a.key, a.header = "", http.Header{"Authorization": {"Bearer ya29.x"}}
				}
				if !streams {
					a.to = cmp.Or(d.whole, d.to)
				}
				for range 4 { // a person speaks now and then
					a.turns(t, 4)
					a.say(upstreamtest.GoOn)
				}
				a.run(t)
				wellBehaved(t, script.Log())
				recalled, folded := "", 0
				for _, x := range script.Log() {
					recalled = cmp.Or(recalled, x.Recalled)
					if x.Folded {
						folded++
					}
				}
				if last := script.Log()[len(script.Log())-1]; recalled != "exact" || folded < 5 || last.Step != 24 {
					t.Errorf("recalled %q, %d folded requests, step %d", recalled, folded, last.Step)
				}
				for _, r := range reports.wait(len(a.bodies)) {
					if r.Err != nil || r.Passed {
						t.Errorf("passed %t: %v", r.Passed, r.Err)
					}
				}
			})
		}
	}
}

// A conversation with thinking on Chat is folded and answered however small its window is. Unsigned thinking stays
// with its calls, as servers want it; signed thinking is left out whole.
func TestChatReasoning(t *testing.T) {
	for _, signed := range []string{"", `,"reasoning_details":[{"type":"reasoning.text","signature":"s"}]`} {
		up := &capture{to: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"id":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`)
		})}
		a := newAgent(protocol.Chat, start(t, up, Options{Window: 8_000}), "Look at the files.")
		a.streams = false
		for n := range 40 {
			a.ask(t)
			about := strings.Repeat("about it ", 150+37*n%500)
			a.history = append(a.history, fmt.Sprintf(`{"role":"assistant","content":null,"reasoning_content":%q%s,`+
				`"tool_calls":[{"id":"c%d","type":"function","function":{"name":"bash","arguments":"{}"}}]}`, about, signed, n),
				fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":%q}`, n, strings.Repeat("line of words\n", 40+61*n%300)))
			if n%3 == 2 {
				a.history = append(a.history, `{"role":"assistant","content":"Done.","reasoning_content":"Hm."`+signed+`}`)
				a.say("Now the next thing.")
			}
		}
		bare := 0
		for _, body := range up.all() {
			var sent struct {
				Messages []map[string]json.RawMessage
			}
			must(t, json.Unmarshal(body, &sent))
			for _, m := range sent.Messages {
				if m["tool_calls"] != nil && m["reasoning_content"] == nil {
					bare++
					if m["reasoning_details"] != nil {
						t.Errorf("half of the thinking is left: %s", m)
					}
				}
			}
		}
		if (bare > 0) != (signed != "") {
			t.Errorf("%d calls without thinking, signed: %q", bare, signed)
		}
	}
}
