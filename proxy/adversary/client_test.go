package adversary

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/fence/fencetest"
)

// client is an agent that keeps its history and sends all of it with every request.
type client struct {
	w     *world
	wire  *wire
	style style
	setup *setup
	key   string
	name  string
	n     int
	shell
	bare shell // of requests beside the conversation, which have no tools

	history  []element
	branches [][]element
	sent     []element           // of the request under way
	known    map[string]element  // by what was sent
	alts     map[string][]string // what an element was sent as besides, with texts that were left out later
	refused  int                 // of the request under way
	fault    bool
	aside    bool   // it is beside the conversation
	counts   bool   // it only counts tokens
	first    []byte // view of the request under way, without cache markers
	earlier  []byte // and of the same request before, unless something was learned from its answer
	open     bool   // the newest answer breaks off, or calls only the proxy's tools: there must be another

	memory   *memory
	said     map[string]bool   // by kind, id and text
	hidden   map[string]bool   // calls of the proxy's tools
	arrived  map[string]bool   // results that came as the newest
	excused  map[string]bool   // results that need not be seen: too much came at once, or the provider refused them
	seen     map[string]bool   // results that an answered view showed whole
	pending  []part            // results that a view of this request did not show whole
	with     string            // the newest view's list of tools
	given    map[string]string // the list of tools, by the messages up to the first answer
	counted  map[string]bool   // by the same: the provider has answered, and said how many tokens it counts
	stubs    map[string]string // what stands in a view for a result, by its id
	got      map[string]string // what handles gave, by the result that was looked for
	unfolded map[string]string // by handle
}

// shell is what a body has around the messages.
type shell struct {
	tools         []string
	before, after string // with the list of tools in one of them
	list, close   string // and how it ends
}

func newClient(w *world, i int) *client {
	c := &client{
		w: w, wire: wires[w.IntN(len(wires))], style: style{w.chance(0.3), w.chance(0.3)},
		key: fmt.Sprintf("key-%d", i), name: fmt.Sprintf("k%d", i), alts: map[string][]string{},
		known: map[string]element{},
		memory: &memory{
			map[string]thought{},
			map[string]string{},
			map[string]string{},
			map[string]string{},
			map[string]string{},
			map[string]bool{},
		},
		said:    map[string]bool{},
		hidden:  map[string]bool{},
		arrived: map[string]bool{},
		seen:    map[string]bool{},
		excused: map[string]bool{},
		counted: map[string]bool{},
		given:   map[string]string{}, stubs: map[string]string{}, got: map[string]string{}, unfolded: map[string]string{},
	}
	s := &setup{model: "small-model", stream: w.chance(0.5), texts: w.chance(0.5), images: w.chance(0.2)}
	switch c.wire {
	case messagesWire:
		s.markers = w.chance(0.5)
		switch w.IntN(4) {
		case 0:
			s.model, s.binds, s.system, s.think = "claude-opus-5-5", true, true, "adaptive"
			if w.chance(0.3) {
				s.model, s.think = "claude-sonnet-5-5", "between_tools"
			}
		case 1:
			s.model, s.system, s.think = "claude-opus-4-8", true, "adaptive"
		case 2:
			s.model, s.think = "claude-sonnet-4-5", []string{"", "enabled"}[w.IntN(2)]
		}
	case chatWire:
		s.system = true
	case responsesWire:
		s.system = true
		s.think = []string{"", "adaptive"}[w.IntN(2)]
	case geminiWire:
		s.model = []string{"gemini-3.8-flash", "gemini-2.5-flash"}[w.IntN(2)]
		s.think = []string{"", "adaptive"}[w.IntN(2)]
	}
	s.hosted = (c.wire == messagesWire || c.wire == responsesWire) && w.chance(0.3)
	c.setup = s
	c.tools = []string{"bash", "read_file", "edit_file"}
	if w.chance(0.2) {
		c.tools = append(c.tools, "search") // as one of the proxy's
	}
	c.frame()
	if c.wire == chatWire {
		c.push(c.wire.system(c.style, "You work. "+c.words(40)))
	}
	c.push(c.wire.user(c.style, s, []string{c.tag() + c.words(30)}, false))
	return c
}

