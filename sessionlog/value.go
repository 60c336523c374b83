package sessionlog

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// value is one JSON value of a text that was checked as a whole, so walking it cannot fail.
// Its methods return zero values where the text has another kind of value, or none.
type value struct {
	b   jsonspan.Value
	off int // of the value in the text that was parsed

	members []member // of an object that is asked for many of them; nil: they are looked for each time
}

// member is where a member of an object is.
type member struct{ key, value jsonspan.Span }

// indexed is the value with the places of its members, so that asking for each does not walk
// the whole text again. They take the room of buf.
func (v value) indexed(buf []member) value {
	v.members = buf[:0]
	for key, val := range v.b.Members() {
		v.members = append(v.members, member{key, val})
	}
	return v
}

// find is where a member is, the zero span if there is none. Of equal names the last counts.
func (v value) find(name string) (at jsonspan.Span) {
	if v.members == nil {
		at, _ = v.b.Find(name)
		return at
	}
	for _, m := range slices.Backward(v.members) {
		if jsonspan.KeyIs(v.b, m.key, name) {
			return m.value
		}
	}
	return at
}

// parse checks that b is one JSON value.
func parse(b []byte) (value, error) {
	var c jsonspan.Cursor
	c.Reset(b)
	span := c.Skip()
	if err := c.End(); err != nil {
		return value{}, err
	}
	return value{b: span.Of(b), off: span.Start}, nil
}

func (v value) sub(span jsonspan.Span) value { return value{b: span.Of(v.b), off: v.off + span.Start} }

func (v value) exists() bool   { return len(v.b) > 0 && v.b.Kind() != jsonspan.Null } // null is as good as absent
func (v value) isObject() bool { return v.b.Kind() == jsonspan.Object }
func (v value) isArray() bool  { return v.b.Kind() == jsonspan.Array }
func (v value) isString() bool { return v.b.Kind() == jsonspan.String }
func (v value) isTrue() bool   { return v.b.Kind() == jsonspan.True }

// raw is a copy of the text, which outlives the buffer that the value was read into.
func (v value) raw() string { return string(v.b) }

func (v value) str() string { return v.b.Text() }

// is reports whether the value is the given string, without making one.
func (v value) is(s string) bool {
	return v.isString() && (string(v.b[1:len(v.b)-1]) == s || jsonspan.NeedsUnquote(v.b) && v.str() == s)
}

// content is the text of a string, not yet decoded.
func (v value) content() transcript.Content {
	if !v.isString() {
		return transcript.Content{}
	}
	return transcript.Literal(v.raw())
}

func (v value) num() int { return v.b.Int() }

func (v value) elems() iter.Seq[value] {
	return func(yield func(value) bool) {
		for elem := range v.b.Elements() {
			if !yield(v.sub(elem)) {
				return
			}
		}
	}
}

// list yields the elements of an array, or the value itself if it is something else.
func (v value) list() iter.Seq[value] {
	if v.isArray() {
		return v.elems()
	}
	return func(yield func(value) bool) { yield(v) }
}

// get follows member names inwards. Of equal names the last counts.
func (v value) get(path ...string) value {
	for _, name := range path {
		v = v.sub(v.find(name))
	}
	return v
}

// at returns element i of an array.
func (v value) at(i int) value {
	at, _ := v.b.Find(i)
	return v.sub(at)
}

// time reads the ways in which logs write times: RFC 3339, the same without a zone (taken
// as UTC), and milliseconds, or seconds, since 1970.
func (v value) time() time.Time {
	if n := int64(v.num()); n > 1e11 {
		return time.UnixMilli(n).UTC()
	} else if n > 0 {
		return time.Unix(n, 0).UTC()
	}
	s := v.str()
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// texts joins the text of a string or of a list of parts that have text.
func (v value) texts() string {
	if v.isString() {
		return v.str()
	}
	var all []string
	for e := range v.elems() {
		if e.isString() {
			all = append(all, e.str())
		} else if t := e.get("text"); t.isString() {
			all = append(all, t.str())
		}
	}
	return strings.Join(all, "\n")
}

// usage reads what a request used from members of these names; "": the log has none. It is nil
// if v is no object.
func (v value) usage(input, cacheRead, cacheWrite, output, reasoning string) *model.Usage {
	if !v.isObject() {
		return nil
	}
	n := func(name string) int { return v.get(strings.Split(name, ".")...).num() }
	return &model.Usage{
		Input: n(input), CacheRead: n(cacheRead), CacheWrite: n(cacheWrite), Output: n(output), Reasoning: n(reasoning),
	}
}

// usageOf is usage for logs whose input has what was read from the cache or written to it.
func (v value) usageOf(input, cacheRead, cacheWrite, output, reasoning string) *model.Usage {
	u := v.usage(input, cacheRead, cacheWrite, output, reasoning)
	if u != nil {
		u.Input = max(u.Input-u.CacheRead-u.CacheWrite, 0)
	}
	return u
}
