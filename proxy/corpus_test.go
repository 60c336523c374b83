package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/corpustest"
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
		out, err = openai.EncodeChatMessage(m)
	case protocol.Responses:
		out, err = openai.EncodeItems(m)
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
