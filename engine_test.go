package pleat_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/gemini"
	"github.com/pleat-dev/pleat/wire/openai"
)

// engineCase drives one random conversation through a session: messages arrive one by
// one, views are asked for, compactions forced, the session restored in between. After
// every step the promises are checked.
type engineCase struct {
	t      testing.TB
	seed   uint64
	r      *rand.Rand
	store  store.Store
	o      *pleat.Options
	s      *pleat.Session
	said   []transcript.Message
	forced int
	pins   []string // that were there when the newest epoch opened
	epochs int
}

func newEngineCase(t testing.TB, seed uint64) *engineCase {
	r := rand.New(rand.NewPCG(seed, 1))
	windows := []int{1_500, 3_000, 8_000, 20_000}
	c := &engineCase{t: t, seed: seed, r: r, store: store.NewMemory()}
	c.o = &pleat.Options{
		Budget: fold.Budget{Window: windows[r.IntN(len(windows))]},
		System: "You are a careful engineer.",
		Tokens: counter,
	}
	c.open()
	return c
}

// One tokenizer for all cases: its cache makes them fast.
var counter = tokens.NewTokenizer(model.Model{}, nil)

func (c *engineCase) open() {
	s, err := pleat.OpenSession(context.Background(), c.store, store.SessionKey{Session: "s"}, c.o)
	if err != nil {
		c.fatal(err)
	}
	c.s = s
}

func (c *engineCase) fatal(args ...any) {
	c.t.Helper()
	c.t.Fatalf("seed %d: %s", c.seed, fmt.Sprint(args...))
}

func (c *engineCase) run(msgs []transcript.Message) {
	for _, m := range msgs {
		if err := c.s.Append(context.Background(), m); err != nil {
			c.fatal(err)
		}
		c.said = append(c.said, m)
		if c.r.IntN(20) == 0 {
			pin := fmt.Sprintf("pin %d: keep <this>,\n\tword for word", len(c.said))
			if err := c.s.Pin(context.Background(), pin); err != nil {
				c.fatal(err)
			}
		}
		switch n := c.r.IntN(10); {
		case n < 5:
			c.view()
		case n == 5 && c.forced < 50:
			c.forced++
			if _, err := c.s.Compact(context.Background(), "the parser"); err != nil {
				c.fatal("compact: ", err)
			}
			c.view()
		case n == 6:
			before := c.view()
			c.open()
			if after := c.view(); before != after {
				c.fatal("a restored session has another view")
			}
		}
	}
	c.view()
	c.exact()
}

// view asks for the view and checks that it is legal, fits, and keeps what it must.
func (c *engineCase) view() string {
	v, err := c.s.View(context.Background(), pleat.Turn{})
	if errors.Is(err, fold.ErrCannotFit) {
		c.mustNotFit()
		return ""
	}
	if err != nil {
		c.fatal("view: ", err)
	}
	snap := c.s.Snapshot()
	if snap.Tokens > snap.Limits.Max {
		c.fatal("the view has ", snap.Tokens, " tokens, at most ", snap.Limits.Max, " may be sent")
	}
	if bad := v.Check(transcript.NewTranscript(c.said...)); len(bad) > 0 {
		c.fatal("illegal view: ", bad)
	}
	msgs, err := c.s.Resolve(c.t.Context(), v)
	if err != nil {
		c.fatal(err)
	}
	text := allText(msgs)
	c.keeps(text, v)
	return text
}

// keeps checks that the pins and the newest words of the user are in the view word for
// word, if these are not longer than their share.
func (c *engineCase) keeps(text string, v transcript.View) {
	if n := len(c.s.Report().Epochs); n > c.epochs {
		c.epochs, c.pins = n, c.s.Pins()
	}
	for _, p := range c.pins {
		if !strings.Contains(text, p) {
			c.fatal("the view lacks ", p)
		}
	}
	for i := len(c.said) - 1; i >= 0; i-- {
		if words, ok := userwords.TypedText(c.said[i]); ok {
			if !strings.Contains(text, words) && counter.CountText(words) < c.share() {
				c.fatal("the user's newest words are not in the view: ", words)
			}
			return
		}
	}
}

