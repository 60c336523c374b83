package adversary

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/fence/fencetest"
	"github.com/pleat-dev/pleat/proxy"
)

const binding = `"block_binding":{"prefix_mismatch_behavior":"drop_block"}`

var (
	marker = regexp.MustCompile(`, ?"cache_control": ?\{[^}]*\}`)
	tagged = regexp.MustCompile(`^k\d+\.\d+: `)
	files  = regexp.MustCompile(`read (\S+/[0-9a-z]+\.txt)`)
	ours   = []string{
		"[pleat:", "[folded:", "[session summary", "<conversation_summary>", "[Compressed]", "[Compacted]",
		"[Reactive compact]", "[snipped ", "Understood.", "Continue.",
	}
)

// legal judges a client's own request. What thinking is bound to the client does not know:
// the proxy's tools and hidden rounds are part of it.
func (c *client) legal() []string {
	loose := *c.setup
	loose.binds, loose.loose = false, true
	return c.wire.check(&view{head: http.Header{}, setup: &loose, said: c.memory, elements: c.sent})
}

// parsed is an element of this client's conversation. Most come again and again.
func (c *client) parsed(raw []byte) (element, error) {
	if e, ok := c.known[string(raw)]; ok {
		e.parts = slices.Clone(e.parts)
		return e, nil
	}
	e, err := c.wire.parse(raw)
	e.bare = e.raw
	if c.wire == messagesWire {
		e.bare = marker.ReplaceAllString(e.raw, "")
	}
	if err == nil {
		c.known[e.raw] = e
		e.parts = slices.Clone(e.parts)
	}
	return e, err
}

func (c *client) view(body []byte, head http.Header) (*view, error) {
	v := &view{head: head, setup: c.setup, said: c.memory, size: len(body)}
	list, shell, err := c.around(string(body))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(shell), &v.body); err != nil {
		return nil, fmt.Errorf("no JSON: %.200s", body)
	}
	for i, raw := range list {
		e, err := c.parsed(raw)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		v.elements = append(v.elements, e)
	}
	named(v.elements)
	return v, nil
}

// judge holds a view that reached the provider to all that is promised.
func (c *client) judge(body []byte, head http.Header) *view {
	v, err := c.view(body, head)
	if err != nil {
		c.w.fail("%s: %v", c.wire.name, err)
		return nil
	}
	for _, bad := range c.wire.check(v) {
		c.w.fail("%s, %s: an illegal view: %s\nview: %s\nsent: %s", c.wire.name, c.setup.model, bad,
			outline(v.elements), outline(c.sent))
	}
	for _, other := range c.w.clients {
		if other != c && bytes.Contains(body, []byte(other.name+".")) &&
			regexp.MustCompile(`\b`+other.name+`\.\d+: `).Match(body) {
			c.w.fail("%s: a view shows what %s said", c.wire.name, other.name)
		}
	}
	c.with = string(v.body["tools"])
	c.steady(c.sent)
	c.compare(v)
	c.stands(v)
	c.newest(v)
	if c.first == nil {
		c.first = marker.ReplaceAll(body, nil)
		// Not yet where tools of the provider's wait: a round that a stopped model left goes then.
		if c.earlier != nil && !c.setup.hosted && !bytes.Equal(c.first, c.earlier) {
			c.w.fail("%s: the same request got other bytes:\n%s\nand before\n%s", c.wire.name, c.first, c.earlier)
		}
	}
	return v
}

