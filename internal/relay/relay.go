// Package relay makes what clients get of providers' answers: without the proxy's own calls in
// them, several answers joined to one, and errors in the provider's own form. Bytes that need
// not change stay as they came.
package relay

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/sse"
)

// Wire is how answers look on one of the wires.
type Wire struct {
	// Stream makes the filter for a stream. Own tells the calls of ours, by the tool's name.
	Stream func(own func(name string) bool) Stream
	// Join makes one complete answer of several, without our calls.
	Join func(bodies [][]byte, own func(name string) bool) []byte
	// Whole makes a complete answer, as Join takes them, of its messages.
	Whole  func(messages [][]byte) []byte
	Refuse func(kind, text string) []byte
	// TooLong is the provider's own way to say that a prompt does not fit, which clients
	// know how to react to.
	TooLong func(tokens, limit int) []byte
	Ping    string // an event that keeps a client waiting

	failure func(body []byte) []byte // an error of the provider as an event of a stream
}

// ErrorEvent turns an error in the provider's form into an event, for a client that already
// gets a stream.
func (w *Wire) ErrorEvent(body []byte) []byte {
	return w.failure(bytes.ReplaceAll(bytes.TrimSpace(body), []byte("\n"), []byte(" ")))
}

type object = map[string]any

func encoded(v object) []byte {
	body, _ := json.Marshal(v) // strings and nil cannot fail
	return body
}

// Stream passes a provider's stream on to the client without our own calls in it, and
// makes one answer of several.
type Stream interface {
	// Event takes an event and returns what the client gets of it. Over is true when
	// the answer is complete; what ends it is held back until End.
	Event(raw, data []byte) (out []byte, over bool)
	// Next says that another answer follows, which continues this one.
	Next()
	// End returns what was held back.
	End() []byte
	// Begun reports whether the client has got anything of this answer's content.
	Begun() bool
}

// joined is what all streams keep track of while they join answers. The parts of an
// answer are its blocks, calls or items, depending on the wire.
type joined struct {
	one
	own    func(name string) bool
	count  int    // parts that the client got
	moved  bool   // numbers differ from the provider's
	answer int    // answers before this one
	id     []byte // of the first answer
	output int    // tokens of the answers before
}

// one is what they know of the answer that is under way.
type one struct {
	parts  map[int]int // number of a part → number the client knows it by; negative: hidden
	calls  int         // that the client got
	hid    bool        // calls are hidden
	says   bool        // it has what may be all that a client sends back of it: words or calls
	begun  bool        // content went to the client
	tokens int
	held   [][]byte // the events that end the answer
}

// number returns the number by which the client knows a part: the provider's own, as long
// as nothing was hidden. It is negative for our own calls, which are hidden.
func (j *joined) number(at int, call bool, name string) int {
	n, known := j.parts[at]
	switch {
	case known:
		return n
	case call && j.own(name):
		n, j.moved, j.hid = -1, true, true
	case j.moved:
		n = j.count
	default:
		n = at
	}
	if j.parts == nil {
		j.parts = make(map[int]int)
	}
	j.parts[at] = n
	j.count, j.begun = max(j.count, n+1), j.begun || n >= 0
	if call && n >= 0 {
		j.calls++
	}
	return n
}

func (j *joined) hold(raw []byte) { j.held = append(j.held, bytes.Clone(raw)) }

// release returns the events that were held back, with their data changed.
func (j *joined) release(change func(data []byte) []byte) (out []byte) {
	for _, raw := range j.held {
		data := sse.Data(raw)
		out = append(out, rewritten(raw, data, change(data))...)
	}
	j.held = nil
	return out
}

func (j *joined) Next() {
	j.answer++
	j.output += j.tokens
	j.one, j.moved = one{}, true
}

func (j *joined) Begun() bool { return j.begun }

// unanswerable reports whether all calls of the answer are hidden. If no other answer follows, it was cut off.
func (j *joined) unanswerable() bool { return j.hid && j.calls == 0 }