// share is how many tokens of the newest words are kept whatever happens.
func (c *engineCase) share() int {
	free := c.o.Budget.Limits().Max - counter.CountText(c.o.System)
	return min(free/8, 200)
}

// mustNotFit checks that a refusal was right: the system prompt and a short page really are
// too much.
func (c *engineCase) mustNotFit() {
	limit := c.o.Budget.Limits().Max
	if need := counter.CountText(c.o.System) + 700; need < limit {
		c.fatal("gave up although ", need, " tokens would do and ", limit, " may be sent")
	}
}

// exact checks that every fold that was ever made gives its bytes back.
func (c *engineCase) exact() {
	for _, f := range c.s.Report().Folds {
		u, err := c.s.Unfold(context.Background(), recall.UnfoldRequest{Handle: f.Handle})
		if err != nil {
			c.fatal("unfold ", f.Handle, ": ", err)
		}
		if got := transcript.HashOf(u.Whole); got != f.Hash {
			c.fatal("unfold ", f.Handle, " gave other bytes")
		}
		if f.Block >= 0 {
			if want := transcript.BlockText(c.said[f.Start].Blocks().At(f.Block)); u.Whole != want {
				c.fatal("unfold ", f.Handle, " is not the block")
			}
		}
	}
}

// TestEngine runs random conversations: mostly small ones, where the edges are, and some
// large. PLEAT_CASES sets how many.
func TestEngine(t *testing.T) {
	n := 3_000
	if testing.Short() {
		n = 300
	}
	if s := os.Getenv("PLEAT_CASES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	const shards = 8
	for shard := range shards {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			for seed := uint64(shard); seed < uint64(n); seed += shards {
				o := pleattest.Transcripts{Turns: 2, Huge: 2_500, Legal: seed%3 == 0}
				if seed%25 == 0 {
					o.Turns, o.Huge = 0, 0
				}
				newEngineCase(t, seed).run(o.Make(seed))
			}
		})
	}
	t.Logf("%d cases", n)
}

func FuzzEngine(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, seed%7, false)
	}
	f.Fuzz(func(t *testing.T, seed, turns uint64, legal bool) {
		o := pleattest.Transcripts{Turns: int(turns % 12), Legal: legal}
		newEngineCase(t, seed).run(o.Make(seed))
	})
}

// wireFormat is one wire as the engine's callers use it.
type wireFormat struct {
	format transcript.Format
	encode func(*model.Request) ([]byte, error)
	decode func([]byte) (wireRequest, error)
	codec  transcript.Codec
	hash   func(raw []byte) transcript.Hash
	check  func(transcript.View, *transcript.Transcript) error
}

type wireRequest interface {
	Splice(v transcript.View, tools ...model.Tool) ([]byte, error)
	Check(model.Model) []transcript.Violation
}

func wireFormats() []wireFormat {
	return []wireFormat{
		{
			transcript.FormatAnthropic, anthropic.Encode,
			func(b []byte) (wireRequest, error) { return anthropic.Decode(b) }, anthropic.DecodeMessage,
			anthropic.MessageHash, anthropic.Checker(model.Model{}),
		},
		{
			transcript.FormatChat, openai.EncodeChat,
			func(b []byte) (wireRequest, error) { return openai.DecodeChat(b) }, openai.DecodeChatMessage,
			openai.ChatMessageHash, openai.ChatChecker(model.Model{}),
		},
		{
			transcript.FormatResponses, openai.EncodeResponses,
			func(b []byte) (wireRequest, error) { return openai.DecodeResponses(b) }, openai.DecodeItem,
			openai.ItemHash, openai.ResponsesChecker(model.Model{}),
		},
		{
			transcript.FormatGemini, gemini.Encode,
			func(b []byte) (wireRequest, error) { return gemini.Decode(b) }, gemini.DecodeMessage,
			gemini.MessageHash, gemini.Checker(model.Model{}),
		},
	}
}