// around holds all of the body but the messages to what the client sent. It returns the
// messages, and the body without them.
func (c *client) around(body string) (list []json.RawMessage, shell string, err error) {
	text := body
	if c.setup.think != "" {
		text = strings.Replace(text, ","+binding, "", 1)
	}
	if rest, ok := strings.CutPrefix(text, `{"tools":`); ok && c.list == "" && c.declares() {
		_, after, err := array([]byte(rest))
		if err != nil {
			return nil, "", err
		}
		text = "{" + strings.TrimPrefix(string(after), ",")
	}
	open := strings.TrimSuffix(c.list, c.close)
	cut := func(want string, index func(s, of string) int) bool { // what the proxy adds follows the client's tools
		if head, rest, ok := strings.Cut(want, c.list); ok && c.list != "" {
			if !strings.HasPrefix(text, head+open) {
				return false
			}
			text = text[len(head)+len(open):]
			if i := index(text, rest); i >= 0 && (c.w.options.Recall == proxy.RecallByTools || text[:i] == c.close) {
				text = text[i+len(rest):]
				return true
			}
			return false
		}
		ok := strings.HasPrefix(text, want)
		text = strings.TrimPrefix(text, want)
		return ok
	}
	if !cut(c.before, strings.Index) {
		return nil, "", fmt.Errorf("what is before the messages was changed: %.300q, not %.300q", text, c.before)
	}
	at := len(body) - len(text)
	list, after, err := array([]byte(text))
	text = string(after)
	if err != nil || !cut(c.after, strings.LastIndex) || text != "" {
		return nil, "", fmt.Errorf("what is behind the messages was changed: %.300q, not %.300q (%v)", after,
			c.after, err)
	}
	return list, body[:at] + "[]" + string(after), nil
}

// declares reports whether tools are defined among the messages of the conversation's first
// request, or of one beside it: then the proxy may add its own as a list.
func (c *client) declares() bool {
	for _, e := range c.sent {
		if e.answers() && !c.aside {
			break
		}
		if e.has(state) && strings.Contains(e.raw, `"additional_tools"`) {
			return c.w.options.Recall == proxy.RecallByTools
		}
	}
	return false
}

// steady holds the list of tools of all requests that begin with the same answer to the one that
// this answer was given with: what the provider has in its cache begins with it.
func (c *client) steady(es []element) {
	begins := opening(es)
	if c.aside {
		return
	}
	if was, ok := c.given[begins]; ok && was != c.with {
		c.w.fail("%s: the tools were %.300s, and are %.300s", c.wire.name, was, c.with)
	}
	if begins != "" {
		c.given[begins] = c.with
	}
}

// opening is what a conversation begins with, up to its first answer; empty: there is none.
func opening(es []element) (begins string) {
	for _, e := range es {
		if begins += e.bare; e.answers() {
			return begins
		}
	}
	return ""
}

func (c *client) same(view, sent *element) bool {
	return view.bare == sent.bare || slices.Contains(c.alts[sent.bare], view.bare)
}

// compare finds for every element of a view where it came from.
func (c *client) compare(v *view) {
	shown := make(map[string]string) // results in the view
	parts := make(map[string]bool)   // and everything else
	for _, e := range v.elements {
		for _, p := range e.parts {
			if p.kind == result {
				shown[p.id] = p.text
			} else {
				parts[known(p)] = true
			}
		}
	}
	next, page, folded := 0, false, false
	var lost []int
	v.elements = c.apart(v.elements)
	for i := range v.elements {
		e := &v.elements[i]
		at := 0
		for at < len(c.sent)-next && !c.same(e, &c.sent[next+at]) {
			at++
		}
		if at > 0 && next+at < len(c.sent) && (e.has(state) || e.role == "system") {
			continue // a page stands for what came before it
		}
		if at == len(c.sent)-next {
			at = -1
		} else if page {
			at = c.among(v.elements[i:], next, at)
		}
		if at < 0 {
			if c.isHidden(e) {
				folded = true
				continue
			}
			if at = c.origin(e, next); at >= 0 {
				c.derived(i, e, &c.sent[next+at])
				folded = true
			} else if c.inserted(e) {
				page, folded = true, true
				continue
			}
		}
		if at < 0 {
			c.w.fail("%s: element %d of the view is from nowhere: %.300s", c.wire.name, i, e.raw)
			return
		}
		for k := next; k < next+at; k++ {
			if !page && !replaced(&c.sent[k], parts) {
				lost = append(lost, k)
			}
		}
		next, page = next+at+1, page && e.role == "system" // which stays behind the page
	}
	for k := next; k < len(c.sent); k++ {
		if !page && !replaced(&c.sent[k], parts) {
			lost = append(lost, k)
		}
	}
	if len(lost) > 0 && c.w.policy != "truncate" {
		c.w.fail("%s: elements %v of the client's %d are gone without a word; first: %s", c.wire.name, lost,
			len(c.sent), c.sent[lost[0]].raw+"\nview: "+outline(v.elements)+"\nsent: "+outline(c.sent))
	}
	if folded {
		c.w.Folded++
	}
	c.results(v, shown)
}

