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

// checkError classifies an error. Tokens are used, output, limit and over.
func checkError(t *testing.T, status int, body string, want model.ErrorKind, tokens [4]int) {
	t.Helper()
	got := model.ClassifyError(status, "", []byte(body))
	if got.Kind != want {
		t.Errorf("kind %v, want %v (message %q)", got.Kind, want, got.Message)
	}
	if has := [4]int{got.Used, got.Output, got.Limit, got.Over}; has != tokens {
		t.Errorf("tokens (used, output, limit, over) %v, want %v", has, tokens)
	}
	if string(got.Body) != body {
		t.Error("body was changed")
	}
	if got.Error() == "" || strings.Contains(got.Error(), "\n") {
		t.Errorf("error text %q is not one line", got.Error())
	}
}

var none [4]int // tokens are told

// refusal is an error that tells no numbers of tokens.
type refusal struct {
	name   string
	status int
	body   string
}

func checkKind(t *testing.T, want model.ErrorKind, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { checkError(t, c.status, c.body, want, none) })
	}
}

func TestClassifyOverflow(t *testing.T) {
	inv := func(msg string) string { return anthropicError("invalid_request_error", msg) }
	plain := func(msg string) string { return `{"error":{"message":` + jsonQuote(msg) + `}}` }
	for _, c := range []struct {
		name   string
		status int
		body   string
		tokens [4]int
	}{
		{"anthropic", 400, inv("prompt is too long: 213462 tokens > 200000 maximum"), [4]int{213462, 0, 200000, 13462}},
		{"anthropic with output", 400, inv("input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again"), [4]int{178959, 64000, 200000, 42959}},
		{
			"anthropic in a stream", 200, inv("prompt is too long: 213462 tokens > 200000 maximum"),
			[4]int{213462, 0, 200000, 13462},
		},
		{
			"anthropic as an event", 200,
			"event: error\ndata: " + inv("prompt is too long: 213462 tokens > 200000 maximum") + "\n\n",
			[4]int{213462, 0, 200000, 13462},
		},
		{"gateway token", 400, inv("capability_rejected: prompt_too_long"), none},
		{"openai messages", 400, openaiError("This model's maximum context length is 128000 tokens. However, your messages resulted in 130123 tokens. Please reduce the length of the messages.", "messages", `"context_length_exceeded"`), [4]int{130123, 0, 128000, 2123}},
		{"openai with completion", 400, openaiError("This model's maximum context length is 4096 tokens. However, you requested 4120 tokens (3120 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.", "messages", `"context_length_exceeded"`), [4]int{3120, 1000, 4096, 24}},
		{"openai with functions", 400, openaiError("This model's maximum context length is 4096 tokens. However, you requested 4120 tokens (3020 in the messages, 100 in the functions, and 1000 in the completion).", "messages", `"context_length_exceeded"`), [4]int{3020, 1000, 4096, 0}},
		{"openai configured limit", 400, openaiError("Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300007 tokens. Please reduce the length of the messages.", "messages", `"context_length_exceeded"`), [4]int{300007, 0, 272000, 28007}},
		{"openai configured limit, large", 400, openaiError("Input tokens exceed the configured limit of 922000 tokens. Your messages resulted in 950000 tokens. Please reduce the length of the messages.", "messages", `"context_length_exceeded"`), [4]int{950000, 0, 922000, 28000}},
		{
			"openai no numbers", 400,
			openaiError("Your input exceeds the context window of this model. Please adjust your input and try again.",
				"input", `"context_length_exceeded"`), none,
		},
		{
			"openai by words alone", 400,
			openaiError("Your input exceeds the context window of this model. Please adjust your input and try again.",
				"input", `null`), none,
		},
		{"openai by code alone", 400, `{"error":{"code":"context_length_exceeded"}}`, none},
		{"responses error event", 200, `{"type":"error","sequence_number":3,"code":"context_length_exceeded","message":"Your input exceeds the context window of this model. Please adjust your input and try again.","param":"input"}`, none},
		{"responses failed event", 200, `{"type":"response.failed","sequence_number":3,"response":{"id":"resp_1","object":"response","status":"failed","error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model. Please adjust your input and try again."}}}`, none},
		{"gemini", 400, `{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}`, [4]int{1196265, 0, 1048575, 147690}},
		{"gemini in an array", 400, `[{"error":{"code":400,"message":"The input token count (1,196,265) exceeds the maximum number of tokens allowed (1,048,575).","status":"INVALID_ARGUMENT"}}]`, [4]int{1196265, 0, 1048575, 147690}},
		{"ollama", 400, `{"error":"the prompt is longer than the context length currently available to the model; shorten the prompt, adjust the context length in settings, or use a model with a longer context length"}`, none},
		{
			"ollama by", 400, `{"error":"prompt too long; exceeded max context length by 812 tokens"}`,
			[4]int{0, 0, 0, 812},
		},
		{"ollama embeddings", 400, `{"error":"the input length exceeds the context length"}`, none},
		{"llama.cpp", 400, `{"error":{"code":400,"message":"request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`, [4]int{5000, 0, 4096, 904}},
		{"llama.cpp by fields alone", 400, `{"error":{"code":400,"message":"no","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`, [4]int{5000, 0, 4096, 904}},
		{
			"llama.cpp not splittable", 500,
			plain("input (5000 tokens) is larger than the max context size (4096 tokens). skipping"),
			[4]int{5000, 0, 4096, 904},
		},
		{"vllm", 400, `{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 1 output tokens and your prompt contains at least 4096 input tokens, for a total of at least 4097 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=4096)","type":"BadRequestError","param":"input_tokens","code":400}}`, [4]int{4096, 1, 4096, 1}},
		{"vllm characters", 400, `{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 100 output tokens and your prompt contains 999999 characters (more than 511488 characters, which is the upper bound for 3996 input tokens).","type":"BadRequestError","param":"input_text","code":400}}`, [4]int{0, 100, 4096, 0}},
		{
			"vllm by parameter alone", 400,
			`{"error":{"message":"no","type":"BadRequestError","param":"input_tokens","code":400}}`, none,
		},
		{
			"xai", 400, plain("This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
			[4]int{537812, 0, 131072, 406740},
		},
		{"groq", 400, plain("Please reduce the length of the messages or completion."), none},
		{"openrouter", 400, plain("This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (138000 of text input, 2000 in the output)."), [4]int{138000, 2000, 131072, 8928}},
		{
			"openrouter limit only", 400, plain("This endpoint's maximum context length is 131072 tokens."),
			[4]int{0, 0, 131072, 0},
		},
		{
			"openrouter input length", 400, plain("Prompt exceeds the maximum allowed input length of 65536 tokens"),
			[4]int{0, 0, 65536, 0},
		},
		{"openrouter wrapped", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 213462 tokens > 200000 maximum\"}}","provider_name":"x"}}}`, [4]int{213462, 0, 200000, 13462}},
		{
			"together", 400,
			plain("The input (40000 tokens) is longer than the model's context length (32768 tokens)."),
			[4]int{40000, 0, 32768, 7232},
		},
		{"lm studio", 400, plain("The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length"), none},
		{
			"copilot", 400, plain("prompt token count of 130000 exceeds the limit of 128000"),
			[4]int{130000, 0, 128000, 2000},
		},
		{"limit of", 400, plain("This request exceeds the limit of 128000."), [4]int{0, 0, 128000, 0}},
		{"minimax", 400, plain("invalid params, context window exceeds limit (2013)"), none},
		{
			"kimi", 400, plain("Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)"),
			[4]int{300000, 0, 262144, 37856},
		},
		{"kimi short", 400, plain("exceeded model token limit"), none},
		{"mistral", 400, `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","code":3051}`, [4]int{0, 0, 32768, 0}},
		{"z.ai", 400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, none},
		{"z.ai words", 400, plain("Prompt too long"), none},
		{"dashscope", 400, plain("Range of input length should be [1, 98304]"), [4]int{0, 0, 98304, 0}},
		{"bedrock", 400, `{"message":"Input is too long for requested model."}`, none},
		{"litellm", 400, plain("litellm.ContextWindowExceededError: litellm.BadRequestError: prompt is too long: 213462 tokens > 200000 maximum"), [4]int{213462, 0, 200000, 13462}},
		{"litellm alone", 400, plain("litellm.ContextWindowExceededError: no"), none},
		{
			"maximum context length of", 400,
			plain("The request exceeds the model's maximum context length of 32768 tokens"),
			[4]int{0, 0, 32768, 0},
		},
		{
			"maximum context length in brackets", 400, plain("Input exceeds maximum context length (32768)"),
			[4]int{0, 0, 32768, 0},
		},
		{
			"configured context size", 400, plain("prompt has 9000 tokens, but the configured context size is 8192"),
			[4]int{9000, 0, 8192, 808},
		},
		{
			"TGI, with the answer", 422,
			"{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be " +
				"<= 2048. Given: 3474 `inputs` tokens and 60 `max_new_tokens`\",\"error_type\":\"validation\"}",
			[4]int{3474, 60, 2048, 1486},
		},
		{
			"TGI", 422,
			"{\"error\":\"Input validation error: `inputs` must have less than 1024 tokens. Given: 1168\"," +
				"\"error_type\":\"validation\"}",
			[4]int{1168, 0, 1024, 144},
		},
		{
			"LM Studio", 400,
			`{"error":"Trying to keep the first 111490 tokens when context the overflows. However, ` +
				`the model is loaded with context length of only 32768 tokens, which is not enough."}`,
			[4]int{111490, 0, 32768, 78722},
		},
		{
			"maximum model length", 400, plain("The decoder prompt is longer than the maximum model length of 4096"),
			[4]int{0, 0, 4096, 0},
		},
		{"too many tokens", 400, plain("too many tokens in prompt"), none},
		{"token limit exceeded", 400, plain("Token limit exceeded"), none},
		{"finish reason", 400, plain("model_context_window_exceeded"), none},
		{"plain text", 400, "prompt is too long: 213462 tokens > 200000 maximum", [4]int{213462, 0, 200000, 13462}},
		{"cerebras 400", 400, "", none},
		{"empty object", 400, "{}", none},
		{
			"413 about tokens", 413, plain("prompt is too long: 213462 tokens > 200000 maximum"),
			[4]int{213462, 0, 200000, 13462},
		},
	} {
		t.Run(c.name, func(t *testing.T) { checkError(t, c.status, c.body, model.ErrorTooLong, c.tokens) })
	}
	checkKind(t, model.ErrorTooLarge, []refusal{
		{"copilot 413", 413, plain("failed to parse request")},
		{"cerebras 413", 413, ""},
		{"anthropic size", 413, anthropicError("request_too_large", "Request exceeds the maximum size")},
		{"cloudflare", 413, "<html><head><title>413 Payload Too Large</title></head></html>"},
		{
			"image", 400,
			inv("messages.3.content.0.image.source.base64: image exceeds 5 MB maximum: 9437184 bytes > 5242880 bytes"),
		},
	})
}

