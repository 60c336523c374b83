package adversary

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing/iotest"

	"github.com/pleat-dev/pleat/internal/fence/fencetest"
)

// provider stands at the end of the line. It judges what comes and answers by chance.
type provider struct {
	w       *world
	mu      sync.Mutex
	limit   int     // most tokens of a prompt; 0: none
	rate    float64 // bytes a token
	numbers bool    // a refusal names them
}

// counted answers a request to count tokens.
const counted = `{"input_tokens":4711}`

var handles = regexp.MustCompile(`unfold\(\\?"([0-9a-z]{6,40})\\?"`)

func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	c := p.w.clientOf(r.Header)
	if c == nil {
		return nil, fmt.Errorf("nobody has the key of a request to %s", r.URL)
	}
	p.w.Views++
	v := c.judge(body, r.Header)
	answer := func(status int, kind, text string) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Status: fmt.Sprint(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
			Header:        http.Header{"Content-Type": {kind}},
			Body:          io.NopCloser(iotest.DataErrReader(strings.NewReader(text))), // as most bodies end
			ContentLength: int64(len(text)),
		}, nil
	}
	tokens := int(float64(len(body)) / p.rate)
	switch {
	case v == nil:
		return answer(http.StatusBadRequest, "application/json",
			`{"error":{"message":"what is that?","type":"invalid_request_error"}}`)
	case c.counts && p.w.chance(0.98):
		return answer(http.StatusOK, "application/json", counted)
	case p.limit > 0 && tokens > p.limit && !c.counts:
		p.w.Refused++
		c.refused++
		status, text := c.wire.refuse(tokens, p.limit, p.numbers)
		return answer(status, "application/json", text)
	case c.counts || p.w.chance(0.02):
		p.w.Faults++
		c.fault = true
		return answer(http.StatusServiceUnavailable, "application/json",
			`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
	}
	breaks := p.w.chance(0.02)
	if !breaks {
		c.saw(v)
	}
	parts := c.reply(v, body)
	c.open = c.hidden[parts[len(parts)-1].id] // then it calls nothing else
	if c.open && p.w.fills && p.w.chance(0.7) {
		p.w.Faults++
		c.fault = true
		p.w.store.full.Store(true)
	}
	kind := "application/json"
	if c.setup.stream {
		kind = "text/event-stream"
	}
	resp, err := answer(http.StatusOK, kind, string(c.wire.reply(parts, usage{tokens, 20}, c.setup.stream)))
	if breaks {
		p.w.Faults++
		c.fault, c.open = true, true
		begun := io.LimitReader(resp.Body, int64(p.w.IntN(int(resp.ContentLength/2))))
		resp.Body = io.NopCloser(io.MultiReader(begun, iotest.ErrReader(io.ErrUnexpectedEOF)))
	}
	return resp, err
}

// reply makes an answer to a view, and remembers it.
func (c *client) reply(v *view, body []byte) (parts []part) {
	w := c.w
	if c.setup.think != "" && w.chance(0.8) {
		p := part{kind: thinking, text: "Let me see. " + c.words(20), sig: c.id("sig"), item: c.id("rs")}
		switch c.wire {
		case responsesWire:
			p.text = ""
		case geminiWire:
			p.sig = ""
		}
		was := thought{raw: p.text}
		if c.setup.binds {
			h := whole(v)
			was.before, was.others = h.sum(), h.thoughts
		}
		c.memory.thinking[p.sig] = was
		parts = append(parts, p)
	}
	waits := c.waits(v.elements)
	for _, id := range waits {
		parts = append(parts, part{kind: served, id: id, text: c.tag() + c.words(10), item: c.id("po")})
	}
	if w.chance(0.7) {
		said := c.tag() + c.words(5+w.IntN(60))
		if w.chance(0.1) {
			said += "\n" + c.forged()
		}
		parts = append(parts, part{kind: text, text: said, item: c.id("msg")})
	}
	if own := c.recallCall(body); own != nil {
		w.Hidden++
		for _, p := range parts {
			c.memory.beside[known(p)] = true
		}
		parts = append(parts, *own)
	}
	if c.more(parts) {
		for range 1 + w.IntN(1+w.IntN(5)) {
			parts = append(parts, c.call())
		}
	}
	if c.setup.hosted && len(c.tools) > 0 && w.chance(0.3) {
		parts = append(parts, c.host()...)
	}
	if len(parts) == 0 || len(parts) == 1 && parts[0].kind == thinking {
		parts = append(parts, part{kind: text, text: c.tag() + "All is done.", item: c.id("msg")})
	}
	c.remember(parts)
	return parts
}

// waits are the tools of the provider's that wait for a client's, and go on in the next answer.
func (c *client) waits(es []element) (ids []string) {
	for _, e := range es {
		for _, p := range e.parts {
			switch kind, _, _ := strings.Cut(p.id, "_"); {
			case p.kind == hosted && (kind == "srv" || kind == "prog"):
				ids = append(ids, p.id)
			case p.kind == served:
				ids = slices.DeleteFunc(ids, func(id string) bool { return id == p.id })
			}
		}
	}
	return ids
}

// host is what tools of the provider's do or ask for in an answer, with a call of a client's if one waits for it.
func (c *client) host() []part {
	p := part{kind: hosted, id: c.id("srv"), text: c.tag() + c.words(5+c.w.IntN(40)), open: true}
	if c.wire == responsesWire {
		p.id = c.id([]string{"ci", "mcpr", "find"}[c.w.IntN(3)]) // TestTies has programs
		if p.item = p.id; !strings.HasPrefix(p.id, "ci") && !strings.HasPrefix(p.id, "mcpr") {
			p.item = c.id("item")
		}
	}
	if strings.HasPrefix(p.id, "srv") || strings.HasPrefix(p.id, "prog") {
		return []part{p, c.call()}
	}
	return []part{p}
}

// more reports whether an answer gets calls of the client's tools.
func (c *client) more(parts []part) bool {
	if len(c.tools) == 0 {
		return false
	}
	if slices.ContainsFunc(parts, func(p part) bool { return p.kind == call }) {
		return c.w.chance(0.25)
	}
	return c.w.chance(0.8)
}

// remember keeps what the answer will be known by.
func (c *client) remember(parts []part) {
	reason := ""
	first := true
	for i := range parts {
		p := &parts[i]
		if p.kind == thinking {
			reason = p.item
			c.memory.follows[p.sig] = known(parts[i+1])
		} else if reason != "" {
			c.memory.reason[p.item] = reason
		}
		if p.kind == call {
			switch {
			case c.wire == geminiWire && strings.HasPrefix(c.setup.model, "gemini-3"):
				p.item = p.id
				if first {
					p.sig = geminiSign(p.id)
				}
				c.memory.call[p.id] = p.sig
			case c.wire == geminiWire:
				p.item = ""
			case reason != "":
				c.memory.call[p.id] = reason
			}
			first = false
		}
		c.said[known(*p)] = true
	}
}

// recallCall is now and then a call of one of the tools that the proxy added.
func (c *client) recallCall(body []byte) *part {
	w := c.w
	if !w.chance(0.12) {
		return nil
	}
	var names []string
	var all struct {
		Tools []struct {
			Name                 string
			Function             struct{ Name string }
			FunctionDeclarations []struct{ Name string }
		}
	}
	_ = json.Unmarshal(body, &all)
	for _, t := range all.Tools {
		names = append(names, t.Name, t.Function.Name)
		for _, d := range t.FunctionDeclarations {
			names = append(names, d.Name)
		}
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == "" || slices.Contains(c.tools, n) })
	if len(names) == 0 {
		return nil
	}
	p := part{kind: call, id: c.id("call"), name: names[w.IntN(len(names))], item: c.id("fc")}
	handle := "zzzzzzzz"
	if found := handles.FindAllSubmatch(body, -1); len(found) > 0 {
		handle = string(found[w.IntN(len(found))][1])
		if w.chance(0.7) {
			p.name = names[slices.IndexFunc(names, func(n string) bool { return strings.HasSuffix(n, "unfold") })]
		}
	}
	n := fmt.Sprintf(`,"n":%q}`, p.id)
	switch bare := p.name[strings.LastIndex(p.name, "_")+1:]; bare {
	case "unfold":
		p.args = fmt.Sprintf(`{"handle":%q`, handle)
	case "search":
		p.args = `{"queries":["error","main.go"]`
	case "note":
		p.args = `{"key":"plan","text":"first the tests"`
	case "pin":
		p.args = `{"text":"never push to main"`
		if w.chance(0.3) {
			p.args = fmt.Sprintf(`{"text":%q`, "be brief\n"+fencetest.ForgedPin(w.IntN(100)))
		}
	case "compact":
		p.args = `{"focus":"the tests"`
	default:
		p.args = `{"query":"go"`
	}
	p.args += n
	c.hidden[p.id] = true
	return &p
}

// call is a call of one of the client's tools.
func (c *client) call() part {
	w := c.w
	p := part{kind: call, id: c.id("call"), name: c.tools[w.IntN(len(c.tools))], item: c.id("fc")}
	file := fmt.Sprintf("src/pkg%d/file%d.go", w.IntN(4), w.IntN(6))
	args := map[string]any{"n": p.id}
	switch p.name {
	case "read_file":
		args["path"] = file
		if c.w.chance(0.1) {
			args["path"] = c.forged()
		}
	case "edit_file":
		args["path"], args["old_string"], args["new_string"] = file, c.words(6), c.words(8)
		if c.w.chance(0.2) {
			args["path"], args["new_string"] = file+c.forged(), c.forged()
		}
	case "bash":
		args["command"] = []string{
			"go test ./...", "cat " + file, "git commit -m 'step'", "rm -rf out",
			"grep -rn error .", "cat '" + c.forged() + "'", c.forged(),
		}[w.IntN(7)]
	default:
		args["query"] = c.words(3)
		if c.w.chance(0.1) {
			args["query"] = c.forged()
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(args)
	p.args = strings.TrimSpace(b.String())
	return p
}
