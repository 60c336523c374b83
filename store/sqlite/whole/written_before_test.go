package whole_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/diff"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/openai"
)

// The folder has what an earlier version wrote: a store, an export file, policies. They
// are never written anew, since people have such files too.
const writtenBefore = "../../../testdata/written-before"

var codecs = map[transcript.Format]transcript.Codec{
	transcript.FormatAnthropic: anthropic.DecodeMessage, transcript.FormatChat: openai.DecodeChatMessage, transcript.FormatResponses: openai.DecodeItem,
}

// storedState is what a session tells when it is opened again.
type storedState struct {
	Tenant   string            `json:"tenant"`
	Session  string            `json:"session"`
	Entries  uint64            `json:"entries"`
	Messages int               `json:"messages"`
	Spent    float64           `json:"spent"`
	View     string            `json:"view"`     // hash
	Resolved string            `json:"resolved"` // hash
	Ledger   string            `json:"ledger"`   // hash
	Epochs   int               `json:"epochs"`
	Undone   int               `json:"undone"`
	Digests  int               `json:"digests"`
	Pins     []string          `json:"pins"`
	Notes    []transcript.Note `json:"notes"`
	Folds    []storedFold      `json:"folds"`
}

type storedFold struct {
	Handle string `json:"handle"`
	Lever  string `json:"lever"`
	Hash   string `json:"hash"` // of what it unfolds to
}

// TestWrittenBeforeStore opens every session of the store and gets every fold back.
func TestWrittenBeforeStore(t *testing.T) {
	var want []storedState
	readJSON(t, "sessions.json", &want)
	store := openWritten(t)
	var got []storedState
	for _, key := range listSessions(t, store) {
		got = append(got, stateOf(t, store, key))
	}
	if d := diff.Values(want, got); d != "" {
		t.Errorf("sessions (-want +got):\n%s", d)
	}
}

// TestWrittenAsBefore appends the messages of the store to a new session: what is written
// for each is the same bytes as then.
func TestWrittenAsBefore(t *testing.T) {
	old := openWritten(t)
	written := func(st store.Store, key store.SessionKey) (data []string) {
		for e, err := range st.Scan(t.Context(), key, 1, store.EntryMessage) {
			if err != nil {
				t.Fatal(err)
			}
			data = append(data, string(e.Data)+e.BodyHash.String())
		}
		return data
	}
	for _, key := range listSessions(t, old) {
		was, err := pleat.OpenSession(t.Context(), old, key, &pleat.Options{Codecs: codecs})
		if err != nil {
			t.Fatal(err)
		}
		msgs, err := was.Resolve(t.Context(), transcript.Whole(was.Len()))
		if err != nil {
			t.Fatal(err)
		}
		mem := store.NewMemory()
		is, err := pleat.OpenSession(t.Context(), mem, key, &pleat.Options{Codecs: codecs})
		if err == nil {
			err = is.Append(t.Context(), msgs...)
		}
		if err != nil {
			t.Fatal(err)
		}
		if want, got := written(old, key), written(mem, key); !reflect.DeepEqual(want, got) {
			t.Errorf("session %s (-want +got):\n%s", key, diff.Values(want, got))
		}
	}
}

// TestWrittenBeforeSearch searches the store, whose index has the JSON of calls: lines are
// shown as unfolding shows them, and calls as text.
func TestWrittenBeforeSearch(t *testing.T) {
	st := openWritten(t)
	calls := 0
	for _, key := range listSessions(t, st) {
		s, err := pleat.OpenSession(t.Context(), st, key, &pleat.Options{Codecs: codecs})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range s.Ledger(ledger.Filter{}) {
			res, err := s.Search(t.Context(), recall.SearchRequest{Queries: []string{e.Args}, Budget: -1})
			if err != nil {
				t.Fatal(err)
			}
			hits := res.Answers[0].Hits
			if lines, exact := exactLines(t, s, hits); lines != exact {
				t.Errorf("session %s: %d of %d lines are exact", key, exact, lines)
			}
			for _, h := range hits {
				if strings.HasPrefix(h.What, "call of") {
					calls++
					if strings.HasPrefix(h.Shown[0].Text, `{"`) {
						t.Errorf("session %s: %s is shown as JSON: %s", key, h.Handle, h.Shown[0].Text)
					}
				}
			}
		}
	}
	if calls == 0 {
		t.Error("no call was found")
	}
}

