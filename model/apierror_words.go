package model

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// errorPatterns holds the wordings, compiled when the first error arrives.
type errorPatterns struct {
	throttled, unavailable, billing, binding, image, delay *regexp.Regexp
	long                                                   []*regexp.Regexp
}

func (p *errorPatterns) tooLong(words string) bool {
	return slices.ContainsFunc(p.long, func(re *regexp.Regexp) bool { return re.MatchString(words) })
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
		delay: ci(`(?:try again|retry) (?:in|after) ([0-9.]+) ?(ms|milliseconds?|s|sec|seconds?|m|minutes?)\b`),
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
