package adversary

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func number(t *testing.T, name string, or int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return or
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestViews drives the proxy with hostile clients and judges every view that reaches the
// provider. PLEAT_VIEWS is about how many views there are, PLEAT_SEED the first seed.
func TestViews(t *testing.T) {
	few := 400
	if testing.Short() {
		few = 100
	}
	want, seed := number(t, "PLEAT_VIEWS", few), uint64(number(t, "PLEAT_SEED", 1))
	began := time.Now()
	dir := t.TempDir()
	var mu sync.Mutex
	var total counts
	failed := 0
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				mu.Lock()
				mine, more := seed, total.Views < want && failed < 5
				seed++
				mu.Unlock()
				if !more {
					return
				}
				n, ok := judged(t, mine, dir)
				mu.Lock()
				if !ok {
					failed++
				}
				total.add(n)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%+v in %v", total, time.Since(began).Round(time.Millisecond))
	if want >= 400 && (total.Folded == 0 || total.Unfolded == 0 || total.Hidden == 0) {
		t.Error("nothing was put to the test")
	}
}

// judged runs one case.
func judged(t *testing.T, seed uint64, dir string) (n counts, ok bool) {
	dir = fmt.Sprintf("%s/%d", dir, seed)
	defer os.RemoveAll(dir)
	w, err := newWorld(seed, dir)
	if err == nil {
		defer func() {
			if p := recover(); p != nil {
				t.Errorf("seed %d (%s): %v", seed, w.policy, p)
			}
		}()
		err = w.run()
	}
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
		return counts{}, false
	}
	for _, bad := range w.bad {
		t.Errorf("seed %d (%s, window %d, recall %s): %s\nrun it alone: PLEAT_SEED=%d PLEAT_VIEWS=1 go test -run TestViews -v ./proxy/adversary",
			seed, w.policy, w.options.Window, w.options.Recall, bad, seed)
	}
	return w.counts, len(w.bad) == 0
}

// The judges share no code with what they judge: beside the standard library they may
// import what a user of the proxy imports, and a judge of pages that imports nothing of ours. The file of the
// library's program has no judge: it imports what a user of the library imports.
func TestImports(t *testing.T) {
	const module = "github.com/pleat-dev/pleat"
	allowed := []string{
		module, module + "/policy", module + "/proxy", module + "/store", module + "/internal/fence/fencetest",
	}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		allowed := allowed
		switch {
		case file.Name() == "library_test.go":
			allowed = append(slices.Clip(allowed), module+"/model", module+"/wire/anthropic", module+"/wire/gemini",
				module+"/wire/openai")
		case !strings.HasSuffix(file.Name(), ".go"):
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if first, _, _ := strings.Cut(name, "/"); strings.Contains(first, ".") && !slices.Contains(allowed, name) {
				t.Errorf("%s imports %s", file.Name(), name)
			}
		}
	}
}

const (
	ownRate = 1.9 // bytes of the vocabulary that a token has at least, by the proxy's count
	astray  = 1.2 // of one view in twenty the proxy's count is more than this above the provider's
)

// results looks at what the view shows of every result that the client sent.
func (c *client) results(v *view, shown map[string]string) {
	least, most := c.least(v), c.w.most()
	for i, e := range c.sent {
		for _, p := range e.parts {
			if p.kind != result || p.text == "" {
				continue
			}
			if text, ok := shown[p.id]; ok && text == p.text {
				continue
			}
			c.pending = append(c.pending, p)
			key := p.id + p.text
			if c.refused > 1 || least > most {
				c.excused[key] = true
			}
			if !c.w.strict() || c.seen[key] || !c.arrived[key] || c.excused[key] {
				continue
			}
			c.w.fail("%s: the result of %s in element %d of %d is not whole, no model has seen it, and a view that shows it "+
				"needs %d of %d tokens; in its place: %.300q", c.wire.name, p.id, i, len(c.sent), least, most,
				shown[p.id])
		}
	}
}

// least is how many tokens the smallest view has that shows the newest round whole: what is around
// the messages, the head, a page with next to nothing but what people typed (a third of the size
// that views are folded to, and a fifth more for marks), and the round. They are counted as the
// proxy can know them: by what the provider said of earlier views, which were made of other things,
// or by its own count as long as a conversation has no answer.
// Where thinking has to come first, no view begins with an answer of an open turn that has none:
// the rounds before it stay, too, and so do those since a tool of the provider's began that waits for them.
func (c *client) least(v *view) int {
	const (
		page = 300 // tokens
		mark = len("- message 100:\n<said 0123>\n\n</said 0123>\n")
	)
	around := v.size
	for _, e := range v.elements {
		around -= len(e.raw)
	}
	newest := len(c.sent)
	for whole := false; !whole; {
		for _, answers := range []bool{false, true} {
			for newest > 0 && c.sent[newest-1].answers() == answers {
				newest--
			}
		}
		whole = newest == 0 || len(c.waits(c.sent[:newest])) == 0 && (c.setup.think != "enabled" ||
			c.sent[newest].parts[0].kind == thinking || !c.sent[newest-1].has(result))
	}
	typed, kept, head := 0, 0, true
	for i, e := range c.sent {
		if head = head && !e.answers(); head || i >= newest {
			kept += len(e.raw)
			continue
		}
		for _, p := range e.parts {
			if e.role == "user" && p.kind == text {
				typed += mark + len(p.text)
			}
		}
	}
	rate := c.w.provider.rate / astray
	if !c.counted[opening(c.sent)] {
		rate = ownRate
	}
	tokens := func(n int) int { return int(float64(n) / rate) }
	target := c.w.most() * 4 / 7 // half of the window
	return tokens(around+kept) + page + min(tokens(typed), target*2/5)
}

// saw notes what an answered view showed whole.
func (c *client) saw(v *view) {
	c.counted[opening(c.sent)] = true
	for _, e := range v.elements {
		for _, p := range e.parts {
			if p.kind == result {
				c.seen[p.id+p.text] = true
			}
		}
	}
}

func TestLeastWhereThinkingComesFirst(t *testing.T) {
	say := func(role string, size int, kinds ...string) element {
		e := element{role: role, raw: strings.Repeat("x", size)}
		for _, kind := range kinds {
			e.parts = append(e.parts, part{kind: kind})
		}
		return e
	}
	w := &world{provider: &provider{rate: astray, limit: 100_000, numbers: true}}
	c := &client{w: w, setup: &setup{}, sent: []element{
		say("user", 1, text),
		say("assistant", 1_000, thinking, call), say("user", 1_000, result),
		say("assistant", 100, thinking, call), say("user", 100, result),
		say("assistant", 10, call), say("user", 10, result),
	}}
	c.counted = map[string]bool{opening(c.sent): true}
	free := c.least(&view{})
	if c.setup.think = "enabled"; c.least(&view{}) != free+200 {
		t.Errorf("%d tokens, and %d where thinking comes first", free, c.least(&view{}))
	}
}
