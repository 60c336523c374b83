// Package wire holds what the wire formats have in common: where the elements of a
// request's message array lie in its bytes, how a view is spliced into them, the normal form
// in which a message is recognized in the next request, and the stream of an answer.
//
// A format's package walks a body once with a [jsonspan.Cursor] and fills a [Body]: one
// [Element] a message, one [Place] a block. From then on editing is the same for all.
package wire

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/table"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Checker returns the check that a session runs on a view before it is used: the view is
// encoded and held to the format's rules for the model. A rule that the whole transcript
// already breaks is not the view's fault, and if the whole transcript cannot be encoded,
// nothing is. The transcript may be far larger than the view, so it is encoded only if the
// view breaks a rule.
func Checker[R interface {
	Check(model.Model) []transcript.Violation
}](m model.Model, encode func(*model.Request) ([]byte, error), decode func(body []byte) (R, error),
) func(transcript.View, *transcript.Transcript) error {
	m = table.Complete(m)
	run := func(v transcript.View, t *transcript.Transcript) ([]transcript.Violation, error) {
		msgs, err := v.Resolve(t)
		if err != nil {
			return nil, err
		}
		body, err := encode(&model.Request{Model: "checked", Messages: msgs, MaxTokens: 1})
		if err == nil {
			var r R
			if r, err = decode(body); err == nil {
				return r.Check(m), nil
			}
		}
		return nil, fmt.Errorf("write view: %w: %w", transcript.ErrIllegal, err)
	}
	return func(v transcript.View, t *transcript.Transcript) error {
		after, err := run(v, t)
		if err == nil && len(after) == 0 {
			return nil
		}
		before, wrong := run(transcript.Whole(t.Len()), t)
		if wrong != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if added := transcript.NewViolations(before, after); len(added) > 0 {
			return fmt.Errorf("%s: %w", added[0], transcript.ErrIllegal)
		}
		return nil
	}
}

// Violations collects the rules that a request breaks.
type Violations []transcript.Violation

// Add adds one.
func (v *Violations) Add(rule, path, format string, args ...any) {
	*v = append(*v, transcript.Violation{Rule: rule, Path: path, Message: fmt.Sprintf(format, args...)})
}

// DecodeOne reads one element of the array that the member of a request's body holds, with
// the format's own way to decode a body. It keeps nothing of raw.
func DecodeOne[R any](member string, raw []byte,
	decode func(body []byte) (R, error), messages func(R) []transcript.Message,
) (transcript.Message, error) {
	r, err := decode(slices.Concat([]byte(`{"`+member+`":[`), raw, []byte(`]}`)))
	if err != nil {
		return transcript.Message{}, fmt.Errorf("decode message: %w", err)
	}
	msgs := messages(r)
	if len(msgs) != 1 {
		return transcript.Message{}, fmt.Errorf("decode message: %d elements, want one", len(msgs))
	}
	return msgs[0], nil
}

// First is the element of a list of answers that has index 0, nil if there is none: a conversation can only
// go on with one of them.
func First(list jsonspan.Value) jsonspan.Value {
	for at := range list.Elements() {
		if e := jsonspan.Value(at.Of(list)); e.Kind() == jsonspan.Object && e.Get("index").Int() == 0 {
			return e
		}
	}
	return nil
}

// IsName reports whether a name or id matches the providers' pattern ^[a-zA-Z0-9_-]+$.
func IsName(s string) bool {
	for _, b := range []byte(s) {
		if !('a' <= b|0x20 && b|0x20 <= 'z' || '0' <= b && b <= '9' || b == '_' || b == '-') {
			return false
		}
	}
	return s != ""
}

// Hash is the hash of one element's normal form.
func Hash(element []byte) transcript.Hash { return sha256.Sum256(AppendNormal(nil, element)) }

// AppendNormal appends a message in a form that stays the same when its client sends it
// again: without space between tokens, without cache markers, and with content that is a
// string as one text block. Clients move their markers with every request, and some switch
// between the two forms of content as they do. The message must be valid JSON.
func AppendNormal(dst, message []byte) []byte { return appendNormal(dst, message, 0, false) }

// Unmarked returns a message without cache markers and without space between tokens.
func Unmarked(message []byte) []byte { return appendNormal(nil, message, 0, true) }

// contentDepth is how deep content nests: a result's content inside a message's. Deeper
// members of the same name are the callers' own data.
const contentDepth = 2

// appendNormal appends a message, or a part of one that lies so deep. With form, content keeps its form.
func appendNormal(dst []byte, v jsonspan.Value, depth int, form bool) []byte {
	if v.Kind() != jsonspan.Object {
		return jsonspan.AppendCompact(dst, v)
	}
	dst = append(dst, '{')
	first := true
	for key, at := range v.Members() {
		if jsonspan.KeyIs(v, key, "cache_control") || jsonspan.KeyIs(v, key, "prompt_cache_breakpoint") {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(dst, key.Of(v)...), ':')
		value := jsonspan.Value(at.Of(v))
		if depth < contentDepth && jsonspan.KeyIs(v, key, "content") ||
			depth == 0 && value.Kind() == jsonspan.Array && jsonspan.KeyIs(v, key, "output") { // of a Responses item: parts with markers
			dst = appendContent(dst, value, depth, form)
		} else {
			dst = jsonspan.AppendCompact(dst, value)
		}
	}
	return append(dst, '}')
}

func appendContent(dst []byte, v jsonspan.Value, depth int, form bool) []byte {
	switch kind := v.Kind(); {
	case kind == jsonspan.String && !form:
		return append(append(append(dst, `[{"type":"text","text":`...), v...), `}]`...)
	case kind != jsonspan.Array:
		return jsonspan.AppendCompact(dst, v)
	}
	open := len(dst)
	for at := range v.Elements() {
		dst = appendNormal(append(dst, ','), at.Of(v), depth+1, form)
	}
	if len(dst) == open {
		return append(dst, "[]"...)
	}
	dst[open] = '['
	return append(dst, ']')
}
