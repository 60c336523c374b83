package proxy

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/httpbody"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/gemini"
	"github.com/pleat-dev/pleat/wire/openai"
)

// capture keeps what reaches an upstream.
type capture struct {
	to http.Handler

	mu     sync.Mutex
	bodies [][]byte
	heads  []http.Header
}

func (c *capture) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	c.mu.Lock()
	c.bodies, c.heads = append(c.bodies, body), append(c.heads, r.Header.Clone())
	c.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	c.to.ServeHTTP(w, r)
}

func (c *capture) all() [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bodies
}

// clock ticks a second with every look.
func clock() func() time.Time {
	var mu sync.Mutex
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}
}

// Two replicas that take turns on one store, each of which is stopped and started again
// on the way, send the same bytes as one that runs all the time.
func TestReplicas(t *testing.T) {
	eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
		script := upstreamtest.Options{Calls: 16, Bytes: 12_000, RecallAt: 9, Parallel: 2}
		one := &capture{to: upstreamtest.New(script)}
		a := newAgent(on, start(t, one, Options{Window: window, Now: clock()}), "Do all the steps.")
		a.streams = streams
		a.run(t)

		shared := store.NewMemory()
		two := &capture{to: upstreamtest.New(script)}
		at := serve(t, two)
		replica := func() string {
			return startAt(t, at, Options{Window: window, Store: shared, Now: clock()})
		}
		replicas := []string{replica(), replica()}
		b := newAgent(on, "", "Do all the steps.")
		b.streams = streams
		for i, more := 0, true; more; i++ {
			if i%5 == 4 {
				replicas[i%2] = replica()
			}
			b.url = replicas[i%2]
			more = b.turn(t)
		}
		sameBodies(t, one.all(), two.all())
		wellBehaved(t, two.to.(*upstreamtest.Server).Log())
	})
}

func sameBodies(t *testing.T, want, got [][]byte) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("%d requests, want %d", len(got), len(want))
	}
	for i := range min(len(want), len(got)) {
		if !bytes.Equal(want[i], got[i]) {
			at := 0
			for at < min(len(want[i]), len(got[i])) && want[i][at] == got[i][at] {
				at++
			}
			t.Fatalf("request %d differs at byte %d of %d:\n got …%s\nwant …%s", i, at, len(got[i]), around(got[i], at),
				around(want[i], at))
		}
	}
}

func around(b []byte, at int) []byte { return b[max(at-100, 0):min(at+100, len(b))] }

// While nothing is folded a request goes out as it came, but for the recall tools.
func TestUntouched(t *testing.T) {
	eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
		up := &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 5})}
		a := newAgent(on, start(t, up, Options{Recall: RecallOff}), "Do all the steps.")
		a.streams = streams
		a.run(t)
		sameBodies(t, a.bodies, up.all())

		up = &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 5})}
		a = newAgent(on, start(t, up, Options{}), "Do all the steps.")
		a.streams = streams
		a.run(t)
		var added []byte
		for i, body := range up.all() {
			from, err := on.Read(a.bodies[i])
			must(t, err)
			want, err := from.Splice(transcript.Whole(len(from.Messages)), recall.Tools()...)
			if err != nil || !bytes.Equal(body, want) {
				t.Fatalf("request %d is not what came with the recall tools behind the client's: %v", i, err)
			}
			if i > 0 && len(body)-len(a.bodies[i]) != len(added) {
				t.Fatalf("what was added to request %d is not what was added to the first", i)
			}
			added = make([]byte, len(body)-len(a.bodies[i]))
		}
	})
}

// Within an epoch what was sent stays as it was sent: every request begins with the
// messages of the one before.
func TestByteStable(t *testing.T) {
	eachWire(t, func(t *testing.T, on *protocol.Protocol, streams bool) {
		up := &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 20, Bytes: 12_000, RecallAt: 12})}
		reports := newReports()
		a := newAgent(on, start(t, up, Options{Window: window, Report: reports.add}), "Do all the steps.")
		a.streams = streams
		a.run(t)
		epochs, changes := 0, rewritten(t, on, up.all())
		for _, r := range reports.wait(len(a.bodies)) {
			epochs += r.Epochs
		}
		if changes != epochs || epochs == 0 {
			t.Errorf("%d requests changed what was sent before, %d epochs opened", changes, epochs)
		}
	})
}

// rewritten counts the requests that do not begin with the messages of the one before.
func rewritten(t *testing.T, on *protocol.Protocol, bodies [][]byte) (n int) {
	t.Helper()
	var before []transcript.Hash
	for _, body := range bodies {
		r, err := on.Read(body)
		must(t, err)
		var now []transcript.Hash
		for _, m := range r.Messages {
			now = append(now, on.Hash([]byte(m.Raw())))
		}
		if len(now) < len(before) || !slices.Equal(now[:len(before)], before) {
			n++
		}
		before = now
	}
	return n
}

