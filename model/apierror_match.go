package model

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/internal/text"
)

// maxTokens bounds the numbers that are believed to be tokens.
const maxTokens = 1 << 40

// ClassifyError says what a provider's error means. Status is the HTTP status, 200 or 0
// for an error event inside a stream; retryAfter is the Retry-After header; body is the
// answer, or the event's data: in the form of any known provider, of any gateway, plain
// text, HTML, or nothing at all.
//
// A Retry-After in seconds becomes RetryAfter and a date becomes RetryAt, because this
// function has no clock; where there is no header, a delay named in the body counts.
//
// It never returns nil and never fails. It looks, by codes and by wording, first for
// billing, throttling and outages, then for thinking that does not verify and for requests
// that are too long. What is still not recognised is classified by the provider's type, and at last by
// status. Throttling comes before anything that looks like overflow, because "too many
// tokens, please wait" is not about the prompt's length.
func ClassifyError(status int, retryAfter string, body []byte) *APIError {
	eb := parseErrorBody(body)
	e := &APIError{
		Status: status, Message: eb.message, Type: cmp.Or(eb.typ, eb.status), Code: eb.code,
		RequestID: eb.request, Body: body,
	}
	e.retry(retryAfter, eb)
	words := e.Message
	if eb.extra != "" {
		words += "\n" + eb.extra
	}
	if len(words) > 1<<14 {
		words = words[:1<<14]
	}
	e.Kind = e.classify(eb, words)
	e.numbers(eb, words)
	return e
}

// classify applies the rules in order; the first that fits decides.
func (e *APIError) classify(eb errorBody, words string) ErrorKind {
	p := apiErrorPatterns()
	tag := strings.ToLower(e.Code + " " + e.Type)
	has := func(s string) bool { return strings.Contains(tag, s) }
	switch {
	case has("insufficient_quota"), has("billing"), p.billing.MatchString(words):
		return ErrorBilling
	case p.throttled.MatchString(words), has("rate_limit"), has("throttl"), has("resource_exhausted"):
		return ErrorRateLimited
	case p.unavailable.MatchString(words):
		return ErrorServer
	case has("context_length_exceeded"), has("exceed_context_size"), has("contextwindowexceeded"),
		has("model_context_window_exceeded"), e.Code == "1261",
		e.Type == "BadRequestError" && (eb.param == "input_tokens" || eb.param == "input_text"): // vLLM
		return ErrorTooLong
	case p.binding.MatchString(words):
		return ErrorThinkingBinding
	case p.image.MatchString(words), has("request_too_large"), has("request_entity_too_large"):
		return ErrorTooLarge
	case slices.ContainsFunc(p.long, func(re *regexp.Regexp) bool { return re.MatchString(words) }):
		return ErrorTooLong
	case e.Status == http.StatusRequestEntityTooLarge:
		return ErrorTooLarge
	case e.Status == http.StatusBadRequest && eb.empty:
		return ErrorTooLong // Cerebras refuses overlong prompts without a word
	}
	if k := kindOfType(tag); k != ErrorUnknown && !(k == ErrorInvalid && e.Status >= 401) {
		return k
	}
	return kindOfStatus(e.Status)
}

// typeKinds are the kinds by parts of the provider's types and codes; the first that fits
// decides.
var typeKinds = []struct {
	kind  ErrorKind
	parts []string
}{
	{ErrorOverloaded, []string{"overloaded", "unavailable"}},
	{ErrorTimeout, []string{"timeout", "deadline_exceeded"}},
	{ErrorAuth, []string{"authentication", "unauthenticated", "invalid_api_key", "unauthorized"}},
	{ErrorPermission, []string{"permission", "access_denied", "accessdenied"}},
	{ErrorNotFound, []string{"not_found"}},
	{ErrorRefused, []string{"content_filter", "content_policy", "invalid_prompt"}},
	{ErrorServer, []string{"api_error", "server_error", "internal", "conflict"}},
	{ErrorInvalid, []string{"invalid_request", "invalid_argument", "badrequest", "failed_precondition", "validation"}},
}

func kindOfType(tag string) ErrorKind {
	for _, t := range typeKinds {
		if slices.ContainsFunc(t.parts, func(part string) bool { return strings.Contains(tag, part) }) {
			return t.kind
		}
	}
	return ErrorUnknown
}