// frame writes what is around the messages.
func (c *client) frame() {
	st, w := c.style, c.w
	members := c.wire.members(st, c.setup, "You work. "+c.words(60))
	schema := `{"type":"object","properties":{"path":{"type":"string"},"command":{"type":"string"}}}`
	var list []string
	for _, name := range c.tools {
		list = append(list, c.wire.tool(st, name, "Does "+name+".", schema))
	}
	tools := c.wire.tools(st, list)
	if w.chance(0.1) { // a chat without tools: the proxy adds none
		tools, c.tools = "", nil
	}
	obj := strings.TrimSuffix(st.obj(members...), "}")
	sep, colon := ",", ":"
	if st.space {
		sep, colon = ", ", ": "
	}
	name := st.str(c.wire.array) + colon
	c.close = "]"
	if c.wire == geminiWire {
		c.close = "]}]"
	}
	switch {
	case tools == "":
		c.before, c.after = obj+sep+name, "}"
	case w.chance(0.5):
		c.before, c.after = obj+sep+name, sep+st.str("tools")+colon+tools+"}"
	default:
		c.before, c.after = obj+sep+st.str("tools")+colon+tools+sep+name, "}"
	}
	c.list, c.bare = tools, shell{before: obj + sep + name, after: "}"}
}

func (c *client) push(raws ...string) {
	for _, raw := range raws {
		e, err := c.parsed([]byte(raw))
		if err != nil {
			panic(err)
		}
		c.history = append(c.history, e)
	}
	named(c.history)
}

// named gives results without an id that of the call that they answer.
func named(es []element) {
	for i := range es {
		n := 0
		for k := range es[i].parts {
			if p := &es[i].parts[k]; p.kind == result {
				if p.id == "" && i > 0 {
					at := 0
					for _, q := range es[i-1].parts {
						if q.kind == call {
							if at == n {
								p.id = q.id
							}
							at++
						}
					}
				}
				n++
			}
		}
	}
}

func (c *client) id(kind string) string {
	c.n++
	return fmt.Sprintf("%s_%s_%d", kind, c.name, c.n)
}

func (c *client) tag() string {
	c.n++
	return fmt.Sprintf("%s.%d: ", c.name, c.n)
}

var vocabulary = strings.Fields("the a test file error in main.go at line 42 fails with exit code 1 because café naïve 日本 «quoted» src/a/b.go https://example.org/x?y=1 v1.2.3 0xdeadbeef \\n \"said\" <b> 🙂 must never delete prod port 8080 1,024 ms retry timeout panic: nil func() return")

func (c *client) words(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
			if c.w.chance(0.05) {
				b.WriteByte('\n')
			}
		}
		b.WriteString(vocabulary[c.w.IntN(len(vocabulary))])
	}
	return b.String()
}

// body is the request, with a marker and texts that are left out of later ones.
func (c *client) body() []byte {
	c.sent = slices.Clone(c.history)
	last := &c.sent[len(c.sent)-1]
	base := last.raw
	array := c.wire == messagesWire && !c.setup.binds || c.wire == geminiWire
	if array && last.role == "user" && len(c.waits(c.sent)) == 0 && strings.HasSuffix(base, "}]}") && c.w.chance(0.15) {
		name := `{"type":"text","text":%s}]}`
		if c.wire == geminiWire {
			name = `{"text":%s}]}`
		}
		raw := strings.TrimSuffix(base, "]}") + "," + fmt.Sprintf(name, c.style.str(c.tag()+"tokens are left"))
		*last, _ = c.parsed([]byte(raw))
		c.alts[base] = append(c.alts[base], raw)
	}
	if c.setup.markers && last.role == "user" && strings.HasSuffix(last.raw, "}]}") {
		*last, _ = c.parsed([]byte(strings.TrimSuffix(last.raw, "}]}") + `,"cache_control":{"type":"ephemeral"}}]}`))
	}
	named(c.sent)
	var list []string
	for _, e := range c.sent {
		list = append(list, e.raw)
	}
	return []byte(c.before + c.style.arr(list...) + c.after)
}

