package adversary

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// RoundTrip judges a request and answers it.
func (l *library) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	v := &view{body: parse(body), head: r.Header, setup: l.setup, said: l.memory, size: len(body)}
	for _, raw := range v.body.list(l.wire.array) {
		e, err := l.parsed(raw)
		if err != nil {
			return nil, err
		}
		v.elements = append(v.elements, e)
	}
	named(v.elements)
	l.judge(v, string(body))
	text := string(l.wire.reply(l.answer(v, body), usage{len(body) / 4, 20}, true))
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(text)),
	}, nil
}

func (l *library) judge(v *view, body string) {
	l.asked++
	bad := l.wire.check(v)
	if len(body)/4 > libraryWindow {
		bad = append(bad, fmt.Sprintf("%d tokens", len(body)/4))
	}
	if l.setup.think == "enabled" && turnOf(v) != thinking {
		bad = append(bad, "the open turn does not begin with thinking")
	}
	for _, e := range v.elements {
		if p := e.parts[len(e.parts)-1]; l.wire == chatWire && p.kind == call && !e.has(thinking) && l.memory.call[p.id] != "" {
			bad = append(bad, "the reasoning before call "+p.id+" is gone")
		}
	}
	folded := strings.Contains(body, "[folded: ") || strings.Contains(body, "[pleat: ")
	switch offered := strings.Contains(string(v.body["tools"]), `"unfold"`) && handles.MatchString(body); {
	case folded && !offered:
		bad = append(bad, "a fold without recall")
	case folded:
		l.folded++
	case l.folded > 0:
		bad = append(bad, "no folds any more")
	}
	for _, b := range bad {
		l.Errorf("request %d: %s\n%s", l.asked, b, outline(v.elements))
	}
}

// turnOf returns what the turn begins with whose results are newest; thinking if none are.
func turnOf(v *view) (kind string) {
	kind = thinking
	for _, e := range slices.Backward(v.elements) {
		switch {
		case e.answers():
			kind = e.parts[0].kind
		case !e.has(result):
			return kind
		}
	}
	return kind
}

// answer reads files, recalls now and then, and says at the end of a task that it is done.
func (l *library) answer(v *view, body []byte) (parts []part) {
	n := l.asked
	begins := !v.elements[len(v.elements)-1].has(result)
	if l.kind == "each" || l.kind == "first" && begins {
		p := part{kind: thinking, text: "Let me see. " + l.words(20), sig: l.id("sig"), item: l.id("rs")}
		switch l.wire {
		case responsesWire:
			p.text = ""
		case geminiWire:
			p.sig = ""
		}
		was := thought{raw: p.text}
		if l.setup.binds {
			h := whole(v)
			was.before, was.others = h.sum(), h.thoughts
		}
		l.memory.thinking[p.sig] = was
		parts = append(parts, p)
	}
	if done := n%libraryTask == 0; done || n%3 == 0 {
		parts = append(parts, part{kind: text, text: l.tag() + l.words(20), item: l.id("msg")})
		if done {
			l.remember(parts)
			return parts
		}
	}
	for i := range 1 + n%2 {
		p := part{kind: call, id: l.id("call"), name: "read_file", item: l.id("fc")}
		p.args = fmt.Sprintf(`{"path":"src/part%d.go","n":%q}`, n+i, p.id)
		if found := handles.FindAllSubmatch(body, -1); n%10 == 0 && len(found) > 0 {
			p.name, p.args = "unfold", fmt.Sprintf(`{"handle":%q,"n":%q}`, found[n%len(found)][1], p.id)
		}
		parts = append(parts, p)
	}
	l.remember(parts)
	return parts
}