var statusKinds = map[int]ErrorKind{
	401: ErrorAuth, 402: ErrorBilling, 403: ErrorPermission, 404: ErrorNotFound, 408: ErrorTimeout,
	429: ErrorRateLimited,
	409: ErrorServer, // a conflict with another request; the same bytes may succeed now
	503: ErrorOverloaded, 504: ErrorTimeout, 529: ErrorOverloaded,
}

func kindOfStatus(status int) ErrorKind {
	kind := statusKinds[status]
	switch {
	case kind != ErrorUnknown:
		return kind
	case status >= 500:
		return ErrorServer
	case status >= 400:
		return ErrorInvalid
	}
	return ErrorUnknown
}

// numbers fills in the tokens from the first wording that has any.
func (e *APIError) numbers(eb errorBody, words string) {
	if e.Kind != ErrorTooLong {
		return
	}
	e.Used, e.Limit = eb.used, eb.limit
	for _, re := range apiErrorPatterns().long {
		m := re.FindStringSubmatch(words)
		if m == nil || re.NumSubexp() == 0 {
			continue
		}
		for i, name := range re.SubexpNames() {
			n := tokenNumber(m[i])
			switch name {
			case "used":
				e.Used = max(e.Used, n)
			case "limit":
				e.Limit = max(e.Limit, n)
			case "out":
				e.Output = n
			case "over":
				e.Over = n
			}
		}
		break
	}
	if e.Over == 0 && e.Used > 0 && e.Limit > 0 {
		e.Over = max(e.Used+e.Output-e.Limit, 0)
	}
}

// tokenNumber reads a number with or without separators; absurd ones are 0.
func tokenNumber(s string) int {
	n, err := strconv.ParseInt(strings.NewReplacer(",", "", "_", "").Replace(s), 10, 64)
	if err != nil || n > maxTokens {
		return 0
	}
	return int(n)
}

// maxRetryAfter bounds what is believed: nobody waits longer than a day.
const maxRetryAfter = 24 * time.Hour

func (e *APIError) retry(header string, eb errorBody) {
	if header = strings.TrimSpace(header); header != "" {
		if secs, err := strconv.ParseFloat(header, 64); err == nil {
			e.RetryAfter = retrySeconds(secs)
		} else if t, err := http.ParseTime(header); err == nil {
			e.RetryAt = t
		}
		return
	}
	delay := eb.delay
	if m := apiErrorPatterns().delay.FindStringSubmatch(text.OneLine(eb.message, 1<<12)); m != nil {
		delay = cmp.Or(delay, strings.ToLower(m[1]+m[2]))
	}
	if d, err := time.ParseDuration(delay); err == nil {
		e.RetryAfter = min(max(d, 0), maxRetryAfter)
	}
}

// retrySeconds makes a duration of a number that may be anything.
func retrySeconds(n float64) time.Duration {
	if !(n > 0) { // also not a number
		return 0
	}
	return time.Duration(min(n, maxRetryAfter.Seconds()) * float64(time.Second))
}

// errorPatterns holds the wordings, compiled when the first error arrives.
type errorPatterns struct {
	throttled, unavailable, billing, binding, image, delay *regexp.Regexp
	long                                                   []*regexp.Regexp
}

var apiErrorPatterns = sync.OnceValue(func() *errorPatterns {
	ci := func(alternatives ...string) *regexp.Regexp {
		return regexp.MustCompile("(?is)" + strings.ReplaceAll(strings.Join(alternatives, "|"), `#`, `[0-9][0-9,_]*`))
	}
	p := &errorPatterns{
		throttled:   ci(`rate limit|too many requests|too many tokens,? please wait|^throttling error:`),
		unavailable: ci(`^service unavailable:`),
		billing: ci(`credit balance is too low|exceeded your current quota|spend(ing)? (limit|cap)`,
			`insufficient (credits|balance|funds)`),
		binding: ci(`bound to a different conversation`),
		image: ci(`(image|pdf|file|document)s? (exceeds?|is larger than) # ?([kmg]i?b|bytes)`,
			`request exceeds the maximum (allowed )?(size|number of bytes)|request entity too large|payload too large`),
		delay: ci(`(?:try again|retry) (?:in|after) ([0-9.]+) ?(ms|s|m)(?:|ec|econds?|in|inutes?)\b`),
	}
	for _, s := range overflowPatterns {
		p.long = append(p.long, ci(s))
	}
	return p
})