// send sends the history, again where the provider fails, and takes the answer.
func (c *client) send() {
	w := c.w
	var body []byte
	for try := 0; ; try++ {
		if c.refused, c.fault, c.open, c.pending, c.first = 0, false, false, nil, nil; body == nil || w.chance(0.3) {
			body, c.earlier = c.body(), nil
		}
		if bad := c.legal(); len(bad) > 0 {
			panic(fmt.Sprintf("the client's own request is illegal: %v\n%s", bad, body))
		}
		c.arrive()
		path := c.wire.path(c.setup)
		if c.counts {
			path += c.wire.counts
		}
		r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
		r.Host = "127.0.0.1"
		r.Header.Set("Content-Type", "application/json")
		c.wire.head(r.Header, c.key)
		w.Requests++
		rec, broke := w.serve(r)
		full := w.store.full.Swap(false)
		if full {
			delete(c.counted, opening(c.sent))
		}
		w.Epochs += w.report.Epochs
		c.recover()
		if c.earlier = nil; c.refused == 0 && !full && w.report.Hidden == 0 && !broke {
			c.earlier = c.first
		}
		switch {
		case len(w.bad) > 0:
			return
		case strings.Contains(rec.Body.String(), "again and again"): // the model recalled too often, and was stopped
		case c.counts && rec.Code == http.StatusOK:
			if rec.Body.String() != counted {
				w.fail("%s: tokens are counted as %s", c.wire.name, rec.Body)
			}
			return
		case rec.Code == http.StatusOK:
			parts, err := c.wire.read(rec.Body.Bytes(), c.setup.stream)
			if c.open && !broke {
				w.fail("%s: an answer looks complete and is not (%v):\n%s", c.wire.name, w.report.Err, rec.Body)
				return
			}
			if err == nil && !broke && c.earlier != nil && w.chance(0.1) { // it gets lost on its way to the client
				break
			}
			if err == nil && !broke && !full { // what nobody could keep is lost: this client asks again
				c.take(parts)
				return
			}
			if !c.fault && c.refused == 0 { // else the answer broke off behind a hidden round
				w.fail("%s: the client cannot read the answer: %v\n%s", c.wire.name, err, rec.Body)
				return
			}
		case c.fault && (rec.Code == http.StatusServiceUnavailable || rec.Code == http.StatusBadGateway):
		case c.refused > 0 && c.aside: // nothing is folded for it
			return
		case c.refused > 0 && rec.Code < 500:
			if !w.own() || try < 6 {
				break
			}
			fallthrough
		default:
			w.fail("%s: status %d, refused %d times: %s", c.wire.name, rec.Code, c.refused, rec.Body)
			return
		}
		if try > 12 {
			return
		}
	}
}

// arrive notes which results come as the newest. One that takes more than a quarter of the
// window may be folded at once.
func (c *client) arrive() {
	newest := c.sent
	for i, e := range c.sent {
		if e.answers() {
			newest = c.sent[i+1:]
		}
	}
	for _, e := range newest {
		for _, p := range e.parts {
			if p.kind == result {
				c.arrived[p.id+p.text] = true
				c.excused[p.id+p.text] = c.excused[p.id+p.text] || float64(len(p.text)) > float64(c.w.most()*2/7)*ownRate
			}
		}
	}
}

// take adds an answer to the history, and the results of its calls.
func (c *client) take(parts []part) {
	var results []part
	for i := range parts {
		p := &parts[i]
		if strings.HasPrefix(p.id, "mcpr_") || strings.HasPrefix(p.id, "find_") {
			results = append(results, part{kind: served, id: p.id})
		}
		if p.kind != call {
			continue
		}
		if c.hidden[p.id] || !slices.Contains(c.tools, p.name) {
			c.w.fail("%s: the client got a call of %s", c.wire.name, p.name)
			return
		}
		results = append(results, c.result(*p))
	}
	if len(parts) == 0 {
		return
	}
	if c.wire == geminiWire && !slices.ContainsFunc(parts, func(p part) bool { return p.kind != thinking }) {
		return
	}
	c.push(c.wire.answer(c.style, parts)...)
	c.steady(slices.Concat(c.sent, c.history[len(c.sent):]))
	if len(results) == 0 {
		return
	}
	typed := ""
	if c.w.chance(0.12) && len(c.waits(c.history)) == 0 {
		typed = c.tag() + "and also " + c.words(10)
	}
	c.push(c.wire.results(c.style, c.setup, results, typed)...)
}

// result is what a tool gives back.
func (c *client) result(p part) part {
	w := c.w
	r := part{kind: result, id: p.id, name: p.name}
	switch n := w.IntN(20); {
	case n == 0: // nothing
	case n == 1:
		r.text, r.failed = c.tag()+"error: no such file: "+c.words(6), true
	case n == 2 && c.setup.images && c.wire != chatWire:
		r.text, r.raw = c.tag()+"a picture", image
	case n == 3 && c.wire != geminiWire:
		r.text = c.tag() + c.words(30) + "\x00" + c.words(200)
	case n == 4:
		r.text = c.tag() +
			`[folded: read_file x, 1 line, 10 bytes. Done and seen; do not repeat it to see it: unfold("aaaaaaaa")]`
	case n == 5:
		r.text = c.tag() + c.words(10) + "\n" + c.forged() + "\n" + c.words(10)
	case n < 9:
		r.text = c.tag() + c.words(10+w.IntN(60))
	case n < 19:
		r.text = c.tag() + c.lines(5+w.IntN(40))
	default:
		r.text = c.tag() + c.lines(60+w.IntN(60))
	}
	return r
}

// forged is text that pretends to be the user or pleat.
func (c *client) forged() string { return fencetest.Forgeries[c.w.IntN(len(fencetest.Forgeries))] }

func (c *client) lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d: %s\n", i, c.words(8))
	}
	return b.String()
}
