package model_test

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

func ExampleClassifyError() {
	body := `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"},"request_id":"req_1"}`
	err := model.ClassifyError(400, "", []byte(body))
	fmt.Println(err.Kind, err.Overflow(), err.Retryable())
	fmt.Println(err.Used, err.Limit, err.Over)
	fmt.Println(err)
	// Output:
	// too_long true false
	// 213462 200000 13462
	// model API error 400 (too long): prompt is too long: 213462 tokens > 200000 maximum [hint: fold more of the conversation and send it again] (request req_1)
}

// anthropicError and openaiError wrap a message as the two providers do.
func anthropicError(typ, msg string) string {
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%s},"request_id":"req_7"}`, typ, jsonQuote(msg))
}

func openaiError(msg, param, code string) string {
	return fmt.Sprintf(`{"error":{"message":%s,"type":"invalid_request_error","param":%q,"code":%s}}`, jsonQuote(msg),
		param, code)
}

func jsonQuote(s string) string { return transcript.Plain(s).Literal() }

// The providers' errors, in their own words: overflow, what sounds like it and is not, what is
// malformed and not taken for anything that waiting or folding would mend, and others.
func TestClassify(t *testing.T) {
	for _, file := range []string{"overflow", "not-overflow", "malformed", "other"} {
		for _, c := range difftest.Table[struct {
			Name   string
			Status int
			Body   string
			Want   string
			Tokens [4]int // used, output, limit, over
		}](t, "testdata/errors/"+file+".json") {
			t.Run(file+"/"+c.Name, func(t *testing.T) {
				got := model.ClassifyError(c.Status, "", []byte(c.Body))
				if got.Kind.String() != c.Want {
					t.Errorf("kind %v, want %v (message %q)", got.Kind, c.Want, got.Message)
				}
				if tokens := [4]int{got.Used, got.Output, got.Limit, got.Over}; tokens != c.Tokens {
					t.Errorf("tokens (used, output, limit, over) %v, want %v", tokens, c.Tokens)
				}
				if string(got.Body) != c.Body {
					t.Error("body was changed")
				}
				if got.Error() == "" || strings.Contains(got.Error(), "\n") {
					t.Errorf("error text %q is not one line", got.Error())
				}
			})
		}
	}
}

const bindingText = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". Content before this block differs from when it was created, first at `messages.0.content.0`."

func TestClassifyFields(t *testing.T) {
	for _, c := range []struct {
		name string
		body string
		want model.APIError
	}{
		{"binding", anthropicError("invalid_request_error", bindingText), model.APIError{
			Kind: model.ErrorThinkingBinding, Type: "invalid_request_error", RequestID: "req_7",
		}},
		{"compaction", `{"type":"error","error":{"type":"invalid_request_error","message":"m","details":{"error_code":"compaction_signature_invalid"}}}`, model.APIError{
			Kind: model.ErrorInvalid, Type: "invalid_request_error", Code: "compaction_signature_invalid",
		}},
		{"vllm", `{"error":{"message":"m","type":"BadRequestError","param":"input_tokens","code":400}}`, model.APIError{
			Kind: model.ErrorTooLong, Type: "BadRequestError", Code: "400",
		}},
		{"gemini", `{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}`, model.APIError{
			Kind: model.ErrorInvalid, Type: "INVALID_ARGUMENT", Code: "400",
		}},
		{"chat path", openaiError("messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", "messages.[3].role", "null"), model.APIError{
			Kind: model.ErrorInvalid, Type: "invalid_request_error",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.Status = 400
			got := *model.ClassifyError(400, "", []byte(c.body))
			got.Body, got.Message = nil, ""
			if d := difftest.Values(c.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		header, body string
		want         time.Duration
	}{
		{"", "", 0},
		{"30", "", 30 * time.Second},
		{"0.5", "", 500 * time.Millisecond},
		{"-1", "", 0},
		{"NaN", "", 0},
		{"1e300", "", 24 * time.Hour},
		{"soon", "", 0},
		{now.Add(time.Minute).Format(http.TimeFormat), "", time.Minute},
		{now.Add(-time.Minute).Format(http.TimeFormat), "", 0},
		{
			"",
			`{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"@type":"x","retryDelay":"34s"}]}}`,
			34 * time.Second,
		},
		{"", `{"error":{"message":"Rate limit reached. Please try again in 1.5s. Visit …"}}`, 1500 * time.Millisecond},
		{"", `{"error":{"message":"Rate limit reached. Please try again in 20ms."}}`, 20 * time.Millisecond},
		{"", `{"error":{"message":"Please retry after 2 minutes"}}`, 2 * time.Minute},
		{"7", `{"error":{"message":"Please try again in 20ms."}}`, 7 * time.Second},
	} {
		e := model.ClassifyError(429, c.header, []byte(c.body))
		if got := e.Wait(now); got != c.want {
			t.Errorf("Retry-After %q, body %q: wait %v, want %v", c.header, c.body, got, c.want)
		}
		if !e.Retryable() {
			t.Errorf("Retry-After %q, body %q: kind %v is not retryable", c.header, c.body, e.Kind)
		}
	}
}

func TestAPIErrorIsAnError(t *testing.T) {
	err := fmt.Errorf("ask model: %w", model.ClassifyError(529, "", nil))
	var api *model.APIError
	if !errors.As(err, &api) || !api.Retryable() || api.Overflow() {
		t.Errorf("got %v", api)
	}
	page := model.ClassifyError(502, "", []byte(strings.Repeat("<p>é ", 100_000)))
	if n := len(page.Error()); n > 1000 {
		t.Errorf("a page of HTML makes an error text of %d bytes", n)
	}
}

func FuzzClassifyError(f *testing.F) {
	f.Add(400, "5", []byte(openaiError("maximum context length is 5 tokens, resulted in 6 tokens", "", "400")))
	f.Add(200, "", []byte("event: error\ndata: "+anthropicError("overloaded_error", "Overloaded")))
	f.Add(413, "x", []byte(`[[[[[{"error":{"error":{"error":{"message":[{"msg":1e999}]}}}}]]]]]`))
	f.Add(400, "", []byte(`{"error":{"metadata":{"raw":"{\"error\":{\"metadata\":{\"raw\":\"x\"}}}"}}}`))
	f.Add(400, "", []byte("prompt is too long: 99999999999999999999 tokens > "+strconv.Itoa(1<<62)+" maximum"))
	f.Fuzz(func(t *testing.T, status int, retryAfter string, body []byte) {
		e := model.ClassifyError(status, retryAfter, body)
		if e == nil || e.Error() == "" {
			t.Fatal("no error")
		}
		if e.Overflow() && e.Retryable() {
			t.Errorf("%v is both overflow and retryable", e.Kind)
		}
		if min(e.Used, e.Output, e.Limit, e.Over) < 0 || e.RetryAfter < 0 {
			t.Errorf("negative numbers in %+v", e)
		}
	})
}