// What sounds like overflow and is not.
func TestClassifyNotOverflow(t *testing.T) {
	plain := func(msg string) string { return `{"error":{"message":` + jsonQuote(msg) + `}}` }
	checkKind(t, model.ErrorRateLimited, []refusal{
		{"bedrock throttling", 400, plain("Too many tokens, please wait before trying again.")},
		{"too many requests", 400, plain("Too many requests: token limit exceeded")},
		{
			"rate limit", 429,
			plain("Rate limit reached for gpt-6-sol on tokens per min (TPM): Limit 30000, Requested 45000."),
		},
		{"groq 413", 413, `{"error":{"message":"Request too large for model x on tokens per minute (TPM): Limit 6000, Requested 9000","type":"tokens","code":"rate_limit_exceeded"}}`},
		{"throttling error", 400, "Throttling error: too many tokens"},
	})
	checkKind(t, model.ErrorServer, []refusal{{"service unavailable", 400, "Service unavailable: too many tokens"}})
	checkKind(t, model.ErrorInvalid, []refusal{
		{
			"output limit", 400,
			anthropicError("invalid_request_error",
				"max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens"),
		},
	})
}

// What is malformed is not taken for anything that waiting or folding would mend.
func TestClassifyMalformed(t *testing.T) {
	inv := func(msg string) string { return anthropicError("invalid_request_error", msg) }
	checkKind(t, model.ErrorThinkingBinding, []refusal{{"binding", 400, inv(bindingText)}})
	checkKind(t, model.ErrorInvalid, []refusal{
		{"modified", 400, inv("messages.3.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.")},
		{"signature", 400, inv("messages.1.content.0: Invalid `signature` in `thinking` block")},
		{
			"gemini invalid signature", 400,
			`{"error":{"code":400,"message":"Invalid thought signature","status":"INVALID_ARGUMENT"}}`,
		},
		{
			"gemini corrupted signature", 400,
			`{"error":{"code":400,"message":"Corrupted thought signature.","status":"INVALID_ARGUMENT"}}`,
		},
		{"gemini missing signature", 400, `{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly. Additional data, function call ` + "`default_api:X`" + `, position 2.","status":"INVALID_ARGUMENT"}}`},
		{"encrypted", 400, `{"error":{"code":"invalid_encrypted_content","message":"The encrypted content gAAA could not be verified. Reason: Encrypted content could not be decrypted or parsed."}}`},
		{
			"reasoning alone", 400,
			openaiError("Item 'rs_1' of type 'reasoning' was provided without its required following item.",
				"input", "null"),
		},
		{
			"call without reasoning", 400,
			openaiError(
				"Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
				"input", "null"),
		},
		{
			"message without reasoning", 400,
			openaiError("Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'.",
				"input", "null"),
		},
		{"missing result", 400, inv("messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next message.")},
		{"orphan result", 400, inv("messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.")},
		{"double result", 400, inv("messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: toolu_1")},
		{"double id", 400, inv("messages.2.content.1: `tool_use` ids must be unique")},
		{"orphan server result", 400, inv("messages.2.content.0: unexpected `tool_use_id` found in `advisor_tool_result` blocks: srvtoolu_1. Each `advisor_tool_result` block must have a corresponding `server_tool_use` block before it.")},
		{"open server tool", 400, inv("`web_search` tool use with id `srvtoolu_1` was found without a corresponding `web_search_tool_result` block")},
		{"chat missing", 400, openaiError("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1", "messages.[6].role", "null")},
		{"deepseek missing", 400, openaiError("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (insufficient tool messages following tool_calls message)", "", "null")},
		{"chat orphan", 400, openaiError("Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", "messages.[3].role", "null")},
		{"responses missing", 400, openaiError("No tool output found for function call call_1.", "input", "null")},
		{
			"responses orphan", 400,
			openaiError("No tool call found for function call output with call_id call_1.", "input", "null"),
		},
		{"gemini call", 400, `{"error":{"code":400,"message":"Please ensure that function call turn comes immediately after a user turn or after a function response turn.","status":"INVALID_ARGUMENT"}}`},
		{"gemini response", 400, `{"error":{"code":400,"message":"Please ensure that function response turn comes immediately after a function call turn.","status":"INVALID_ARGUMENT"}}`},
		{"gemini parts", 400, `{"error":{"code":400,"message":"Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.","status":"INVALID_ARGUMENT"}}`},
	})
	checkKind(t, model.ErrorNotFound, []refusal{
		{
			"previous response", 400,
			openaiError("Previous response with id 'resp_1' not found.", "previous_response_id",
				`"previous_response_not_found"`),
		},
		{
			"previous response on a socket", 200,
			`{"type":"error","status":400,"error":{"code":"previous_response_not_found"}}`,
		},
		{"not persisted", 404, openaiError("Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", "input", "null")},
	})
}