// apart returns a Chat view whose system messages stand as the client sent them: pleat writes
// those that a fold leaves side by side as one, their texts a blank line apart.
func (c *client) apart(view []element) []element {
	if c.wire != chatWire {
		return view
	}
	var out []element
	for _, e := range view {
		var of []element
		rest := ""
		if e.role == "system" && len(e.parts) == 1 {
			rest = e.parts[0].text + "\n\n"
		}
		for _, s := range c.sent {
			if s.role != e.role || len(s.parts) != 1 || s.parts[0].text == "" {
				continue
			}
			if after, ok := strings.CutPrefix(rest, s.parts[0].text+"\n\n"); ok {
				of, rest = append(of, s), after
			}
		}
		if rest != "" || len(of) < 2 {
			of = []element{e}
		}
		out = append(out, of...)
	}
	return out
}

// stands fails for what a view must show whatever is folded.
func (c *client) stands(v *view) {
	memory := false
	for _, e := range slices.Backward(c.sent) {
		if !e.has(state) || e.answers() && memory { // which the newer one stands for
			continue
		}
		memory = memory || e.answers()
		if !slices.ContainsFunc(v.elements, func(s element) bool { return s.raw == e.raw }) {
			c.w.fail("%s: the view hides %s\nview: %s", c.wire.name, e.raw, outline(v.elements))
		}
	}
}

// newest fails for a view that does not show what came last: the user's words, here or on a page, and the
// thinking of an answer whose calls have just got their results.
func (c *client) newest(v *view) {
	at := len(c.sent)
	for at > 0 && !c.sent[at-1].answers() {
		at--
	}
	open := at < len(c.sent) && c.sent[at].has(result) && (c.setup.think != "between_tools" ||
		slices.ContainsFunc(v.elements, func(e element) bool { return e.has(thinking) })) // which may only go as a whole
	shows := func(is func(p part) bool) bool {
		return slices.ContainsFunc(v.elements, func(e element) bool { return slices.ContainsFunc(e.parts, is) })
	}
	fail := func(what string, p part) {
		c.w.fail("%s: the newest %s: %.300s\nview: %s\nsent: %s", c.wire.name, what, p.raw, outline(v.elements),
			outline(c.sent))
	}
	for _, e := range c.sent[at:] {
		for _, p := range e.parts {
			large := c.refused > 0 || float64(len(p.text)) > float64(c.w.most()*2/7)*ownRate
			if p.kind == text && e.role == "user" && !large && !c.transient(p) &&
				!shows(func(q part) bool { return q.kind == text && strings.Contains(q.text, p.text) }) {
				fail("words are not whole", p)
			}
		}
	}
	for ; open && at > 0 && c.sent[at-1].answers(); at-- {
		for _, p := range c.sent[at-1].parts {
			stands := shows(func(q part) bool {
				return q.kind == call && slices.ContainsFunc(c.sent[at-1].parts, func(of part) bool { return of.id == q.id })
			})
			if p.kind == thinking && stands && !c.memory.beside[known(p)] &&
				!shows(func(q part) bool { return q.kind == p.kind && q.text == p.text && q.sig == p.sig }) {
				fail("answer lacks its thinking", p)
			}
		}
	}
}

