package gemini_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/gemini"
)

func TestClientRequests(t *testing.T) {
	hi := []transcript.Message{transcript.User("hi")}
	for _, tt := range []struct {
		name   string
		client gemini.Client
		req    model.Request
		url    string
		has    string
	}{
		{
			"streams",
			gemini.Client{},
			model.Request{Model: "m"},
			"/v1beta/models/m:streamGenerateContent?alt=sse",
			`"contents"`,
		},
		{
			"client's model",
			gemini.Client{BaseURL: "/v1beta/", Model: model.Model{ID: "own"}},
			model.Request{},
			"/v1beta/models/own:streamGenerateContent?alt=sse", "",
		},
		{
			"no way out of the path",
			gemini.Client{},
			model.Request{Model: "../x?y"},
			"/v1beta/models/..%2Fx%3Fy:streamGenerateContent?alt=sse", "",
		},
		{
			"answer as long as it gets",
			gemini.Client{},
			model.Request{Model: "gemini-2.5-pro", MaxTokens: 1 << 20},
			"",
			`"maxOutputTokens":65536`,
		},
		{
			"extra",
			gemini.Client{Extra: []byte(`{"safetySettings":[]}`)},
			model.Request{Model: "m"},
			"",
			`,"safetySettings":[]}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var url, body, key string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				data, _ := io.ReadAll(r.Body)
				url, body, key = r.URL.String(), string(data), r.Header.Get("X-Goog-Api-Key")
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, `{"candidates":[{"content":{"parts":[{"text":"Hello"}]},"finishReason":"STOP"}]}`)
			}))
			defer s.Close()
			tt.client.BaseURL, tt.client.Key, tt.req.Messages = s.URL+tt.client.BaseURL, "very-secret", hi
			reply, err := tt.client.Generate(t.Context(), &tt.req, nil)
			if err != nil || reply.Messages[0].Text() != "Hello" {
				t.Fatal(err)
			}
			if key != "very-secret" || tt.url != "" && url != tt.url || !strings.Contains(body, tt.has) {
				t.Errorf("%s %s", url, body)
			}
			if text := fmt.Sprintf("%v %+v %#v %d", tt.client, tt.client, &tt.client, tt.client); strings.Contains(text, "very-secret") {
				t.Errorf("%s shows the key", text)
			}
		})
	}
}

// What the model said goes back byte for byte: signatures, members that nobody knows, the
// form of numbers.
func TestClientBytes(t *testing.T) {
	const parts = `[{"text":"hm","thought":true},{"functionCall":{"name":"run","args":{"x": 1.0,"\u00e9":"\ud83d"}},"thoughtSignature":"c2\u006cn","new":true}]`
	var bodies []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(data))
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"candidates":[{"content":{"parts":`+strings.Replace(parts, `{"text":"hm","thought":true}`,
			`{"thought":true,"text":"hm"}`, 1)+`,"role":"model"},"finishReason":"STOP"}]}`)
	}))
	defer s.Close()
	c := gemini.Client{BaseURL: s.URL}
	req := &model.Request{Model: "m", Messages: []transcript.Message{transcript.User("go")}}
	reply, err := c.Generate(t.Context(), req, nil)
	if err != nil || reply.Stop != model.StopToolUse {
		t.Fatalf("%v, %v", reply.Stop, err)
	}
	req.Messages = append(append(req.Messages, reply.Messages...), transcript.Results(transcript.Result("run", "done")))
	if _, err := c.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	const want = `{"functionCall":{"name":"run","args":{"x": 1.0,"\u00e9":"\ud83d"}},"thoughtSignature":"c2\u006cn","new":true}]}`
	if !strings.Contains(bodies[1], want) {
		t.Errorf("sent back as\n%s", bodies[1])
	}
}

func ExampleClient() {
	// A server that answers as the provider does.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []string{
			`{"candidates":[{"content":{"parts":[{"text":"Paris"}],"role":"model"}}]}`,
			`{"candidates":[{"content":{"parts":[{"text":"."}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":2}}`,
		} {
			fmt.Fprintf(w, "data: %s\n\n", event)
		}
	}))
	defer server.Close()

	client := &gemini.Client{BaseURL: server.URL, Key: "from the environment of the program"}
	reply, err := client.Generate(context.Background(), &model.Request{
		Model:    "gemini-3.8-flash",
		Messages: []transcript.Message{transcript.User("What is the capital of France?")},
	}, func(d model.Delta) { fmt.Printf("%q ", d.Text) })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Messages[0].Text(), reply.Stop, reply.Usage.Prompt(), reply.Usage.Output)
	// Output:
	// "Paris" "." Paris. end 12 2
}

// A stub takes the place of a result; the bytes around it stay.
func ExampleRequest_Splice() {
	r, err := gemini.Decode([]byte(`{"contents":[{"role":"user","parts":[{"text":"Read it."}]},
  {"role":"model","parts":[{"functionCall":{"name":"read","args":{"path":"a"}},"thoughtSignature":"c2ln"}]},
  {"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"a long text"}}}]}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	view := transcript.Whole(len(r.Messages))
	view.Messages[2].Edits = []transcript.BlockEdit{{Block: 0, Text: "[folded]"}}
	out, err := r.Splice(view)
	fmt.Println(string(out), err)
	// Output:
	// {"contents":[{"role":"user","parts":[{"text":"Read it."}]},
	//   {"role":"model","parts":[{"functionCall":{"name":"read","args":{"path":"a"}},"thoughtSignature":"c2ln"}]},
	//   {"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"[folded]"}}}]}]} <nil>
}