// movedThinking reports whether a request shows thinking of the one before it behind other
// messages.
func movedThinking(before, now *anthropic.Request) bool {
	behind := func(r *anthropic.Request) map[string]transcript.Hash {
		var hashes []transcript.Hash
		for _, m := range r.Messages {
			hashes = append(hashes, anthropic.MessageHash([]byte(m.Raw())))
		}
		out, chain := make(map[string]transcript.Hash), transcript.Chain(transcript.Hash{}, hashes)
		for i, m := range r.Messages {
			for _, b := range m.Blocks().All() {
				if t, ok := b.(transcript.Thinking); ok && i > 0 {
					out[t.Raw] = chain[i-1]
				}
			}
		}
		return out
	}
	was := behind(before)
	for raw, at := range behind(now) {
		if had, ok := was[raw]; ok && had != at {
			return true
		}
	}
	return false
}

// On models that bind thinking to what came before it, thinking that does not verify any
// more goes out only with leave to drop it.
func TestBoundThinking(t *testing.T) {
	up := &capture{to: upstreamtest.New(upstreamtest.Options{Calls: 20, Bytes: 12_000, Thinking: true})}
	a := newAgent(protocol.Messages, start(t, up, Options{Window: window}), "Do all the steps.")
	a.model = "claude-opus-5-5"
	a.tools = `[{"name":"bash","description":"Run.","input_schema":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}],"thinking":{"type":"adaptive","display":"omitted"}`
	a.run(t)
	var before *anthropic.Request
	invalid := 0
	for i, body := range up.all() {
		r, err := anthropic.Decode(body)
		must(t, err)
		leave := bytes.Contains(body, []byte(`"block_binding":{"prefix_mismatch_behavior":"drop_block"}`))
		beta := up.heads[i].Get("Anthropic-Beta") == anthropic.BindingBeta
		if leave != beta {
			t.Errorf("request %d: control %t, header %t", i, leave, beta)
		}
		if before != nil && movedThinking(before, r) {
			invalid++
			if !leave {
				t.Errorf("request %d shows thinking behind other bytes and does not ask to drop it", i)
			}
		}
		before = r
	}
	if invalid == 0 {
		t.Error("no request changed what was before thinking: the test shows nothing")
	}
}

// lines is a log that several goroutines write.
type lines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

// Sub-agents that begin alike and at once share a session until they part. What they are
// answered is recorded, whoever is faster.
func TestParallelAlike(t *testing.T) {
	var log lines
	st, up := store.NewMemory(), serve(t, upstreamtest.New(upstreamtest.Options{Calls: 4, Bytes: 2_000}))
	o := Options{Store: st, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	url := startAt(t, up, o)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			a := newAgent(protocol.Messages, url, "Do all the steps.")
			for {
				more, err := a.step()
				if err != nil {
					t.Error(err)
				}
				if !more || err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	if n := strings.Count(log.String(), "could not be"); n > 0 {
		t.Errorf("%d times something could not be stored:\n%.2000s", n, log.String())
	}
}

// replayed is a real session as the series of requests that its client would have sent.
type replayed struct {
	on       *protocol.Protocol
	requests [][]byte
}

const replayRequests = 24 // of a session, evenly spread; the last one has everything

// element turns a message into elements of a wire.
func element(on *protocol.Protocol, m transcript.Message) [][]byte {
	var out [][]byte
	var err error
	switch on {
	case protocol.Messages:
		var one []byte
		one, err = anthropic.EncodeMessage(m)
		out = [][]byte{one}
	case protocol.Chat:
		out = openai.EncodeChatMessage(m)
	case protocol.Responses:
		out = openai.EncodeItems(m)
	case protocol.Gemini:
		var one []byte
		one, err = gemini.EncodeMessage(m)
		out = [][]byte{one}
	}
	if err != nil {
		return nil // nothing of it has a form on this wire
	}
	return out
}

func newReplayed(on *protocol.Protocol, list []transcript.Message) replayed {
	tools := map[*protocol.Protocol]string{
		protocol.Messages:  `"max_tokens":4096,"tools":[{"name":"bash","input_schema":{"type":"object"}}]`,
		protocol.Chat:      `"tools":[{"type":"function","function":{"name":"bash","parameters":{"type":"object"}}}]`,
		protocol.Responses: `"store":false,"tools":[{"type":"function","name":"bash","parameters":{"type":"object"}}]`,
		protocol.Gemini:    `"tools":[{"functionDeclarations":[{"name":"bash"}]}]`,
	}[on]
	var elements []string
	var ends []int
	asked := false
	for _, m := range list {
		for _, raw := range element(on, m) {
			answer := m.Role() == transcript.RoleAssistant
			if answer && asked {
				ends = append(ends, len(elements))
			}
			asked = !answer
			elements = append(elements, string(raw))
		}
	}
	if asked {
		ends = append(ends, len(elements))
	}
	r := replayed{on: on}
	every := max(len(ends)/replayRequests, 1)
	for i, end := range ends {
		if i%every == 0 || i == len(ends)-1 {
			r.requests = append(r.requests,
				fmt.Appendf(nil, `{"model":"some-model","%s":[%s],%s}`, on.Array, strings.Join(elements[:end], ","), tools))
		}
	}
	return r
}

// sink is an upstream inside the test: it keeps what it gets and says yes.
type sink struct {
	t      *testing.T
	on     *protocol.Protocol
	client []byte // the request under way
	bodies [][]byte
}

func (s *sink) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.bodies = append(s.bodies, body)
	from, err := s.on.Read(s.client)
	if err != nil {
		s.t.Fatal(err)
	}
	sent, err := s.on.Read(body)
	if err != nil {
		s.t.Fatalf("what went out cannot be read: %v", err)
	}
	for _, v := range transcript.NewViolations(from.Check(model.Model{}), sent.Check(model.Model{})) {
		s.t.Errorf("request %d is illegal where the client's was not: %s", len(s.bodies), v)
	}
	prompt := len(body) / 4
	reply := map[*protocol.Protocol]string{
		protocol.Messages:  `{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"Yes."}],"stop_reason":"end_turn","usage":{"input_tokens":%d,"output_tokens":3}}`,
		protocol.Chat:      `{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":3,"total_tokens":9}}`,
		protocol.Responses: `{"id":"r","status":"completed","output":[],"usage":{"input_tokens":%d,"output_tokens":3,"total_tokens":9}}`,
		protocol.Gemini:    `{"candidates":[{"content":{"parts":[{"text":"Yes."}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":3,"totalTokenCount":9}}`,
	}[s.on]
	resp := &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	httpbody.SetBody(resp, fmt.Appendf(nil, reply, prompt))
	return resp, nil
}

// play sends the requests, each through the transport that pick gives for it.
func (r replayed) play(t *testing.T, s *sink, pick func(i int) *Transport) {
	t.Helper()
	path := pathOf(r.on, "some-model", false)
	for i, body := range r.requests {
		s.client = body
		resp, err := (&http.Client{Transport: pick(i)}).Post("http://provider.example"+path, "application/json",
			bytes.NewReader(body))
		must(t, err)
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("request %d: %d %s", i, resp.StatusCode, text)
		}
	}
}