func messagesOf(r wireRequest) []transcript.Message {
	switch r := r.(type) {
	case *anthropic.Request:
		return r.Messages
	case *openai.ChatRequest:
		return r.Messages
	case *openai.ResponsesRequest:
		return r.Messages
	case *gemini.Request:
		return r.Messages
	}
	return nil
}

// TestEngineOnWires plays growing requests of a client through a session. Between two epochs each that goes out
// repeats the bytes of the one before it.
func TestEngineOnWires(t *testing.T) {
	n := uint64(60)
	if testing.Short() {
		n = 10
	}
	for _, w := range wireFormats() {
		t.Run(string(w.format), func(t *testing.T) {
			t.Parallel()
			for seed := range n {
				stableCase(t, w, seed)
			}
		})
	}
}

func stableCase(t *testing.T, w wireFormat, seed uint64) {
	noThink := w.format != transcript.FormatAnthropic || seed%2 == 0
	msgs := pleattest.Transcripts{Legal: true, NoThink: noThink}.Make(seed)
	s := open(t, store.NewMemory(), &pleat.Options{
		Budget: fold.Budget{Window: 8_000}, Tokens: counter,
		Codecs: map[transcript.Format]transcript.Codec{w.format: w.codec}, Check: w.check,
	})
	var ends []int // a request ends with all that the model is to answer
	for end := 1; end <= len(msgs); end++ {
		if msgs[end-1].Role() != transcript.RoleAssistant &&
			(end == len(msgs) || msgs[end].Role() == transcript.RoleAssistant) {
			ends = append(ends, end)
		}
	}
	var before []transcript.Hash
	epoch, name := 0, fmt.Sprint("seed ", seed)
	play(t, name, w, model.Model{}, s, msgs, ends, func(sent wireRequest) {
		var hashes []transcript.Hash
		for _, m := range messagesOf(sent) {
			hashes = append(hashes, w.hash([]byte(m.Raw())))
		}
		now := s.Snapshot().Epoch
		if now == epoch && (len(hashes) < len(before) || !slices.Equal(before, hashes[:len(before)])) {
			t.Fatalf("%s, epoch %d: what was sent is not what it was", name, epoch)
		}
		epoch, before = now, hashes
	})
}

// play hands a session the requests of a client as a proxy does, each with the messages up to one of the ends: it
// is decoded, what is new appended, and the view spliced into its bytes. Each that goes out is legal.
func play(t *testing.T, name string, w wireFormat, m model.Model, s *pleat.Session, msgs []transcript.Message,
	ends []int, sends func(wireRequest),
) {
	ctx := t.Context()
	for _, end := range ends {
		body, err := w.encode(&model.Request{Model: "m", MaxTokens: 100, Messages: msgs[:end]})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m.Thinking.First {
			body = []byte(`{"thinking":{"type":"enabled","budget_tokens":1024},` + string(body[1:]))
		}
		req, err := w.decode(body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if bad := req.Check(m); len(bad) > 0 && w.format == transcript.FormatAnthropic {
			t.Fatalf("%s: the request is not legal as it comes: %v", name, bad)
		}
		if err := s.Append(ctx, messagesOf(req)[s.Len():]...); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		v, err := s.View(ctx, pleat.Turn{})
		if err != nil {
			t.Fatalf("%s, %d messages: %v", name, s.Len(), err)
		}
		out, err := req.Splice(v)
		if err != nil {
			t.Fatalf("%s: splice: %v", name, err)
		}
		if v.IsWhole(s.Len()) && string(out) != string(body) {
			t.Fatalf("%s: the whole view changed bytes", name)
		}
		sent, err := w.decode(out)
		if err != nil {
			t.Fatalf("%s: what was sent cannot be read: %v\n%s", name, err, out)
		}
		if bad := transcript.NewViolations(req.Check(m), sent.Check(m)); len(bad) > 0 {
			t.Fatalf("%s, %d messages: illegal: %v\n%s", name, s.Len(), bad, shape(messagesOf(sent)))
		}
		sends(sent)
	}
}
