package digester_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/digester"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/internal/journal"
	"github.com/pleat-dev/pleat/internal/meter"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

var (
	counter = tokens.NewTokenizer(model.Model{}, nil)
	key     = store.SessionKey{Session: "s"}
)

// written is a digest of [party.talk].
const written = "<digest>\n### Findings\n- Sessions are dropped in src/file3.go because sessionCache evicts after " +
	"300 entries.\n### Goal\n- Port 8443, timeout 2750 ms.\n</digest>"

// lock is a mutex for which a bubble of synctest can tell that a goroutine waits.
type lock chan struct{}

func (l lock) Lock()   { l <- struct{}{} }
func (l lock) Unlock() { <-l }

// party is a session's digester with what it writes to, and what was told of it. Its lock is free.
type party struct {
	lock
	*digester.Digester
	j      *journal.Journal
	st     *epoch.State
	m      *meter.Meter
	told   []string // kinds of what was told, in order
	log    strings.Builder
	before func() // called when a model is about to be asked
}

// join opens the session in a store, as a process does.
func join(t *testing.T, st store.Store, o digest.Options) *party {
	t.Helper()
	c := conv.New(counter, conv.NewContents(st, key, nil, 0))
	p := &party{lock: make(lock, 1), st: epoch.New(c, fold.Parts{}), m: meter.New(model.Model{}, fold.Budget{})}
	p.j = journal.New(journal.Options{
		Store: st, Key: key, State: p.st, Meter: p.m, Now: time.Now,
		Warn: func(context.Context, string) {}, Failed: func(context.Context, error) {},
	})
	digester.Fill(&o, 0, model.Model{ID: "m"})
	tell := func(what string) func(context.Context, *digest.Origin) {
		return func(_ context.Context, o *digest.Origin) { p.told = append(p.told, what) }
	}
	p.Digester = digester.New(t.Context(), digester.Options{
		Digest: o, Live: model.Model{ID: "m"}, Journal: p.j, Lock: p.lock, Now: time.Now,
		Rates:   func() model.Rates { return model.DefaultRates },
		Head:    func() (string, []model.Tool) { return "You are careful.", nil },
		Writing: func(ctx context.Context, o *digest.Origin) { tell("writing")(ctx, o); p.asks() }, Written: tell("written"),
		Warn:   func(_ context.Context, _ *digest.Origin, w string) { p.told = append(p.told, "warning: "+w) },
		Logger: slog.New(slog.NewTextHandler(&p.log, nil)),
	})
	difftest.Must(t, p.j.Refresh(t.Context()))
	return p
}

func (p *party) asks() {
	if p.before != nil {
		p.before()
	}
}

// talk appends a conversation worth a digest, of n rounds.
func (p *party) talk(t *testing.T, n int) {
	t.Helper()
	msgs := []transcript.Message{
		transcript.User("Make the gateway listen on port 8443, keep the timeout at 2750 ms, and see why it drops sessions."),
		transcript.Assistant(transcript.Say("Sessions are dropped in src/file3.go because sessionCache evicts after 300 " +
			"entries.")),
	}
	for i := range n {
		id := fmt.Sprint("c", p.st.Len()+len(msgs))
		said := strings.Repeat(fmt.Sprintf("Handler %d takes its lock before the queue is drained. ", i), 40)
		call := transcript.Call(id, "read_file", fmt.Sprintf(`{"path":"src/file%d.go"}`, i))
		msgs = append(msgs, transcript.User("Go on."), transcript.Assistant(transcript.Say(said), call),
			transcript.Results(transcript.Result(id, fmt.Sprintf("package p%d\n", i))))
	}
	no := journal.Birth{May: func(context.Context, transcript.Message, func(int) int) bool { return false }}
	if _, err := p.j.Append(t.Context(), no, nil, msgs); err != nil {
		t.Fatal(err)
	}
}

// need is a digest of all that was said.
func (p *party) need() fold.Need { return fold.Need{Start: 0, End: p.st.Len(), Room: 2_000} }

// answer waits for the digest of all that was said, and returns how that came to be, if it is there, and how long
// it took.
func (p *party) answer(ctx context.Context) (o digest.Origin, took time.Duration) {
	p.Lock()
	defer p.Unlock()
	known, began := len(p.j.Digests), time.Now()
	p.Answer(ctx, p.need())
	took = time.Since(began)
	if len(p.j.Digests) == known {
		return p.OriginOf(&fold.Fold{By: "code"}, known), took
	}
	return p.j.Digests[len(p.j.Digests)-1], took
}

// ahead says that the view has so many tokens of 100,000.
func (p *party) ahead(ctx context.Context, view int, warm func() error) {
	p.Lock()
	defer p.Unlock()
	need := func(context.Context) (*fold.Need, error) { n := p.need(); return &n, nil }
	p.Ahead(ctx, view, fold.Budget{Window: 100_000}.Limits(), need, func(context.Context) error { return warm() })
}

// Flying asks the digester with its lock held.
func (p *party) Flying() bool {
	p.Lock()
	defer p.Unlock()
	return p.Digester.Flying()
}

// digests says how those came to be that are there.
func (p *party) digests() []digest.Origin {
	p.Lock()
	defer p.Unlock()
	return p.j.Digests
}

// count is how often something was told.
func (p *party) count(what string) (n int) {
	p.Lock()
	defer p.Unlock()
	for _, s := range p.told {
		if strings.HasPrefix(s, what) {
			n++
		}
	}
	return n
}

// script is a model that answers every request as a function does, and counts them.
func script(answer func(n int) (model.Reply, error)) *pleattest.Script {
	return &pleattest.Script{Then: func(n int, _ *model.Request) (model.Reply, error) { return answer(n) }}
}