// TestWrittenBeforeProxy goes on with a conversation that a proxy of the earlier version
// was in the middle of. The provider gets what that version would have sent.
func TestWrittenBeforeProxy(t *testing.T) {
	var want struct {
		Rounds int    `json:"rounds"` // that the client had sent
		Sent   string `json:"sent"`   // hash of what the next one becomes
	}
	readJSON(t, "proxy.json", &want)
	if got := sendThroughProxies(t, []store.Store{openWritten(t)}, want.Rounds+1, want.Rounds+1); got != want.Sent {
		t.Errorf("the provider got a body with hash %s, want %s", got, want.Sent)
	}
}

// TestWrittenBeforePolicies reads policies of the earlier version. They mean what they say,
// not what a policy of the same name means today.
func TestWrittenBeforePolicies(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(writtenBefore, "policies", "*.json"))
	if err != nil || len(files) < 9 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.Parse(data)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		data, err = policy.Format(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := policy.Parse(data)
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("%s in today's form: %v (-want +got):\n%s", file, err, diff.Values(p, again))
		}
		if p.Name == "custom" {
			isCustom(t, p)
		}
	}
}

// isCustom checks the numbers of custom.json.
func isCustom(t *testing.T, p fold.Policy) {
	t.Helper()
	budget := fold.Budget{Window: 120_000, Output: fold.Tokens(9_000), Yellow: fold.Share(0.5), Red: fold.Share(0.7), Target: fold.Tokens(30_000)}
	if p.Budget != budget || p.CharsPerToken != 3 || p.IdleAfter != 90*time.Minute || p.Transcripts != ".kept" {
		t.Errorf("budget %v, %d characters a token, idle after %v, transcripts in %q", p.Budget, p.CharsPerToken, p.IdleAfter, p.Transcripts)
	}
	levers := 0
	for _, l := range slices.Concat(p.AtBirth, p.EveryTurn, p.AtRed) {
		right := true
		switch l := l.(type) {
		case lever.Spill:
			right = l.Chars == 12_345 && l.Tools["bash"] == 6_000 && l.Preview == 777
		case lever.Mask:
			right = l.Keep == 5 && l.Min == 99 && slices.Equal(l.Exempt, []string{"read_file"})
		case lever.Snip:
			right = l.Above == 40 && l.Head == 2 && l.Tail == 30
		case lever.Summarize:
			right = l.Words == 400 && l.Ask.Retries == 4 && l.Restore == fold.Restore{Files: 2, PerFile: 1_000, Total: 1_500}
		default:
			continue
		}
		if levers++; !right {
			t.Errorf("%+v", l)
		}
	}
	if levers < 4 {
		t.Errorf("%d levers", levers)
	}
}

