package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/internal/text"
)

// ErrorKind says what a provider's refusal means for the caller: not which words it
// used, but which of the few possible reactions is right. They are [ErrorUnknown], [ErrorTooLong],
// [ErrorTooLarge], [ErrorRateLimited], [ErrorOverloaded], [ErrorServer], [ErrorTimeout], [ErrorAuth],
// [ErrorPermission], [ErrorBilling], [ErrorNotFound], [ErrorRefused], [ErrorThinkingBinding] and
// [ErrorInvalid]; the comment of each says what helps.
type ErrorKind uint8

// The kinds of error.
const (
	ErrorUnknown         ErrorKind = iota // nothing known fits
	ErrorTooLong                          // the prompt has too many tokens: fold, then send again
	ErrorTooLarge                         // the request has too many bytes: fold images and documents first
	ErrorRateLimited                      // wait, then send the same bytes
	ErrorOverloaded                       // wait, then send the same bytes
	ErrorServer                           // the provider failed: send the same bytes
	ErrorTimeout                          // the provider gave up waiting: send the same bytes
	ErrorAuth                             // the key or token is wrong
	ErrorPermission                       // the key is right and may not do this
	ErrorBilling                          // no credit, or a spending limit was reached
	ErrorNotFound                         // the model or endpoint does not exist
	ErrorRefused                          // a content filter refused the prompt
	ErrorThinkingBinding                  // what comes before the thinking changed: drop the thinking, or restore it
	ErrorInvalid                          // the request is malformed in another way
)

// errorKinds has the kinds' names and what helps.
var errorKinds = [...]struct{ name, hint string }{
	ErrorUnknown:     {"unknown", ""},
	ErrorTooLong:     {"too_long", "fold more of the conversation and send it again"},
	ErrorTooLarge:    {"too_large", "fold images and documents first, they are most of the bytes"},
	ErrorRateLimited: {"rate_limited", "wait and send the same request again"},
	ErrorOverloaded:  {"overloaded", "wait and send the same request again"},
	ErrorServer:      {"server", "the provider failed; send the same request again"},
	ErrorTimeout:     {"timeout", "the provider gave up waiting; send the same request again"},
	ErrorAuth:        {"auth", "check the API key and which provider it is for"},
	ErrorPermission: {
		"permission", "the key is not allowed to do this; check its workspace and the model's availability",
	},
	ErrorBilling:  {"billing", "check the account's credit and spending limits"},
	ErrorNotFound: {"not_found", "check the model's name and the base URL"},
	ErrorRefused:  {"refused", "a content filter of the provider refused the prompt"},
	ErrorThinkingBinding: {
		"thinking_binding",
		"something before the thinking changed; send the earlier bytes unchanged, or have the provider drop the block",
	},
	ErrorInvalid: {"invalid", ""},
}

// String returns the kind's name as it appears in logs and metrics.
func (k ErrorKind) String() string {
	if int(k) < len(errorKinds) {
		return errorKinds[k].name
	}
	return errorKinds[ErrorUnknown].name
}

// APIError is an error that a provider answered with, by status or inside a stream.
// [ClassifyError] makes one. Code should decide by Kind, [APIError.Overflow] and
// [APIError.Retryable]; the other fields are what the provider said, for people.
type APIError struct {
	Kind    ErrorKind
	Status  int    // HTTP status; 200 or 0 when the error came inside a stream
	Message string // the provider's words
	Type    string // the provider's type, such as "invalid_request_error"; may be empty
	Code    string // the provider's code, such as "context_length_exceeded"; may be empty

	// Tokens, where the provider gives them, else 0. Used is the prompt as the provider
	// counts it, and so the best calibration there is; Output is what was reserved for
	// the answer; Limit bounds prompt and answer together, or the prompt alone where the
	// provider limits that alone; Over is by how much the request was too long.
	Used, Output, Limit, Over int

	// RetryAfter is how long the provider asks to wait, where it gave a duration;
	// RetryAt is until when, where it gave a date. See [APIError.Wait].
	RetryAfter time.Duration
	RetryAt    time.Time

	RequestID string // from the body; callers may set it from the header
	Body      []byte // the answer as it came, for passing on unchanged
}

// maxErrorText bounds how much of a provider's message goes into an error string:
// enough for every known message, not for a page of HTML.
const maxErrorText = 600

// Error says status, kind, the provider's words and what helps.
func (e *APIError) Error() string {
	says := "model API error"
	if e.Status != 0 {
		says += fmt.Sprintf(" %d", e.Status)
	}
	says += " (" + strings.ReplaceAll(e.Kind.String(), "_", " ") + ")"
	if msg := text.OneLine(e.Message, maxErrorText); msg != "" {
		says += ": " + msg
	}
	if hint := e.hint(); hint != "" {
		says += " [hint: " + hint + "]"
	}
	if e.RequestID != "" {
		says += " (request " + e.RequestID + ")"
	}
	return says
}

// hint says in a sentence what the user or the program can do. It may be empty.
func (e *APIError) hint() string {
	if e.Kind == ErrorInvalid && strings.Contains(e.Message, "Extra inputs are not permitted") {
		return "a beta field was sent without its anthropic-beta header"
	}
	if int(e.Kind) < len(errorKinds) {
		return errorKinds[e.Kind].hint
	}
	return ""
}

// Overflow reports whether the request was too long or too large: folding helps,
// sending the same bytes again does not.
func (e *APIError) Overflow() bool { return e.Kind == ErrorTooLong || e.Kind == ErrorTooLarge }

// Retryable reports whether the same bytes may succeed later.
func (e *APIError) Retryable() bool {
	return slices.Contains([]ErrorKind{ErrorRateLimited, ErrorOverloaded, ErrorServer, ErrorTimeout}, e.Kind)
}

// Wait returns how long the provider asks to wait from now on, 0 if it does not say.
func (e *APIError) Wait(now time.Time) time.Duration {
	if e.RetryAt.IsZero() {
		return e.RetryAfter
	}
	return max(e.RetryAt.Sub(now), e.RetryAfter, 0)
}
