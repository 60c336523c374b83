package model

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// errorPatterns holds the wordings, compiled when the first error arrives.
type errorPatterns struct {
	throttled, unavailable, billing, image *regexp.Regexp
	repair                                 []repairPattern
	long                                   []*regexp.Regexp
	path, changed, delay                   *regexp.Regexp
}

type repairPattern struct {
	re   *regexp.Regexp
	code string
	kind ErrorKind
}

func (p *errorPatterns) repairable(words string, e *APIError) ErrorKind {
	for _, r := range p.repair {
		if r.code != "" && r.code == e.Code || r.re.MatchString(words) {
			return r.kind
		}
	}
	return ErrorUnknown
}

func (p *errorPatterns) tooLong(words string) bool {
	return slices.ContainsFunc(p.long, func(re *regexp.Regexp) bool { return re.MatchString(words) })
}

var apiErrorPatterns = sync.OnceValue(func() *errorPatterns {
	ci := func(s string) *regexp.Regexp {
		return regexp.MustCompile("(?is)" + strings.ReplaceAll(s, `#`, `[0-9][0-9,_]*`))
	}
	p := &errorPatterns{
		throttled:   ci(`rate limit|too many requests|too many tokens,? please wait|^throttling error:`),
		unavailable: ci(`^service unavailable:`),
		billing:     ci(`credit balance is too low|exceeded your current quota|spend(ing)? (limit|cap)|insufficient (credits|balance|funds)`),
		image:       ci(`(image|pdf|file|document)s? (exceeds?|is larger than) # ?([kmg]i?b|bytes)|request exceeds the maximum (allowed )?(size|number of bytes)|request entity too large|payload too large`),
		path:        regexp.MustCompile(`^(?:[A-Za-z_]+: )?((?:messages|system|tools|input)(?:\.\[?[A-Za-z0-9_]+\]?)+)`),
		changed:     regexp.MustCompile("first at `([^`]+)`"),
		delay:       ci(`(?:try again|retry) (?:in|after) ([0-9.]+) ?(ms|milliseconds?|s|sec|seconds?|m|minutes?)\b`),
	}
	for _, r := range repairPatterns {
		p.repair = append(p.repair, repairPattern{ci(r.re), r.code, r.kind})
	}
	for _, s := range overflowPatterns {
		p.long = append(p.long, ci(s))
	}
	return p
})

// repairPatterns are the refusals that a caller can repair, in the order they are
// tried: the more special wording first.
var repairPatterns = []struct {
	re   string
	code string
	kind ErrorKind
}{
	{`bound to a different conversation`, "", ErrorThinkingBinding},
	{"`?thinking`? or `?redacted_thinking`? blocks in the latest assistant message cannot be modified", "", ErrorThinkingModified},
	{"invalid `?signature`? in `?thinking`? block|(invalid|corrupted) thought signature", "", ErrorThinkingSignature},
	{`missing a .?thought_?signature`, "", ErrorThinkingMissing},
	{`encrypted content .* could not be (verified|decrypted)`, "invalid_encrypted_content", ErrorEncryptedContent},
	{`previous response with id .* not found`, "previous_response_not_found", ErrorPreviousResponse},
	{`was provided without its required|items are not persisted when .?store.? is set to false`, "", ErrorReasoningPairing},
	{"`tool_use` ids were found without|unexpected `tool_use_id` found|each tool_use must have a single result|`?tool_use`? ids must be unique" +
		"|tool use with id .* was found without a corresponding" +
		`|must be followed by tool messages|insufficient tool messages|must be a response to a prece+ding message` +
		`|no tool (output|call) found for|function (call|response) turn comes immediately after|number of function response parts`, "", ErrorToolPairing},
}

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
	`exceeds the context window`,
	// local servers
	`request \((?P<used>#) tokens\) exceeds the available context size \((?P<limit>#) tokens\)`,
	`exceeds the available context size(?: \((?P<limit>#))?`,
	`input \((?P<used>#) tokens\) is (?:larger|longer) than the (?:max context size|model's context length) \((?P<limit>#) tokens\)`,
	`is longer than the model's context length`,
	`prompt is longer than the context length`,
	`input length exceeds the context length`,
	`prompt too long; exceeded (?:max )?context length by (?P<over>#) tokens`,
	`prompt too long; exceeded (?:max )?context length`,
	`greater than the context length`,
	`prompt has (?P<used>#) tokens, but the configured context size is (?P<limit>#)`,
	`longer than the maximum model length(?: of (?P<limit>#))?`,
	// Gemini
	`input token count \(?(?P<used>#)\)? exceeds the maximum number of tokens allowed \(?(?P<limit>#)\)?`,
	`input token count.*exceeds the maximum`,
	// others
	`maximum prompt length is (?P<limit>#) but the request contains (?P<used>#) tokens`,
	`maximum prompt length is (?P<limit>#)`,
	`prompt token count of (?P<used>#) exceeds the limit of (?P<limit>#)`,
	`exceeds the limit of (?P<limit>#)(?: tokens|\.?\s*$)`,
	`exceeds (?:the )?(?:model's )?maximum context length (?:of |\()(?P<limit>#)`,
	`exceeds (?:the )?maximum allowed input length of (?P<limit>#) tokens`,
	`too large for model with (?P<limit>#) maximum context length`,
	`maximum context length is (?P<limit>#) tokens`,
	`range of input length should be \[#, ?(?P<limit>#)\]`,
	`range of input length should be`,
	`context window exceeds limit`,
	`exceeded model token limit(?:: (?P<limit>#) \(requested: (?P<used>#)\))?`,
	`input is too long for requested model`,
	`reduce the length of the messages`,
	`contextwindowexceedederror`,
	`model_context_window_exceeded`,
	`capability_rejected: prompt_too_long`,
	`context[_ ]length[_ ]exceeded`,
	`prompt exceeds max length`,
	`prompt (?:is )?too long`,
	`too many tokens`,
	`token limit exceeded`,
}