func TestClassifyOther(t *testing.T) {
	inv := func(msg string) string { return anthropicError("invalid_request_error", msg) }
	checkKind(t, model.ErrorAuth, []refusal{
		{"auth", 401, anthropicError("authentication_error", "invalid x-api-key")},
		{"openai key", 401, openaiError("Incorrect API key provided: sk-x.", "", `"invalid_api_key"`)},
	})
	checkKind(t, model.ErrorBilling, []refusal{
		{"billing", 402, anthropicError("billing_error", "no")},
		{"credit", 400, inv("Your credit balance is too low to access the API.")},
		{"quota", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`},
	})
	checkKind(t, model.ErrorPermission, []refusal{{"permission", 403, anthropicError("permission_error", "no")}})
	checkKind(t, model.ErrorNotFound, []refusal{
		{"not found", 404, anthropicError("not_found_error", "model: claude-x")},
	})
	checkKind(t, model.ErrorServer, []refusal{
		{"conflict", 409, anthropicError("conflict_error", "no")},
		{"server", 500, anthropicError("api_error", "Internal server error")},
		{
			"responses server error", 200,
			`{"type":"response.failed","response":{"error":{"code":"server_error","message":"no"}}}`,
		},
		{"batch size", 500, `{"error":{"code":500,"message":"input is too large to process. increase the physical batch size","type":"server_error"}}`},
		{"html", 502, "<html><body><h1>502 Bad Gateway</h1></body></html>"},
		{"empty 500", 500, ""},
	})
	checkKind(t, model.ErrorRateLimited, []refusal{
		{"rate", 429, anthropicError("rate_limit_error", "no")},
		{
			"gemini rate", 429,
			`{"error":{"code":429,"message":"Resource has been exhausted","status":"RESOURCE_EXHAUSTED"}}`,
		},
		{
			"responses rate", 200,
			`{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"no"}}}`,
		},
	})
	checkKind(t, model.ErrorTimeout, []refusal{{"timeout", 504, anthropicError("timeout_error", "no")}})
	checkKind(t, model.ErrorOverloaded, []refusal{
		{"overloaded", 529, anthropicError("overloaded_error", "Overloaded")},
		{"overloaded in a stream", 200, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
		{"compaction unavailable", 529, `{"type":"error","error":{"type":"overloaded_error","message":"no","details":{"error_code":"compaction_unavailable"}}}`},
	})
	checkKind(t, model.ErrorInvalid, []refusal{
		{"compaction misplaced", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"no","details":{"error_code":"compaction_block_misplaced"}}}`},
		{"beta header", 400, inv("thinking.adaptive.block_binding: Extra inputs are not permitted")},
		{"forced tool", 400, inv(`tool_choice: type "tool" and "any" are not supported for this model.`)},
		{"system role", 400, inv("role 'system' is not supported on this model")},
		{
			"prefill", 400,
			inv("This model does not support assistant message prefill. The conversation must end with a user message."),
		},
		{"empty text", 400, inv("messages: text content blocks must be non-empty")},
		{
			"empty message", 400,
			inv("messages.4: all messages must have non-empty content except for the optional final assistant message"),
		},
		{"empty marker", 400, inv("messages.4.content.0.text: cache_control cannot be set for empty text blocks")},
		{"bad id", 400, inv("messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")},
		{
			"error result", 400,
			inv("messages.2.content.0.tool_result: all content must be type `text` if `is_error` is true"),
		},
		{"markers", 400, inv("A maximum of 4 blocks with cache_control may be provided. Found 5.")},
		{"ttl order", 400, inv("messages.15.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.")},
		{"trigger", 400, openaiError("The 'compaction_trigger' item must be the final input item.", "input", "null")},
		{"fastapi", 422, `{"detail":[{"loc":["body"],"msg":"field required","type":"value_error.missing"}]}`},
	})
	checkKind(t, model.ErrorRefused, []refusal{
		{
			"responses prompt", 200,
			`{"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"no"}}}`,
		},
	})
	checkKind(t, model.ErrorUnknown, []refusal{{"nothing", 0, ""}})
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
			difftest.Equal(t, c.want, got)
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