// Every real session as a growing series of requests on every wire: no illegal request
// goes out, everything fits, every fold can be had back, and two replicas that take turns
// and are started again in the middle send the same bytes as one that is not.
func TestCorpusReplay(t *testing.T) {
	files, requests, folds, epochs := 0, 0, 0, 0
	for _, file := range corpustest.Files(t) {
		list := readSession(file)
		if len(list) < 4 {
			continue
		}
		files++
		for i, on := range protocol.Protocols {
			if testing.Short() && (files+i)%2 > 0 {
				continue // every other session has the other wires
			}
			t.Run(fmt.Sprintf("%s/%s", filepath.Base(file), on.Format), func(t *testing.T) {
				r := newReplayed(on, list)
				n, f, e := replay(t, r)
				requests, folds, epochs = requests+n, folds+f, epochs+e
			})
		}
	}
	t.Logf("%d sessions, %d requests, %d epochs, %d folds", files, requests, epochs, folds)
	if files == 0 || epochs == 0 {
		t.Error("nothing was folded: the test shows nothing")
	}
}

func readSession(file string) []transcript.Message {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	log, err := sessionlog.Open(f, nil)
	if err != nil {
		return nil
	}
	var list []transcript.Message
	for rec, err := range log.Records() {
		if err != nil {
			return list
		}
		list = append(list, rec.Message)
	}
	return list
}

func replay(t *testing.T, r replayed) (requests, folds, epochs int) {
	keys := make(map[store.SessionKey]bool)
	report := func(x Exchange) {
		keys[x.Session] = true
		epochs += x.Epochs
		if x.Err != nil || x.Snapshot.Tokens > x.Snapshot.Limits.Max {
			t.Errorf("%d of %d tokens: %v", x.Snapshot.Tokens, x.Snapshot.Limits.Max, x.Err)
		}
	}
	open := func(s *sink, store store.Store, report func(Exchange)) *Transport {
		tr := transportOf(t, &Options{Store: store, Window: window, Transport: s, Now: clock(), Report: report})
		return tr
	}
	one := &sink{t: t, on: r.on}
	single := open(one, store.NewMemory(), nil)
	r.play(t, one, func(int) *Transport { return single })

	two := &sink{t: t, on: r.on}
	store := store.NewMemory()
	replicas := []*Transport{open(two, store, report), open(two, store, report)}
	r.play(t, two, func(i int) *Transport {
		if i == len(r.requests)/2 { // both are started again
			replicas = []*Transport{open(two, store, report), open(two, store, report)}
		}
		return replicas[i%2]
	})
	sameBodies(t, one.bodies, two.bodies)
	for key := range keys {
		s, err := pleat.OpenSession(t.Context(), store, key,
			&pleat.Options{Codecs: map[transcript.Format]transcript.Codec{r.on.Format: r.on.Codec}})
		must(t, err)
		for _, f := range s.Folds() {
			folds++
			if u, err := s.Unfold(t.Context(), recall.UnfoldRequest{Handle: f.Handle}); err != nil || u.Whole == "" {
				t.Errorf("fold %d of session %s, handle %s: %v", f.ID, key, f.Handle, err)
			}
		}
	}
	return len(r.requests), folds, epochs
}