// named gives data of a later answer the id of the first one.
func (j *joined) named(data []byte, member string) []byte {
	if text(j.id) == "" { // a gateway's first event may have an empty one
		j.id = bytes.Clone(get(data, member))
	}
	if j.answer > 0 && j.id != nil && get(data, member) != nil {
		return set(data, j.id, member)
	}
	return data
}

// cutOff is what an answer says that was cut off when it had nothing yet but calls of ours: a
// client may send it back, and providers refuse a message that says nothing.
const cutOff = "…"

// same reports whether two slices are the same memory.
func same(a, b []byte) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// joinBlocks returns the last answer with what all of them have in a member, except our calls
// and reasoning items that nothing else followed, and with the first one's id; and the output
// tokens of all. If there is only one answer and nothing is hidden in it, it is returned as it is.
func joinBlocks(bodies [][]byte, member, call string, own func(name string) bool) (out []byte, output int) {
	var kept [][]byte
	hid, silent := false, false
	for _, b := range bodies {
		var thought [][]byte // of the Responses wire, that only our calls followed so far
		hides, thinks := false, true
		for _, block := range elements(get(b, member)) {
			kind := text(get(block, "type"))
			switch {
			case kind == "reasoning":
				thought = append(thought, block)
				continue
			case kind == call && own(text(get(block, "name"))):
				hides = true
				continue
			}
			kept = append(append(kept, thought...), block)
			thought, thinks = nil, isThinking(kind)
		}
		if !hides {
			kept = append(kept, thought...)
		}
		hid, silent = hid || hides, hides && thinks
		output += number(get(b, "usage", "output_tokens"))
	}
	out = bodies[len(bodies)-1]
	if !hid && len(bodies) == 1 {
		return out, output
	}
	if silent && member == "content" {
		kept = append(kept, []byte(`{"type":"text","text":"`+cutOff+`"}`))
	}
	return withID(set(out, arrayOf(kept), member), bodies[0]), output
}

// withID gives an answer the id of the first one.
func withID(out, first []byte) []byte {
	if id := get(first, "id"); id != nil {
		return set(out, id, "id")
	}
	return out
}

// withUsage sets the output tokens, by the wire's names, and the total that follows.
func withUsage(data []byte, prompt, output string, tokens int, path ...any) []byte {
	at := func(name string) []any { return append(path[:len(path):len(path)], name) }
	data = set(data, digits(tokens), at(output)...)
	return set(data, digits(number(get(data, at(prompt)...))+tokens), at("total_tokens")...)
}

// withData is an event with other data. Its other lines, such as its type and comments, stay.
func withData(raw, data []byte) (out []byte) {
	raw = bytes.TrimPrefix(bytes.ReplaceAll(raw, []byte("\r"), []byte("\n")), []byte("\xEF\xBB\xBF"))
	for line := range bytes.Lines(raw) {
		if name, _, _ := bytes.Cut(line, []byte(":")); string(name) != "data" && string(line) != "\n" {
			out = append(out, line...)
		}
	}
	return sse.AppendEvent(out, "", data)
}

// rewritten is an event with changed data, or the same event if nothing was changed.
func rewritten(raw, data, changed []byte) []byte {
	if same(data, changed) {
		return raw
	}
	return withData(raw, changed)
}

// get returns the value at a path of member names (strings) and array indexes (ints), nil
// if there is none or it is null.
func get(data []byte, path ...any) []byte { return jsonspan.Value(data).Get(path...) }

// set returns data with another value at a path, as [jsonspan.Value.Set] does.
func set(data, value []byte, path ...any) []byte { return jsonspan.Value(data).Set(value, path...) }

// text decodes a string literal; anything else is empty.
func text(value []byte) string { return jsonspan.Value(value).Text() }

// number reads a whole number; anything else is 0.
func number(value []byte) int { return jsonspan.Value(value).Int() }

func digits(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }

func elements(array []byte) (out [][]byte) {
	for span := range jsonspan.Value(array).Elements() {
		out = append(out, span.Of(array))
	}
	return out
}

func arrayOf(list [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(list, []byte{','})...), ']')
}

// without returns data without a member of the object at a path.
func without(data []byte, name string, path ...any) []byte {
	return jsonspan.Value(data).Without(name, path...)
}