// isHidden reports whether an element belongs to a round of which the client knows nothing.
func (c *client) isHidden(e *element) bool {
	for _, p := range e.parts {
		switch {
		case (p.kind == call || p.kind == result) && c.hidden[p.id]:
		case p.kind != result && c.said[known(p)]: // beside a hidden call, or behind one
		default:
			return false
		}
	}
	return true
}

// origin is the client's element that a changed one came from, counted from a place.
func (c *client) origin(e *element, from int) int {
	for _, p := range e.parts {
		tag := tagged.FindString(p.text)
		for k := range c.sent[from:] {
			for _, q := range c.sent[from+k].parts {
				if q.kind == p.kind && (p.id != "" && p.id == q.id || p.kind == text && tag != "" &&
					strings.HasPrefix(q.text, tag)) {
					return k
				}
			}
		}
	}
	return -1
}

// derived holds a changed element to what may change: results, long texts, and thinking
// that is gone.
func (c *client) derived(at int, e, from *element) {
	bad := func(what string) {
		c.w.fail("%s: element %d of the view: %s\nview: %.2000s\nsent: %.2000s", c.wire.name, at, what, e.raw, from.raw)
	}
	if e.role != from.role {
		bad("another role")
	}
	if without(e.raw, append(c.wire.plain, "cache_control")...) != without(from.raw,
		append(c.wire.plain, "cache_control")...) && len(e.parts) == len(from.parts) && c.wire != geminiWire {
		bad("members beside the content differ")
	}
	k := 0
	for _, p := range e.parts {
		if p.kind == result && c.hidden[p.id] { // where all results are in one element
			continue
		}
		for k < len(from.parts) && from.parts[k].kind == thinking && p.kind != thinking {
			k++
		}
		if k == len(from.parts) {
			bad("more parts than were sent")
			return
		}
		q := from.parts[k]
		k++
		switch {
		case p.kind != q.kind || p.id != q.id || p.name != q.name || p.failed != q.failed:
			bad("another part")
		case p.kind == call && p.sig != "" && p.sig == q.sig && without(p.args) != without(q.args):
			bad("the signature of other arguments")
		case p.kind == result:
			if p.text != q.text {
				c.stubs[p.id+"\x00"+q.text] = p.text
			}
		case p.kind == text && p.text != q.text:
			if len(p.text) >= len(q.text) || !strings.HasPrefix(q.text, p.text[:min(len(p.text), 8)]) {
				bad("a text that is no shortened one")
			}
		case without(p.raw, "cache_control", "id") != without(q.raw, "cache_control", "id"):
			bad("a changed part")
		}
	}
	for ; k < len(from.parts); k++ {
		if q := from.parts[k]; q.kind != thinking && !c.transient(q) {
			bad("a part is gone")
		}
	}
}

func (c *client) transient(p part) bool { return strings.HasSuffix(p.text, "tokens are left") }

// inserted reports whether an element is one that a policy puts there.
func (c *client) inserted(e *element) bool {
	if len(e.parts) != 1 || e.parts[0].kind != text || e.role != "user" && e.role != "assistant" {
		return false
	}
	if bad := fencetest.Page(e.parts[0].text); e.role == "user" && len(bad) > 0 {
		c.w.fail("%s: content speaks as the user: %q in\n%s", c.wire.name, bad, e.parts[0].text)
	}
	return slices.ContainsFunc(ours, func(s string) bool { return strings.HasPrefix(e.parts[0].text, s) })
}

// among returns which of equal elements the first of a view's rest is, behind a page, which
// may stand for some of them: the last one before what follows it in the view.
func (c *client) among(rest []element, next, first int) int {
	end := len(c.sent) - next // behind the last element of a view there is nothing
	for i := range rest[1:] {
		e := &rest[1+i]
		at := slices.IndexFunc(c.sent[next:], func(s element) bool { return c.same(e, &s) })
		if at < 0 && c.isHidden(e) {
			continue
		}
		if at < 0 {
			at = c.origin(e, next)
		}
		end = at
		break
	}
	for at := end - 1; at > first; at-- {
		if c.same(&rest[0], &c.sent[next+at]) {
			return at
		}
	}
	return first
}