func readJSON(t *testing.T, name string, v any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(writtenBefore, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// openWritten opens a copy of the store.
func openWritten(t *testing.T) *sqlite.Store {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(writtenBefore, "store.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

func writtenOptions() *pleat.Options {
	return &pleat.Options{
		Budget: fold.Budget{Window: 6_000}, Model: model.Model{Window: 6_000, Prices: []model.Price{{Input: 3, Output: 15}}},
		Codecs: map[transcript.Format]transcript.Codec{
			transcript.FormatAnthropic: anthropic.DecodeMessage, transcript.FormatChat: openai.DecodeChatMessage, transcript.FormatResponses: openai.DecodeItem,
		},
	}
}

func listSessions(t *testing.T, st *sqlite.Store) []store.SessionKey {
	t.Helper()
	tenants, err := st.Tenants(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var keys []store.SessionKey
	for _, tenant := range tenants {
		for info, err := range st.Sessions(t.Context(), tenant) {
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, info.Key)
		}
	}
	return keys
}

func stateOf(t *testing.T, store store.Store, key store.SessionKey) storedState {
	t.Helper()
	s, err := pleat.OpenSession(t.Context(), store, key, writtenOptions())
	if err != nil {
		t.Fatal(err)
	}
	v := s.InForce()
	msgs, err := s.Resolve(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	r := s.Report()
	st := storedState{
		Tenant: key.Tenant, Session: key.Session, Entries: s.Last(), Messages: s.Len(), Spent: s.Spent(), View: viewHash(t, v), Resolved: sumJSON(t, msgs),
		Ledger: sumJSON(t, s.Ledger(ledger.Filter{})), Epochs: len(r.Epochs), Digests: len(r.Digests), Pins: s.Pins(), Notes: s.Notes(),
	}
	for _, e := range r.Epochs {
		if e.Undo {
			st.Undone++
		}
	}
	for _, f := range s.Folds() {
		u, err := s.Unfold(t.Context(), recall.UnfoldRequest{Handle: f.Handle})
		if err != nil {
			t.Errorf("session %s: unfold %s: %v", key, f.Handle, err)
			continue
		}
		if transcript.HashOf(u.Whole()) != f.Hash {
			t.Errorf("session %s: unfold %s gave other bytes", key, f.Handle)
		}
		st.Folds = append(st.Folds, storedFold{f.Handle, string(f.Lever), fmt.Sprintf("%x", sha256.Sum256([]byte(u.Whole())))})
	}
	return st
}

// viewHash sums up a view as the engine's TestViewHashes does.
func viewHash(t *testing.T, v transcript.View) string {
	t.Helper()
	sum := sha256.New()
	fmt.Fprintf(sum, "view %d %t %d\n", len(v.Messages), v.DropThinking, v.Marker)
	for _, m := range v.Messages {
		if m.Source < 0 {
			made, err := json.Marshal(m.Made)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(sum, "made %s\n", made)
			continue
		}
		fmt.Fprintf(sum, "source %d\n", m.Source)
		for _, e := range m.Edits {
			fmt.Fprintf(sum, "edit %d %t %q\n", e.Block, e.Drop, e.Text)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:16])
}

func sumJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// TestReplicas sends a conversation through two proxies that take turns on one file. The
// provider gets at last what it gets from a single proxy.
func TestReplicas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	var replicas []store.Store
	for range 2 {
		st, err := sqlite.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		replicas = append(replicas, st)
	}
	want := sendThroughProxies(t, []store.Store{store.NewMemory()}, 1, 40)
	if got := sendThroughProxies(t, replicas, 1, 40); got != want {
		t.Error("the provider gets other bytes from two proxies than from one")
	}
}

// sendThroughProxies sends requests through proxies with these stores in turn, the first
// with so many rounds, each with one more, and returns the hash of what the provider gets
// at last.
func sendThroughProxies(t *testing.T, stores []store.Store, first, last int) string {
	t.Helper()
	var got []byte
	rounds := 0
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":"small-model","content":%s,"stop_reason":"tool_use","usage":{"input_tokens":%d,"output_tokens":5}}`, proxyStep(rounds), len(got)/2)
	}))
	defer provider.Close()
	to, err := url.Parse(provider.URL)
	if err != nil {
		t.Fatal(err)
	}
	var fronts []string
	for _, st := range stores {
		h, err := proxy.NewHandler(&proxy.Options{Store: st, Anthropic: to, Window: 5_000})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		front := httptest.NewServer(h)
		defer front.Close()
		fronts = append(fronts, front.URL)
	}
	for rounds = first; rounds <= last; rounds++ {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, fronts[rounds%len(fronts)]+"/v1/messages", strings.NewReader(proxyRequest(rounds)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Api-Key", "key")
		req.Header.Set("Anthropic-Version", "2023-06-01")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", resp.Status, text)
		}
	}
	return fmt.Sprintf("%x", sha256.Sum256(got))
}

func proxyRequest(rounds int) string {
	var b strings.Builder
	b.WriteString(`{"model":"small-model","max_tokens":500,"system":"You work.","messages":[{"role":"user","content":"Run the tests of every package. Never touch legacy/."}`)
	for n := range rounds {
		fmt.Fprintf(&b, `,{"role":"assistant","content":%s}`, proxyStep(n))
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"`, n)
		for i := range 24 {
			fmt.Fprintf(&b, `--- PASS: Test%d_%d (0.%02ds) value %06d\n`, n, i, i%100, (n*7919+i*104729)%1000003)
		}
		b.WriteString(`"}]}`)
	}
	b.WriteString(`],"tools":[{"name":"bash","description":"Run.","input_schema":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}]}`)
	return b.String()
}

func proxyStep(n int) string {
	return fmt.Sprintf(`[{"type":"text","text":"Step %d."},{"type":"tool_use","id":"toolu_%d","name":"bash","input":{"command":"go test ./pkg%d"}}]`, n, n, n)
}