// overflowPatterns recognise a prompt with too many tokens, and take the numbers where
// there are any. '#' stands for a number. A pattern that takes numbers comes before the
// general one for the same words.
var overflowPatterns = []string{
	// Anthropic
	`prompt is too long: (?P<used>#) tokens > (?P<limit>#) maximum`,
	"input length and `?max_tokens`? exceed context limit: (?P<used>#) \\+ (?P<out>#) > (?P<limit>#)",
	// OpenAI and compatible
	`maximum context length is (?P<limit>#) tokens.*requested (?:about )?# tokens \((?P<used>#) (?:in the messages|of text input|in your prompt)[^)]*?(?P<out>#) (?:in|for) the (?:completion|output)`,
	`maximum context length is (?P<limit>#) tokens.*requested (?P<out>#) output tokens and your prompt contains (?:at least )?(?P<used>#) input tokens`,
	`maximum context length is (?P<limit>#) tokens.*requested (?P<out>#) output tokens and your prompt contains # characters`,
	`maximum context length is (?P<limit>#) tokens.*resulted in (?P<used>#) tokens`,
	`maximum context length is (?P<limit>#) tokens.*requested (?:about )?(?P<used>#) tokens`,
	`prompt contains # characters \(more than # characters, which is the upper bound for (?P<limit>#) input tokens`,
	`input tokens exceed the configured limit of (?P<limit>#) tokens.*resulted in (?P<used>#) tokens`,
	`input tokens exceed the configured limit(?: of (?P<limit>#))?`,
	// local servers
	`request \((?P<used>#) tokens\) exceeds the available context size \((?P<limit>#) tokens\)`,
	`exceeds the (?:available )?context (?:size|window|length)(?: \((?P<limit>#))?`,
	`input \((?P<used>#) tokens\) is (?:larger|longer) than the (?:max context size|model's context length) \((?P<limit>#) tokens\)`,
	`(?:longer|greater) than the (?:model's |maximum )?(?:context|model) length(?: of (?P<limit>#))?`,
	`prompt too long; exceeded (?:max )?context length by (?P<over>#) tokens`,
	`prompt has (?P<used>#) tokens, but the configured context size is (?P<limit>#)`,
	"`inputs` tokens \\+ `max_new_tokens` must be <= (?P<limit>#)(?:\\. given: (?P<used>#) `inputs` tokens and (?P<out>#))?",
	"`inputs` must have less than (?P<limit>#) tokens(?:\\. given: (?P<used>#))?",
	`keep the first (?P<used>#) tokens when (?:context the|the context|context) overflows(?:.*context length of only (?P<limit>#))?`,
	// Gemini
	`input token count \(?(?P<used>#)\)? exceeds the maximum number of tokens allowed \(?(?P<limit>#)\)?`,
	`input token count.*exceeds the maximum`,
	// others
	`maximum prompt length is (?P<limit>#)(?: but the request contains (?P<used>#) tokens)?`,
	`prompt token count of (?P<used>#) exceeds the limit of (?P<limit>#)`,
	`exceeds the limit of (?P<limit>#)(?: tokens|\.?\s*$)`,
	`exceeds (?:the )?(?:model's )?maximum context length (?:of |\()(?P<limit>#)`,
	`exceeds (?:the )?maximum allowed input length of (?P<limit>#) tokens`,
	`too large for model with (?P<limit>#) maximum context length`,
	`maximum context length is (?P<limit>#) tokens`,
	`range of input length should be(?: \[#, ?(?P<limit>#)\])?`,
	`exceeded model token limit(?:: (?P<limit>#) \(requested: (?P<used>#)\))?`,
	// without numbers
	`context window exceeds limit|model_context_window_exceeded|contextwindowexceedederror|context[_ ]length[_ ]exceeded`,
	`input is too long for requested model|reduce the length of the messages|prompt exceeds max length`,
	`prompt[_ ](?:is )?too[_ ]long|too many tokens|token limit exceeded`,
}