// replaced reports whether an answer is shown in another form: an answer that held hidden
// rounds as the provider gave it, or without its thinking.
func replaced(e *element, shown map[string]bool) bool {
	for _, p := range e.parts {
		if p.kind != thinking && !shown[known(p)] {
			return false
		}
	}
	return e.answers()
}

// known is what a part of an answer is known by.
func known(p part) string {
	if tag := tagged.FindString(p.text); tag != "" {
		return tag
	}
	return p.kind + p.id + p.text
}

// recover gets back everything that the request's views did not show.
func (c *client) recover() {
	var want []part
	for _, p := range c.pending {
		key := p.id + "\x00" + p.text
		if _, ok := c.got[key]; !ok || c.stubs[key] != c.got[key] {
			want = append(want, p)
		}
	}
	if len(want) == 0 || len(c.w.bad) > 0 {
		return
	}
	ctx := context.Background()
	o, ok := c.w.opened[c.w.report.Session]
	if !ok {
		c.w.fail("%s: results are folded, but there is no session %s", c.wire.name, c.w.report.Session)
		return
	}
	s, err := pleat.OpenSession(ctx, c.w.store, c.w.report.Session, &o)
	if err != nil {
		c.w.fail("%s: %v", c.wire.name, err)
		return
	}
	defer s.Close()
	unfold := func(handle string) (string, error) {
		if text, ok := c.unfolded[handle]; ok {
			return text, nil
		}
		u, err := s.Unfold(ctx, pleat.UnfoldRequest{Handle: handle})
		c.unfolded[handle] = u.Whole
		c.w.Unfolded++
		return u.Whole, err
	}
	blocks, spans := make(map[string]bool), []string{}
	for _, f := range s.Folds() {
		text, err := unfold(f.Handle)
		switch sum := sha256.Sum256([]byte(text)); {
		case err != nil:
			c.w.fail("%s: unfold %s: %v", c.wire.name, f.Handle, err)
		case f.Hash != sum || f.Bytes != len(text):
			c.w.fail("%s: the fold of %s has the hash of something else", c.wire.name, f.Handle)
		case f.Whole():
			spans = append(spans, text)
		default:
			blocks[text] = true
		}
	}
	for _, p := range want {
		key := p.id + "\x00" + p.text
		stub := c.stubs[key]
		if !blocks[p.text] && !slices.ContainsFunc(spans, func(s string) bool { return strings.Contains(s, p.text) }) {
			c.w.fail("%s: no fold gives back the result of %s: %.200q", c.wire.name, p.id, p.text)
		}
		if m := handles.FindStringSubmatch(stub); m != nil {
			if text, err := unfold(m[1]); text != p.text {
				c.w.fail("%s: the stub of %s gives back something else (%v): %.200q, not %.200q", c.wire.name, p.id,
					err, text, p.text)
			}
		}
		if m := files.FindStringSubmatch(stub); m != nil && c.w.options.Recall == proxy.RecallByFile {
			if data, err := os.ReadFile(m[1]); string(data) != p.text {
				c.w.fail("%s: the file of %s has something else (%v): %.200q, not %.200q", c.wire.name, p.id,
					err, data, p.text)
			}
		}
		if stub == "" {
			c.w.Spans++
		} else {
			c.w.Results++
		}
		c.got[key] = stub
	}
}

// outline is the shape of a conversation, for messages.
func outline(es []element) string {
	var b strings.Builder
	for i, e := range es {
		fmt.Fprintf(&b, "\n%d %s:", i, e.role)
		for _, p := range e.parts {
			fmt.Fprintf(&b, " %s %s%.20q", p.kind, p.id, p.text)
		}
	}
	return b.String()
}
